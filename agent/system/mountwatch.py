"""Watches this process's mount table."""

import asyncio
import select
from collections.abc import Callable

from agent.system.mounttable import TABLE

_SETTLE = 0.01
"""Seconds: a mount or unmount often brings several changes at once."""
_PAUSE = 0.2
"""Seconds from one call to the next, at least: where containers come and go the table changes all
the time, and reading one of 2000 mounts takes 8 ms (measured)."""


class MountWatch:
    """News of changes of the mount table. Needs the running loop.

    on_change is called on it, a moment after a change, once for a burst, five times a second at
    most. It tells that something changed, not what: read the table again.
    """

    def __init__(self, on_change: Callable[[], None]) -> None:
        self._on_change = on_change
        self._loop = asyncio.get_running_loop()
        self._settling: asyncio.TimerHandle | None = None
        self._called_at = self._loop.time() - _PAUSE
        self._file = open(TABLE, "rb")  # noqa: SIM115 (closed by close)
        self._poll = select.epoll()
        # The kernel tells of changes as priority data and error (proc_pid_mountinfo(5)); the file
        # is always readable besides. asyncio can only wait for readable: hence an epoll of our
        # own between the two, that becomes readable with priority data.
        self._poll.register(self._file.fileno(), select.EPOLLPRI)
        self._loop.add_reader(self._poll.fileno(), self._changed)

    def close(self) -> None:
        """Stop telling."""
        self._loop.remove_reader(self._poll.fileno())
        if self._settling is not None:
            self._settling.cancel()
        self._poll.close()
        self._file.close()

    def _changed(self) -> None:
        # Looking at the event consumes it, and the loop's own look may have done so already: that
        # this was called is the news, whatever is found here.
        self._poll.poll(0)
        if self._settling is None:
            pause = self._called_at + _PAUSE - self._loop.time()
            self._settling = self._loop.call_later(max(_SETTLE, pause), self._settled)

    def _settled(self) -> None:
        self._settling = None
        self._called_at = self._loop.time()
        self._on_change()
