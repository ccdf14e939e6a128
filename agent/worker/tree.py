"""Walks a tree that hostile users write to, by descriptors of its directories alone.

No path is ever looked up twice, no link is followed, no other mount is entered: a directory that
is moved or exchanged meanwhile costs at most its own entries. At most 500 directories are open,
and those whose entries are still at work.
"""

import errno
import os
import queue
import threading
from collections.abc import Callable

from agent.worker import place

DEEPEST = 500
"""Levels below the top; what lies deeper is told and left."""
_BATCH = 8
_AHEAD = 2
"""Batches that may wait for each thread. What a listing told of an entry the kernel believes for
a second by default: were more ahead, each name would have to be asked for once more."""
_FLAGS = os.O_DIRECTORY | os.O_NOFOLLOW

Job = Callable[[], None]


class Pool:
    """Threads for batches of names, as each name costs a round trip over the network."""

    def __init__(self, threads: int) -> None:
        self._jobs: queue.Queue[Job | None] = queue.Queue(_AHEAD * threads)
        self._bug: BaseException | None = None
        self._threads = [threading.Thread(target=self._work, daemon=True) for _ in range(threads)]
        for thread in self._threads:
            thread.start()

    def run(self, job: Job) -> None:
        """Have it done, at once where there are no threads; waits while too many wait.

        Raises what an earlier one raised.
        """
        if self._bug is not None:
            raise self._bug
        if self._threads:
            self._jobs.put(job)
        else:
            job()

    def close(self) -> None:
        """Return when all is done. Raises what one of them raised."""
        for _ in self._threads:
            self._jobs.put(None)
        for thread in self._threads:
            thread.join()
        if self._bug is not None:
            raise self._bug

    def _work(self) -> None:
        while (job := self._jobs.get()) is not None:
            if self._bug is not None:
                continue  # so that nobody waits for room in the queue
            try:
                job()
            except BaseException as bug:  # noqa: BLE001  it ends the walk, not one thread of it
                self._bug = bug


class _Directory:
    """One that is open: until the walk has left it, and all that was to be done in it is done."""

    def __init__(self, descriptor: int, path: str) -> None:
        self.descriptor = descriptor
        self.path = path
        self.below: list[str] | None = None
        self.jobs = 0
        self.left = False


class Visitor:
    """What a walk calls; batch and odd from any of the threads."""

    def directory(self, descriptor: int, path: str) -> None:
        """Each directory, the top included."""
        raise NotImplementedError

    def batch(self, descriptor: int, names: list[str], path: str) -> None:
        """Entries of a directory that are none themselves."""
        raise NotImplementedError

    def reached(self, path: str) -> None:
        """A directory; all before it in the walk's order is done. For who goes on from there."""

    def odd(self, path: str, error: OSError) -> None:
        """What could not be entered."""
        raise NotImplementedError


class _Walk:
    """What is open in it, and what of it is not done yet."""

    def __init__(self, visitor: Visitor, pool: Pool) -> None:
        self.visitor = visitor
        self._pool = pool
        self._lock = threading.Lock()
        self._undone: dict[_Directory, None] = {}  # in the order of the walk
        self._open: set[_Directory] = set()

    def enter(self, descriptor: int, path: str) -> _Directory:
        """It is not done before end() was called for its listing, too."""
        here = _Directory(descriptor, path)
        with self._lock:
            here.jobs = 1
            self._open.add(here)
            self._undone[here] = None
            self._tell()
        self.hand_out(here, lambda: self.visitor.directory(descriptor, path))
        return here

    def hand_out(self, here: _Directory, work: Job) -> None:
        """Have a part of what is to be done in it done."""

        def job() -> None:
            try:
                work()
            finally:
                self.end(here)

        with self._lock:
            here.jobs += 1
        self._pool.run(job)

    def leave(self, here: _Directory) -> None:
        """It is closed as soon as its jobs are done."""
        with self._lock:
            here.left = True
            if not here.jobs:
                self._close(here)

    def close(self) -> None:
        """Close what is open still, when no thread is at work any more."""
        for here in tuple(self._open):
            self._close(here)

    def end(self, here: _Directory) -> None:
        """A part of it is done."""
        with self._lock:
            here.jobs -= 1
            if here.jobs:
                return
            del self._undone[here]
            self._tell()
            if here.left:
                self._close(here)

    def _close(self, here: _Directory) -> None:
        self._open.remove(here)
        os.close(here.descriptor)

    def _tell(self) -> None:
        if self._undone:
            self.visitor.reached(next(iter(self._undone)).path)


def walk(
    top: int, visitor: Visitor, *, skip: frozenset[str], threads: int, after: str = ""
) -> None:
    """Visit all below top, an open directory; skip: names in it that are left out.

    In the order of the names, so that a later walk can go on where this one was stopped: after is
    the last path that Visitor.reached() was told. What is above that is visited once more, too.
    """
    passed = after.split("/") if after else []
    mount = place.mount_id(top)
    pool = Pool(threads)
    work = _Walk(visitor, pool)
    try:
        stack = [work.enter(os.dup(top), "")]
        while stack:
            here = stack[-1]
            if here.below is None:
                below = _list(here, work, skip if len(stack) == 1 else frozenset())
                here.below = _remaining(below, here.path, passed)
            if not here.below:
                work.leave(stack.pop())
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
            stack.append(work.enter(descriptor, path))
    finally:
        try:
            pool.close()
        finally:
            work.close()


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


def _list(here: _Directory, work: _Walk, skip: frozenset[str]) -> list[str]:
    """The directories in it; all else is handed out in batches."""
    below: list[str] = []
    names: list[str] = []

    def hand_out(some: list[str]) -> None:
        work.hand_out(here, lambda: work.visitor.batch(here.descriptor, some, here.path))

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
        work.visitor.odd(here.path, error)
    if names:
        hand_out(names)
    work.end(here)
    return below
