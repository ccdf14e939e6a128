"""What the agent tells PID 1 (sd_notify(3)): ready, status, watchdog, reloading, stopping."""

import os

import sdnotify

from agent.health.text import clean

MAX_STATUS = 300
"""Characters of STATUS=: `systemctl status` shows it on one line."""


class Notify:
    """The notification socket; no method raises or blocks.

    NOTIFY_SOCKET, WATCHDOG_USEC and WATCHDOG_PID are taken out of os.environ, so that no child
    ever speaks for the agent. Without a socket every call does nothing.

    watchdog_interval: seconds from one WATCHDOG=1 to the next, half of what the unit allows;
    None where nobody waits for them.
    """

    def __init__(self) -> None:
        self._notifier: sdnotify.SystemdNotifier | None = None
        if os.environ.get("NOTIFY_SOCKET"):
            try:
                self._notifier = sdnotify.SystemdNotifier(debug=True)
                # PID 1 can be stuck on a hung mount itself; its queue full must not stop us.
                self._notifier.socket.settimeout(0)
            except OSError:
                self._notifier = None
        self.watchdog_interval = _watchdog_interval()
        self._backlog: dict[str, str] = {}
        for name in ("NOTIFY_SOCKET", "WATCHDOG_USEC", "WATCHDOG_PID"):
            os.environ.pop(name, None)

    def ready(self, status: str) -> None:
        """Started, or the reload is done. Also ends `reloading`."""
        self._send(f"READY=1\nSTATUS={clean(status, MAX_STATUS)}")

    def status(self, sentence: str) -> None:
        """One sentence for `systemctl status`."""
        self._send(f"STATUS={clean(sentence, MAX_STATUS)}")

    def watchdog(self) -> None:
        """The loop makes progress."""
        self._send("WATCHDOG=1")

    def reloading(self, now_usec: int) -> None:
        """now_usec: CLOCK_MONOTONIC in microseconds, which newer systemd insists on."""
        self._send(f"RELOADING=1\nMONOTONIC_USEC={now_usec}")

    def stopping(self, status: str) -> None:
        """The agent is about to end."""
        self._send(f"STOPPING=1\nSTATUS={clean(status, MAX_STATUS)}")

    def close(self) -> None:
        """Let go of the socket."""
        if self._notifier is not None:
            self._notifier.socket.close()
            self._notifier = None

    def _send(self, message: str) -> None:
        """Send what is left from before, then this; keep the last of each kind that didn't go."""
        if self._notifier is None:
            return
        kind = message.partition("=")[0]
        self._backlog.pop(kind, None)
        self._backlog[kind] = message
        for kept, text in list(self._backlog.items()):
            try:
                # sdnotify encodes as latin-1: this way the bytes on the wire are UTF-8.
                self._notifier.notify(text.encode().decode("latin-1"))
            except BlockingIOError:
                return
            except OSError:  # nobody listens there any more
                pass
            del self._backlog[kept]


def _watchdog_interval() -> float | None:
    """Half of WATCHDOG_USEC in seconds, if meant for this process (sd_watchdog_enabled(3))."""
    if os.environ.get("WATCHDOG_PID", str(os.getpid())) != str(os.getpid()):
        return None
    try:
        allowed = int(os.environ["WATCHDOG_USEC"])
    except (KeyError, ValueError):
        return None
    return allowed / 2_000_000 if allowed > 0 else None
