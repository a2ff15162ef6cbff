"""The sections of the bench, in the page's order. Each has a `TITLE` and `run(setting)`, which gives a list of figures' tables."""

from . import batch, cold, prompts, roots, steps, threads, tls, waits, warm, weight

SECTIONS = {
    "warm": warm,
    "cold": cold,
    "roots": roots,
    "tls": tls,
    "threads": threads,
    "prompts": prompts,
    "waits": waits,
    "batch": batch,
    "steps": steps,
    "weight": weight,
}
