"""The daemon: events in, one keeper per mount, timers, reload, stop."""

from agent.daemon.loop import run

__all__ = ["run"]
