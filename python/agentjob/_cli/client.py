"""The client of a command, from its flags."""

from .._native import Client
from .flags import CLIENT
from .headers import headers


def client(options, report, **changes):
    """The client that the flags describe, which reports its events and warnings. changes: settings that replace these."""
    settings = {name: getattr(options, name, None) for name in CLIENT}
    settings.update(headers=headers(options.header), user_agent_suffix="cli", on_event=report.on_event)
    return Client(**{**settings, **changes})._warning_to(report.on_warning)
