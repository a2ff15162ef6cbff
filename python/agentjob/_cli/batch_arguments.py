"""The commands of the group `agentjob batch`, and their flags. What the commands do is in `batch/`, one file a command."""

import argparse

from .flags import add_client_flags, add_output_flags, add_wait_flags, command, count, listed, seconds
from .help import BATCH_ABOUT, BATCH_COMMANDS


def add_batch_commands(commands):
    """Adds the group to the commands of `agentjob`."""
    group = command(commands, "batch", "COMMAND ...", BATCH_ABOUT + "\n" + listed(BATCH_COMMANDS))
    group.set_defaults(usage=group.format_help)
    commands = group.add_subparsers(prog="agentjob batch", metavar="COMMAND", help=argparse.SUPPRESS)
    add_run_flags(command(commands, "batch run", "[flags] FILE --journal RUN"))
    status = command(commands, "batch status", "[flags] RUN")
    add_journal(status)
    status.add_argument("--json", action="store_true", help="print everything, as JSON")
    resolve = command(commands, "batch resolve", "[flags] RUN ITEM...")
    add_items(resolve)
    group = resolve.add_argument_group("decision")
    group.add_argument("--check", action="store_true", help="first poll the jobs and print their records; alone, decide nothing")
    group = group.add_mutually_exclusive_group()
    for flag, help in RESOLUTIONS.items():
        group.add_argument(flag, action="store_const", dest="resolution", const=flag[2:].replace("-", "_"), help=help)
    resolve.set_defaults(refuse=resolve.error)
    add_client_flags(resolve)
    retry = command(commands, "batch retry", "[flags] RUN ITEM...")
    add_items(retry)
    retry.add_argument(
        "--prompt-file",
        metavar="FILE",
        help="send the prompt in this file instead (- is stdin), without its trailing line breaks; the next run needs it, too",
    )
    drop = command(commands, "batch drop", "[flags] RUN ITEM...")
    add_items(drop)
    for sub in (resolve, retry, drop):
        sub.add_argument("--json", action="store_true", help="print the decisions as JSON")
    export = command(commands, "batch export", "RUN --csv | --jsonl")
    add_journal(export)
    group = export.add_mutually_exclusive_group(required=True)
    group.add_argument("--csv", action="store_const", dest="format", const="csv", help="a header, then one record per message")
    group.add_argument("--jsonl", action="store_const", dest="format", const="jsonl", help="one object per line")
    report = command(commands, "batch report", "[flags] RUN")
    add_journal(report)
    report.add_argument("-o", "--output", metavar="FILE", help="the page's file (RUN.html); - writes it to stdout")
    report.add_argument("--force", action="store_true", help="replace the file if it exists")


RESOLUTIONS = {
    "--arrived": "the message arrived: it counts as accepted",
    "--not-arrived": "it did not arrive: the next run sends it",
    "--resend": "the next run sends it again although it may have arrived",
}


def add_items(sub):
    add_journal(sub)
    sub.add_argument("items", metavar="ITEM", nargs="+", help="a number, a key, or all")


def add_journal(sub):
    sub.add_argument("run", metavar="RUN", help="the batch's journal")


def add_run_flags(sub):
    sub.add_argument("file", metavar="FILE", help="the messages, as JSON, CSV or TSV; - reads them from stdin")
    batch = sub.add_argument_group("batch")
    batch.add_argument("--journal", metavar="RUN", required=True, help="the file that records what was sent; created if it does not exist")
    batch.add_argument("--format", metavar="FORMAT", choices=["json", "jsonl", "csv", "tsv"], help="the format of FILE: json, jsonl, csv or tsv (by its ending, else jsonl)")
    batch.add_argument("--extra", action="store_true", help="keep other columns of FILE, and print them with the outcome")
    batch.add_argument("--rate", metavar="RATE", help="at most this many messages per s, min, h or d, over all runs, such as 100/h: the first 100 are sent at once (default: no limit)")
    batch.add_argument(
        "--prompt-file",
        metavar="FILE",
        dest="prompt_files",
        action="append",
        default=[],
        help="a prompt that batch retry --prompt-file decided on; may be repeated",
    )
    batch.add_argument("--resend-unknown", action="store_true", help="also resend messages that may have arrived; check their jobs first")

    def add(flag, kind, metavar, help):
        batch.add_argument(flag, type=kind, default=argparse.SUPPRESS, metavar=metavar, help=help)

    add("--concurrency", count, "N", "messages in flight at once, never two for one job (4)")
    add("--max-outage", seconds, "S", "seconds to keep trying while the service fails (3600)")
    add("--max-busy", seconds, "S", "seconds a job may be busy (409) before its message is rejected (3600)")
    add("--grace", seconds, "S", "seconds to wait for responses after Ctrl-C (5)")
    add_wait_flags(sub, optional=True, help="wait for each job until it is done")
    add_client_flags(sub)
    output = add_output_flags(sub)
    output.add_argument("--json", action="store_true", help="print the outcomes on stdout even if it is a terminal")
