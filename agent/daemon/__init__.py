"""The daemon: events in, one keeper per mount, timers, reload, stop."""
