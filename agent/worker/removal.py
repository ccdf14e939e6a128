"""Removes trees that hostile users write to, by descriptors of their directories alone.

No link is followed, nothing of another mount is entered or removed, no step up is made. Several
threads, as each name costs a round trip over the network; memory and open directories are bounded.
"""

import errno
import os
import threading
import time
from collections import deque
from collections.abc import Callable

from agent.worker.descent import GONE, Status

_BATCH = 32
_QUEUED = 128
"""Jobs that may wait for a thread; whoever finds more does its job itself."""
_DEEP = 32
"""Levels; a directory below is moved up to the top first: so few are open at a time."""
_ROUNDS = 100
"""How often a directory is listed anew in which names turn up meanwhile."""
_LIFTS = 10_000
"""How often one is listed anew for what was moved up to it: trees of as many times _DEEP levels."""
_BARE = os.O_PATH | os.O_DIRECTORY | os.O_NOFOLLOW
_OPEN = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW
_FILLED = (errno.ENOTEMPTY, errno.EEXIST)
_A_DIRECTORY = (errno.EISDIR, errno.EPERM)
_TOLD = 100


class Pace:
    """How much rest there is: rest seconds for each second of work, by every thread."""

    def __init__(self, rest: float) -> None:
        self._rest = rest
        self._changed = threading.Condition()

    def change(self, rest: float) -> None:
        """From now on; who rests, too long by that, goes on."""
        with self._changed:
            self._rest = rest
            self._changed.notify_all()

    def after(self, spent: float) -> None:
        """Rest from so many seconds of work; on a volume that has much to do it took longer."""
        began = time.monotonic()
        with self._changed:
            while (left := began + spent * self._rest - time.monotonic()) > 0:
                self._changed.wait(left)


class _Directory:
    """One that is open. pending: what must end before it can be removed, its listing included."""

    __slots__ = (
        "depth",
        "descriptor",
        "lifted",
        "lifts",
        "name",
        "parent",
        "pending",
        "removed",
        "rounds",
        "top",
    )

    def __init__(self, descriptor: int, name: str, parent: "_Directory | None") -> None:
        self.descriptor = descriptor
        self.name = name
        self.parent = parent
        self.depth: int = parent.depth + 1 if parent else 0
        self.top: _Directory = parent.top if parent and parent.depth else self
        self.pending = 1
        self.rounds = self.lifts = 0
        self.removed = 0
        """Names, in the present round."""
        self.lifted = False
        """Whether directories were moved up to it in the present round."""


class Removal:
    """Removes directories of one that is open. threads: from 1.

    removed: how many names are gone; problems: (name, errno) of what could not be removed, at most
    100 of them; ended: the names that were given and are gone; stopped: an errno, if the volume
    does not answer any more.
    """

    def __init__(self, where: int, threads: int, pace: Pace) -> None:
        self._where = _Directory(where, "", None)
        self._place = Status(where).place
        self._pace = pace
        self._jobs: deque[Callable[[], None]] = deque()
        self._changed = threading.Condition()
        self._closed = False
        self.removed = 0
        self.problems: list[tuple[str, int]] = []
        self.ended: list[str] = []
        self.stopped = 0
        for _ in range(threads):
            threading.Thread(target=self._work, daemon=True).start()

    def add(self, name: str) -> None:
        """Have a directory removed with all that is in it."""
        with self._changed:
            self._where.pending += 1
        self._offer(lambda: self._enter(self._where, name))

    def wait(self, seconds: float) -> bool:
        """Whether all is done that was added, by then."""
        with self._changed:
            return self._changed.wait_for(lambda: self._where.pending == 1, seconds)

    def close(self) -> None:
        """Let the threads end; what is not done by then is dropped."""
        with self._changed:
            self._closed = True
            self._jobs.clear()
            self._changed.notify_all()

    def _work(self) -> None:
        while True:
            with self._changed:
                self._changed.wait_for(lambda: self._jobs or self._closed)
                if not self._jobs:
                    return
                job = self._jobs.pop()  # the newest: so a tree is done before the next is begun
            job()

    def _offer(self, job: Callable[[], None]) -> None:
        with self._changed:
            if self._closed:
                return
            if room := len(self._jobs) < _QUEUED:
                self._jobs.append(job)
                self._changed.notify_all()
        if not room:
            job()

    def _enter(self, parent: _Directory, name: str) -> None:
        here = None if self.stopped else self._opened(parent, name)
        if here is None:
            self._release(parent)
            return
        self._list(here)
        self._release(here)

    def _opened(self, parent: _Directory, name: str) -> _Directory | None:
        """None where there is nothing to enter. A mount that hangs is not asked anything."""
        try:
            bare = os.open(name, _BARE, dir_fd=parent.descriptor)
            try:
                if Status(bare).place != self._place:
                    raise OSError(errno.EXDEV, "something else is mounted there")
                return _Directory(os.open(".", _OPEN, dir_fd=bare), name, parent)
            finally:
                os.close(bare)
        except OSError as error:
            self._failed(name, error)
            return None

    def _list(self, here: _Directory) -> None:
        """Hand out all that is in it."""
        began = time.monotonic()
        names: list[str] = []
        try:
            with os.scandir(here.descriptor) as entries:
                for entry in entries:
                    if entry.is_dir(follow_symlinks=False):
                        self._below(here, entry.name)
                        continue
                    names.append(entry.name)
                    if len(names) == _BATCH:
                        self._hand_out(here, names)
                        names = []
        except OSError as error:
            self._failed(here.name, error)
        self._hand_out(here, names)
        self._pace.after(time.monotonic() - began)

    def _below(self, here: _Directory, name: str) -> None:
        if here.depth >= _DEEP:
            new = f".gluster-ml.{os.urandom(8).hex()}"
            try:
                os.rename(name, new, src_dir_fd=here.descriptor, dst_dir_fd=here.top.descriptor)
            except OSError as error:
                self._failed(name, error)
                return
            # The top's next listing finds it. To enter it from here would nest a call in the calls
            # for all that it was moved out of, without an end.
            with self._changed:
                here.removed += 1
                here.top.lifted = True
            return
        with self._changed:
            here.pending += 1
        self._offer(lambda: self._enter(here, name))

    def _hand_out(self, here: _Directory, names: list[str]) -> None:
        if not names:
            return
        with self._changed:
            here.pending += 1
        self._offer(lambda: self._unlink(here, names))

    def _unlink(self, here: _Directory, names: list[str]) -> None:
        began = time.monotonic()
        done = 0
        for name in () if self.stopped else names:
            try:
                os.unlink(name, dir_fd=here.descriptor)
                done += 1
            except OSError as error:
                if error.errno not in _A_DIRECTORY:  # which the next listing shows
                    self._failed(name, error)
        with self._changed:
            self.removed += done
            here.removed += done
        self._pace.after(time.monotonic() - began)
        self._release(here)

    def _release(self, here: _Directory | None) -> None:
        """One of those things has ended; at the last of them the directory goes."""
        while here is not None:
            with self._changed:
                here.pending -= 1
                if here.pending or here.parent is None:
                    self._changed.notify_all()
                    return
            if not self._is_removed(here, here.parent):
                here.pending = 1
                self._list(here)
                continue
            os.close(here.descriptor)
            here = here.parent

    def _is_removed(self, here: _Directory, parent: _Directory) -> bool:
        """Whether there is nothing more to be done about it."""
        if self.stopped:
            return True
        try:
            os.rmdir(here.name, dir_fd=parent.descriptor)
        except OSError as error:
            if error.errno in _FILLED and _has_more(here):
                return False
            self._failed(here.name, error)
            return True
        with self._changed:
            self.removed += 1
            parent.removed += 1
            if parent.parent is None:
                self.ended.append(here.name)
        return True

    def _failed(self, name: str, error: OSError) -> None:
        number = error.errno or errno.EIO
        if number == errno.ENOENT:
            return
        with self._changed:
            if number in GONE:
                self.stopped = number
            if len(self.problems) < _TOLD:
                self.problems.append((name, number))


def _has_more(here: _Directory) -> bool:
    """Whether it is to be listed once more; that begins a new round then."""
    if here.lifted and here.lifts < _LIFTS:
        here.lifts += 1
    elif here.removed and here.rounds < _ROUNDS:
        here.rounds += 1
    else:
        return False
    here.removed, here.lifted = 0, False
    return True
