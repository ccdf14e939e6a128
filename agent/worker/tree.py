"""Walks a tree that hostile users write to, by descriptors of its directories alone.

No path is ever looked up twice, no link is followed, no other mount is entered: a directory that
is moved or exchanged meanwhile costs at most its own entries. At most 500 directories are open.
"""

import errno
import os
import threading
from collections import deque
from collections.abc import Callable

from agent.worker import place

DEEPEST = 500
"""Levels below the top; what lies deeper is told and left."""
_BATCH = 64
_QUEUED = 64
"""Batches that may wait for a thread."""
_FLAGS = os.O_DIRECTORY | os.O_NOFOLLOW

Batch = Callable[[int, list[str]], None]


class Pool:
    """Threads for batches of names, as each name costs a round trip over the network."""

    def __init__(self, threads: int) -> None:
        self._jobs: deque[Callable[[], None] | None] = deque()
        self._changed = threading.Condition()
        self._threads = [threading.Thread(target=self._work, daemon=True) for _ in range(threads)]
        for thread in self._threads:
            thread.start()

    def run(self, job: Callable[[], None]) -> None:
        """Have it done, at once where there are no threads; waits while too many wait."""
        if not self._threads:
            job()
            return
        with self._changed:
            self._changed.wait_for(lambda: len(self._jobs) < _QUEUED)
            self._jobs.append(job)
            self._changed.notify_all()

    def close(self) -> None:
        """Return when all is done."""
        with self._changed:
            self._jobs.extend([None] * len(self._threads))
            self._changed.notify_all()
        for thread in self._threads:
            thread.join()

    def _work(self) -> None:
        while True:
            with self._changed:
                self._changed.wait_for(lambda: self._jobs)
                job = self._jobs.popleft()
                self._changed.notify_all()
            if job is None:
                return
            job()


class _Directory:
    """One that is open: its descriptor lasts until its batches are done."""

    def __init__(self, descriptor: int, path: str) -> None:
        self.descriptor = descriptor
        self.path = path
        self.below: list[str] | None = None
        self._batches = 0
        self._done = threading.Condition()

    def begin(self) -> None:
        with self._done:
            self._batches += 1

    def end(self) -> None:
        with self._done:
            self._batches -= 1
            self._done.notify_all()

    def close(self) -> None:
        with self._done:
            self._done.wait_for(lambda: self._batches == 0)
        os.close(self.descriptor)


class Visitor:
    """What a walk calls; batch and odd from any of the threads."""

    def directory(self, descriptor: int, path: str) -> None:
        """Each directory, the top included, before its entries."""
        raise NotImplementedError

    def batch(self, descriptor: int, names: list[str], path: str) -> None:
        """Entries of a directory that are none themselves."""
        raise NotImplementedError

    def odd(self, path: str, error: OSError) -> None:
        """What could not be entered."""
        raise NotImplementedError


def walk(
    top: int, visitor: Visitor, *, skip: frozenset[str], threads: int, after: str = ""
) -> None:
    """Visit all below top, an open directory; skip: names in it that are left out.

    In the order of the names, so that a later walk can go on where this one was stopped: after is
    the last path that Visitor.directory() was told. What is above that is visited once more, too.
    """
    pool = Pool(threads)
    passed = after.split("/") if after else []
    mount = place.mount_id(top)
    stack = [_Directory(os.dup(top), "")]
    visitor.directory(top, "")
    try:
        while stack:
            here = stack[-1]
            if here.below is None:
                below = _list(here, pool, visitor, skip if len(stack) == 1 else frozenset())
                here.below = _remaining(below, here.path, passed)
            if not here.below:
                stack.pop().close()
                continue
            path = os.path.join(here.path, name := here.below.pop())
            if len(stack) > DEEPEST:
                visitor.odd(path, OSError(errno.ELOOP, f"is deeper than {DEEPEST} levels"))
                continue
            try:
                descriptor = _enter(here.descriptor, name, mount)
            except FileNotFoundError:
                continue
            except OSError as error:
                visitor.odd(path, error)
                continue
            stack.append(_Directory(descriptor, path))
            visitor.directory(descriptor, path)
    finally:
        pool.close()
        for directory in stack:
            directory.close()


def _remaining(below: list[str], path: str, passed: list[str]) -> list[str]:
    """Those that are left to be entered, the next one last."""
    parts = path.split("/") if path else []
    if len(parts) < len(passed) and parts == passed[: len(parts)]:
        below = [name for name in below if name >= passed[len(parts)]]
    return sorted(below, reverse=True)


def _enter(parent: int, name: str, mount: int) -> int:
    """Raises OSError. A mount that hangs is not asked anything: O_PATH opens nothing."""
    bare = os.open(name, os.O_PATH | _FLAGS, dir_fd=parent)
    try:
        if place.mount_id(bare) != mount:
            raise OSError(errno.EXDEV, "something else is mounted there")
        return os.open(".", os.O_RDONLY | _FLAGS, dir_fd=bare)
    finally:
        os.close(bare)


def _list(here: _Directory, pool: Pool, visitor: Visitor, skip: frozenset[str]) -> list[str]:
    """The directories in it; all else is handed out in batches."""
    below: list[str] = []
    names: list[str] = []

    def hand_out(some: list[str]) -> None:
        def job() -> None:
            try:
                visitor.batch(here.descriptor, some, here.path)
            finally:
                here.end()

        here.begin()
        pool.run(job)

    try:
        with os.scandir(here.descriptor) as entries:
            for entry in entries:
                if entry.name in skip:
                    continue
                if entry.is_dir(follow_symlinks=False):
                    below.append(entry.name)
                    continue
                names.append(entry.name)
                if len(names) == _BATCH:
                    hand_out(names)
                    names = []
    except OSError as error:
        visitor.odd(here.path, error)
    if names:
        hand_out(names)
    return below
