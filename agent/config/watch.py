"""Tells when the configuration (or any small directory) has changed, and has come to rest.

One look at the state (stat) decides; inotify only says when a look is worth it, and a poll every
few seconds looks anyway. So it makes no difference how a file is saved, whether its directory is
there yet, or whether the host has inotify watches left.
"""

import asyncio
import contextlib
import os
import time
from collections.abc import Callable
from typing import Any, Self

from watchdog.events import FileSystemEvent, FileSystemEventHandler
from watchdog.observers import Observer

_OWN_DOING = frozenset({"opened", "closed_no_write"})
"""Events that reading causes: they can't announce a change."""
_RETRY_INOTIFY = 60.0


def watch_file(
    path: str,
    on_change: Callable[[], None],
    *,
    away: Callable[[], str] = str,
    **timing: Any,
) -> "Watcher":
    """For one file, which may be a symbolic link, or not there.

    away: says where the file is while that is a place to keep away from, one that can hang; "" for
    anywhere else. The file is not looked at then.
    """
    directory = os.path.dirname(path) or "."
    return Watcher(directory, lambda: _file_state(path), on_change, away=away, **timing)


def watch_directory(path: str, on_change: Callable[[], None], **timing: Any) -> "Watcher":
    """For the entries of a small directory, which need not be there."""
    return Watcher(path, lambda: _directory_state(path), on_change, **timing)


class Watcher:
    """Calls on_change in the event loop, once for each change that has settled.

    poll: seconds between looks without an event. settle: a change has settled when that many
    seconds brought no other one; settle_limit: never wait longer. on_change must not block; what
    it raises goes to the loop's exception handler.

    Start it before the first reading of what it watches: a change in between is then reported.
    """

    def __init__(
        self,
        directory: str,
        look: Callable[[], object],
        on_change: Callable[[], None],
        *,
        away: Callable[[], str] = str,
        poll: float = 3.0,
        settle: float = 0.3,
        settle_limit: float = 3.0,
    ) -> None:
        self._directory = directory
        self._look_there = look
        self._away = away
        self._on_change = on_change
        self._poll, self._settle, self._settle_limit = poll, settle, settle_limit
        self._hint = asyncio.Event()
        self._seen: object = None
        self._task: asyncio.Task[None] | None = None
        self._inotify = _Inotify()

    def start(self) -> None:
        """To be called once, in the event loop."""
        self._seen = self._look()
        self._task = asyncio.get_running_loop().create_task(self._run())

    async def stop(self) -> None:
        """Ends its task and threads."""
        if self._task is not None:
            self._task.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await self._task
            self._task = None
        await asyncio.to_thread(self._inotify.disarm)

    async def __aenter__(self) -> Self:
        self.start()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.stop()

    @property
    def has_inotify(self) -> bool:
        """False where changes are seen by polling alone."""
        return self._inotify.is_armed

    def _look(self) -> object:
        return self._away() or self._look_there()

    async def _run(self) -> None:
        loop = asyncio.get_running_loop()
        handler = _Handler(loop, self._hint)
        while True:
            if not self._away():
                await self._inotify.arm(self._directory, handler)
            self._hint.clear()
            if self._look() != self._seen:
                self._seen = await self._settled()
                loop.call_soon(self._on_change)
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._hint.wait(), self._poll)

    async def _settled(self) -> object:
        give_up = time.monotonic() + self._settle_limit
        state = self._look()
        while True:
            await asyncio.sleep(self._settle)
            later = self._look()
            if later == state or time.monotonic() >= give_up:
                return later
            state = later


class _Handler(FileSystemEventHandler):
    """Runs in a thread of watchdog's."""

    def __init__(self, loop: asyncio.AbstractEventLoop, hint: asyncio.Event) -> None:
        self._loop, self._hint = loop, hint

    def on_any_event(self, event: FileSystemEvent) -> None:
        # Where the hint is set already, the loop has not looked since: one wake-up is enough.
        if event.event_type not in _OWN_DOING and not self._hint.is_set():
            with contextlib.suppress(RuntimeError):  # the loop was closed meanwhile
                self._loop.call_soon_threadsafe(self._hint.set)


class _Inotify:
    """An inotify watch on a directory that may come, go and be replaced."""

    def __init__(self) -> None:
        self._observer: Any = None
        self._armed_for: tuple[int, int] | None = None
        self._retry_at = 0.0

    @property
    def is_armed(self) -> bool:
        observer = self._observer
        return observer is not None and all(e.is_alive() for e in observer.emitters)

    async def arm(self, directory: str, handler: _Handler) -> None:
        """Watches what now bears that name. Out of watches or instances: tries again later."""
        identity = _identity(directory)
        if identity == self._armed_for and (identity is None or self.is_armed):
            return
        if self._observer is not None:
            await asyncio.to_thread(self.disarm)
        if identity is None or time.monotonic() < self._retry_at:
            return
        self._observer = _observe(directory, handler)
        if self._observer is None:
            self._retry_at = time.monotonic() + _RETRY_INOTIFY
        else:
            self._armed_for = identity

    def disarm(self) -> None:
        observer, self._observer, self._armed_for = self._observer, None, None
        if observer is not None:
            observer.stop()
            observer.join()


def _observe(directory: str, handler: _Handler) -> Any:
    """A running Observer, None where the kernel has no watch or instance to spare."""
    try:
        observer = Observer()
    except OSError:
        return None
    try:
        # The kernel's watch does not follow a link: give it the directory itself.
        observer.schedule(handler, os.path.realpath(directory), recursive=False)
        observer.start()
    except OSError:
        observer.stop()  # it may hold a descriptor and a thread already
        return None
    return observer


def _identity(path: str) -> tuple[int, int] | None:
    try:
        found = os.stat(path)
    except OSError:
        return None
    return (found.st_dev, found.st_ino)


def _file_state(path: str) -> object:
    # Links are followed, so the swap of any link on the way shows as another inode. ctime also
    # shows a write of the same size with a mtime that was set back, and a change of mode.
    try:
        found = os.stat(path)
    except OSError as error:
        return error.errno
    return _fields(found)


def _directory_state(path: str) -> object:
    try:
        with os.scandir(path) as entries:
            return frozenset((e.name, _fields(e.stat(follow_symlinks=False))) for e in entries)
    except OSError as error:
        return error.errno


def _fields(found: os.stat_result) -> tuple[int, ...]:
    return (
        found.st_dev,
        found.st_ino,
        found.st_mode,
        found.st_size,
        found.st_mtime_ns,
        found.st_ctime_ns,
    )
