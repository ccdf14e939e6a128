"""Looks at all that is in a checkpoint, however many files: how old, how large, and which exactly.

The fingerprint is of inode, size, mtime and ctime of each inode below the checkpoint's names. It is
a sum, so that the order in which a volume lists its names does not matter, and nothing is kept.
"""

import errno
import hashlib
import os
import threading
from collections.abc import Callable, Sequence

from agent.retention.assemble import Whole
from agent.worker import place, statx, tree
from agent.worker.descent import GONE, GivenUpError

IN_USE = (".nfs", ".fuse_hidden")
"""What begins with these was removed while somebody had it open."""
_BYTES = 16
_ROOM = 1 << (8 * _BYTES)
_MOST_LINKED = 100_000
"""Inodes with several names whose size is counted once; those of more are counted by each name."""


class UncertainError(Exception):
    """Not all of it could be looked at."""


class Sum(tree.Visitor):
    """Of one unit. moved: what a rename changes is left out, the ctime of the topmost names."""

    def __init__(self, mount: int, tick: Callable[[int], None]) -> None:
        self._mount = mount
        self._tick = tick
        self._lock = threading.Lock()
        self._total = self._moved = 0
        self._linked: set[int] = set()
        self._top = b""
        self.newest = self.size = self.count = 0
        self.busy = self.skipped = self.failed = ""
        self.gone = 0

    def fingerprint(self, *, moved: bool = False) -> str:
        """Hexadecimal."""
        return f"{self._moved if moved else self._total:0{2 * _BYTES}x}"

    def name(self, run: int, name: str, threads: int) -> None:
        """One of the unit's names in its run. Raises OSError, GivenUpError."""
        self._top = os.fsencode(name)
        found = statx.at(run, name)
        if found.mount != self._mount:
            self.skipped = f"something else is mounted on {name}"
            return
        if not found.is_directory:
            self._add("", found, is_top=True)
            return
        flags = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW
        top = os.open(name, flags, dir_fd=run)
        try:
            if place.mount_id(top) != self._mount:
                raise OSError(errno.EXDEV, "something else is mounted there")
            tree.walk(top, self, skip=frozenset(), threads=threads)
        finally:
            os.close(top)

    def directory(self, descriptor: int, path: str) -> None:
        """As Visitor says."""
        self._add(path, statx.of(descriptor), is_top=not path)

    def batch(self, descriptor: int, names: list[str], path: str) -> None:
        """As Visitor says."""
        for name in names:
            if name.startswith(IN_USE):
                self.busy = name
            try:
                found = statx.at(descriptor, name)
            except OSError as error:
                self.odd(os.path.join(path, name), error)
                continue
            if found.mount != self._mount:
                self.skipped = f"something else is mounted on {name}"
            self._add(os.path.join(path, name), found)
        self._tick(len(names))

    def odd(self, path: str, error: OSError) -> None:
        """As Visitor says."""
        if error.errno in GONE:  # a walk's threads must not raise
            self.gone = error.errno or errno.EIO
        elif error.errno == errno.EXDEV:
            self.skipped = f"something else is mounted on {path}"
        elif error.errno != errno.ENOENT:
            self.failed = self.failed or f"{path}: {error.strerror}"

    def _add(self, path: str, found: statx.Stat, *, is_top: bool = False) -> None:
        # A directory's size differs between bricks; what changes in it changes its times.
        size = -1 if found.is_directory else found.size
        where = self._top + b"\0" + os.fsencode(path)
        same = b"%s\0%d %d %d %d" % (where, found.mode, found.inode, size, found.mtime)
        total = _hash(b"%s %d" % (same, found.ctime))
        moved = _hash(same) if is_top else total
        with self._lock:
            self._total = (self._total + total) % _ROOM
            self._moved = (self._moved + moved) % _ROOM
            self.newest = max(self.newest, found.mtime)
            self.count += 1
            if found.links > 1 and not found.is_directory:
                if found.inode in self._linked:
                    return
                if len(self._linked) < _MOST_LINKED:
                    self._linked.add(found.inode)
            self.size += found.allocated


def look(
    run: int,
    names: Sequence[str],
    threads: int = 0,
    tick: Callable[[int], None] = lambda _: None,
) -> Whole:
    """All that is in a unit. run: its directory, open; names: the unit's in it.

    tick: is called with how many more files were looked at.
    Raises UncertainError where that can't be told; GivenUpError where the volume does not answer.
    """
    try:
        found = _sum(run, names, threads, tick)
    except OSError as error:
        raise UncertainError(error.strerror) from None
    if found.failed:
        raise UncertainError(found.failed)
    return Whole(
        fingerprint=found.fingerprint(),
        newest=found.newest / 1e9,
        size=found.size,
        busy=found.busy,
        skipped=found.skipped,
    )


def fingerprints(
    run: int, names: Sequence[str], tick: Callable[[int], None] = lambda _: None
) -> tuple[str, str]:
    """The fingerprint of a unit, and one that stays the same when its names are renamed away.

    tick: as look() has it. Raises OSError, also where something is mounted in it; GivenUpError.
    """
    found = _sum(run, names, 0, tick)
    if found.failed:
        raise OSError(errno.EIO, found.failed)
    if found.skipped:
        raise OSError(errno.EXDEV, found.skipped)
    return found.fingerprint(), found.fingerprint(moved=True)


def _sum(run: int, names: Sequence[str], threads: int, tick: Callable[[int], None]) -> Sum:
    """Raises OSError, GivenUpError."""
    try:
        found = Sum(place.mount_id(run), tick)
        for name in names:
            found.name(run, name, threads)
    except OSError as error:
        if error.errno in GONE:
            raise GivenUpError(f"looking at {names[0]}", error.errno) from None
        raise
    if found.gone:
        raise GivenUpError(f"looking at {names[0]}", found.gone)
    return found


def _hash(said: bytes) -> int:
    return int.from_bytes(hashlib.blake2b(said, digest_size=_BYTES).digest(), "big")
