"""The seam where a worker's effects happen: the kernel's, by Python's audit events.

Just before any of them a worker can be killed, or somebody else acts. A hook stays for as long as
the process lives (PEP 578); it does nothing while nobody watches.
"""

import os
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

_CHANGES = frozenset(
    f"os.{call}" for call in ("rename", "link", "mkdir", "rmdir", "remove", "chown", "chmod")
)
_LOOKS = frozenset(["os.scandir", "os.listdir"])
_WRITES = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC


class Killed(BaseException):
    """What takes a worker away, as SIGKILL does: nothing that it catches."""


class Watch:
    """One piece of a worker's work. It dies before its dies-th change, from 1; 0: it lives.

    acts: the effect, looks included, before which somebody else acts, from 1. late: both are
    counted from begin() on.
    """

    def __init__(self, dies: int = 0, acts: int = 0, *, late: bool = False) -> None:
        self.effects = self.changes = 0
        self.is_dead = False
        self.act: Callable[[], None] = lambda: None
        self._counts = not late
        self._dies = dies
        self._left = acts
        self._thread = threading.get_ident()

    def __call__(self, *, changes: bool) -> None:
        """Raises Killed; the dead do nothing more either."""
        if threading.get_ident() != self._thread:
            return
        if self.is_dead:
            raise Killed
        self.effects += 1
        if not self._counts:
            return
        self._left -= 1
        self.changes += changes
        if changes and self.changes == self._dies:
            self.is_dead = True
            raise Killed
        if self._left == 0:
            with watching(None):
                self.act()

    def begin(self) -> None:
        """Count from now on."""
        self._counts = True


_watch: Watch | None = None


def _hook(event: str, arguments: tuple[object, ...]) -> None:
    if _watch is None:
        return
    if event == "open":
        flags = arguments[2]
        _watch(changes=isinstance(flags, int) and bool(flags & _WRITES))
    elif event in _CHANGES or event in _LOOKS:
        _watch(changes=event in _CHANGES)


@contextmanager
def watching(watch: Watch | None) -> Iterator[None]:
    """Watch this process's effects meanwhile."""
    global _watch  # noqa: PLW0603 - a hook can't be taken away
    before, _watch = _watch, watch
    try:
        yield
    finally:
        _watch = before


def install() -> None:
    """Have watching() work in this process. Once."""
    if not _installed:
        sys.addaudithook(_hook)
        _installed.append(True)


_installed: list[bool] = []


@contextmanager
def descriptors() -> Iterator[None]:
    """Close all that is opened meanwhile, as the end of a process does.

    Nothing that lasts may have a higher number than the lowest that is free. Of several that work
    within each other, the first one's end closes all.
    """
    global _working  # noqa: PLW0603 - descriptors are the process's, too
    first = os.dup(0)
    os.close(first)
    _working += 1
    try:
        yield
    finally:
        _working -= 1
        if not _working:
            os.closerange(first, first + 1024)


_working = 0
