"""A directory as the recognisers of checkpoints see it (agent/retention/view.py), by descriptors.

Users write to it meanwhile, and may mean harm: each name is opened below the descriptor of its
directory, without following a link, and looked at before it is read: a fifo is never waited for and
no device is woken. Nothing of another mount is entered. Nothing here is ever believed to be there
because its name was.
"""

import errno
import itertools
import os
from collections.abc import Callable, Iterator, Mapping

from agent.retention.view import (
    DIRECTORY,
    FILE,
    LINK,
    OTHER,
    READABLE,
    Entry,
    UnreadableError,
)
from agent.worker import statx
from agent.worker.descent import GONE, GivenUpError

MOST_NAMES = 50_000
"""In one directory; what holds more is not looked at for checkpoints."""
TOO_MANY = f"holds more than {MOST_NAMES} names"
_REMEMBERED = 1 << 16
"""Bytes of a file that is asked for more than once: a run's pointer, once a checkpoint."""
_OPEN = 32
"""Directories that one remembers below it; each may have a descriptor."""
_BARE = os.O_PATH | os.O_NOFOLLOW
_LIST = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW
_NOTHING = (errno.ENOENT, errno.ENOTDIR)
_BY_USERS = (errno.EACCES, errno.EPERM, errno.EXDEV, errno.ESTALE, errno.ENOENT, errno.ENOTDIR)


class MetError(UnreadableError):
    """What a Directory raises. is_ill: it says that the volume, or this host, is not well.

    Whatever else is the users' doing: modes, mounts, what is moved meanwhile, very many names.
    """

    def __init__(self, reason: str, number: int = 0) -> None:
        super().__init__(reason)
        self.reason = reason
        self.number = number
        self.is_ill = number != 0 and number not in _BY_USERS


Witness = Callable[[str, statx.Stat], None]


class Seen:
    """What was met on the way. newest: nanoseconds, of all that was looked at.

    unreadable, mounted: the first of what could not be read, or has something else mounted on it.
    """

    __slots__ = ("mounted", "newest", "unreadable")

    def __init__(self) -> None:
        self.newest = 0
        self.unreadable = self.mounted = ""


class Directory:
    """A View; several threads may ask one, each on a fork of its own."""

    def __init__(
        self,
        descriptor: int,
        found: statx.Stat,
        path: str,
        seen: Seen,
        above: "Directory | None" = None,
    ) -> None:
        """descriptor: with O_PATH; close() closes it. path: for people, below the root."""
        self.descriptor = descriptor
        self.above = above
        self.stat = found
        self.path = path
        self.seen = seen
        self._entries: dict[str, Entry] | None = None
        self._below: dict[str, Directory | None] = {}
        self._kept: dict[str, Directory] = {}
        self._small: dict[str, bytes | None] = {}
        self._only: str | None = None
        self.witness: Witness | None = None if above is None else above.witness

    def fork(self, only: str) -> "Directory":
        """The same directory, with a memory of its own of what is below it and of what was met.

        only: the name whose age seen.newest tells.
        """
        fork = Directory(self.descriptor, self.stat, self.path, Seen())
        fork._entries, fork._small, fork._only = self._entries, self._small, only
        fork.witness = self.witness
        return fork

    def give(self, name: str) -> "Directory | None":
        """What was entered there, now the caller's to close."""
        return self._below.pop(name, None)

    def keep(self, name: str, view: "Directory") -> None:
        """Have below(name) answer from what the view, of a fork's, still knows.

        Its descriptors are closed; what else is asked is looked up anew.
        """
        view.rest()
        view.above = self
        self._kept[name] = view

    def forget(self, name: str) -> None:
        """What is known of a directory below; below() looks anew."""
        if (view := self._below.pop(name, None)) is not None:
            view.close()

    @property
    def is_listed(self) -> bool:
        """Whether entries() is answered from memory."""
        return self._entries is not None

    def rest(self) -> int:
        """Close all descriptors; the bytes and names that are remembered, roughly in bytes."""
        known = sum(view.rest() for view in self._below.values() if view is not None)
        known += sum(view.rest() for view in self._kept.values())
        if self.descriptor >= 0:
            os.close(self.descriptor)
            self.descriptor = -1
        known += sum(len(data) for data in self._small.values() if data is not None)
        return known + 200 * len(self._entries or ())

    def close(self) -> None:
        """Close what is open below it, and itself where it is no fork."""
        below = [*self._below.values(), *self._kept.values()]
        self._below, self._kept = {}, {}
        for view in below:
            if view is not None:
                view.close()
        if self._only is None and self.descriptor >= 0:
            os.close(self.descriptor)
            self.descriptor = -1

    def entries(self) -> Mapping[str, Entry]:
        """As View says."""
        if self._entries is None:
            listed = list(itertools.islice(self.stream(), MOST_NAMES + 1))
            if len(listed) > MOST_NAMES:
                raise self._odd("", TOO_MANY)
            self._entries = {entry.name: entry for entry in listed}
        return self._entries

    def stream(self) -> Iterator[Entry]:
        """Its entries, however many: nothing is remembered. Raises MetError."""
        try:
            opened = os.open(".", _LIST, dir_fd=self.at())
            try:
                with os.scandir(opened) as entries:
                    for entry in entries:
                        yield Entry(entry.name, _kind(entry))
            finally:
                os.close(opened)
        except OSError as error:
            raise self._unreadable("", error) from None

    def below(self, name: str) -> "Directory | None":
        """As View says; it is closed with this one, or when many others were asked for."""
        if name in self._kept:
            return self._kept[name]
        if name not in self._below:
            while len(self._below) >= _OPEN:
                self.forget(next(iter(self._below)))
            self._below[name] = self.enter(name)
        return self._below[name]

    def enter(self, name: str) -> "Directory | None":
        """The directory of that name, which is the caller's to close. Raises MetError."""
        if self._kind(name) not in ("", DIRECTORY):
            return None
        try:
            return self._entered(name)
        except OSError as error:
            raise self._unreadable(name, error) from None

    def size(self, name: str) -> int | None:
        """As View says."""
        if self._kind(name) not in ("", FILE):
            return None
        try:
            found = self.status(name)
        except MetError:
            return None
        return found.size if found is not None and found.is_file else None

    def status(self, name: str) -> statx.Stat | None:
        """Of that name, None where there is none. Raises MetError."""
        try:
            found = statx.at(self.at(), name)
        except OSError as error:
            if error.errno in _NOTHING:
                return None
            raise self._unreadable(name, error) from None
        self._met(name, found)
        return found

    def read(self, name: str, limit: int = READABLE) -> bytes | None:
        """As View says."""
        if name not in self._small:
            data = self._read(name, limit)
            if data is not None and len(data) > _REMEMBERED:
                return data
            self._small[name] = data
        data = self._small[name]
        if data is not None and len(data) > limit:
            raise self._odd(name, f"is larger than {limit} bytes")
        return data

    def head(self, name: str, length: int) -> bytes | None:
        """As View says."""
        return self._part(name, 0, length)

    def tail(self, name: str, length: int) -> bytes | None:
        """The last bytes, as head."""
        return self._part(name, -1, length)

    def target(self, name: str) -> str | None:
        """As View says."""
        if self._kind(name) not in ("", LINK):
            return None
        try:
            return os.readlink(name, dir_fd=self.at())
        except OSError as error:
            if error.errno not in (*_NOTHING, errno.EINVAL):
                self._unreadable(name, error)
            return None

    def at(self) -> int:
        """Its descriptor (O_PATH), opened anew after rest(). Raises OSError."""
        if self.descriptor < 0 and self.above is not None:
            name = os.path.basename(self.path)
            again = os.open(name, _BARE | os.O_DIRECTORY, dir_fd=self.above.at())
            found = statx.of(again)
            if (found.mount, found.inode) != (self.stat.mount, self.stat.inode):
                os.close(again)
                raise OSError(errno.ESTALE, "was replaced while it was looked at")
            self.descriptor = again
        return self.descriptor

    def _kind(self, name: str) -> str:
        """By the listing: OTHER where it has no such name; "" while there is no listing."""
        if self._entries is None:
            return ""
        entry = self._entries.get(name)
        return OTHER if entry is None else entry.kind

    def _entered(self, name: str) -> "Directory | None":
        """Raises OSError."""
        try:
            descriptor = os.open(name, _BARE | os.O_DIRECTORY, dir_fd=self.at())
        except OSError as error:
            if error.errno in (*_NOTHING, errno.ELOOP):
                return None
            raise
        try:
            found = statx.of(descriptor)
            self._met(name, found)
            self._require_ours(found)
        except BaseException:
            os.close(descriptor)
            raise
        return Directory(descriptor, found, os.path.join(self.path, name), self.seen, self)

    def _read(self, name: str, limit: int) -> bytes | None:
        if self._entries is not None and name not in self._entries:
            return None
        try:
            opened = self._open(name)
            if opened is None:
                return None
            descriptor, size = opened
            try:
                if descriptor < 0:
                    raise self._odd(name, "is no regular file")
                if size > limit:
                    raise self._odd(name, f"is larger than {limit} bytes")
                return _whole(descriptor, limit)
            finally:
                if descriptor >= 0:
                    os.close(descriptor)
        except OSError as error:
            raise self._unreadable(name, error) from None
        except OverflowError:
            raise self._odd(name, f"is larger than {limit} bytes") from None

    def _part(self, name: str, whence: int, length: int) -> bytes | None:
        if self._kind(name) not in ("", FILE):
            return None
        try:
            opened = self._open(name)
            if opened is None or opened[0] < 0:
                return None
            descriptor, size = opened
            try:
                return os.pread(descriptor, length, 0 if whence == 0 else max(0, size - length))
            finally:
                os.close(descriptor)
        except OSError as error:
            raise self._unreadable(name, error) from None

    def _open(self, name: str) -> tuple[int, int] | None:
        """A descriptor to read from, -1 for what is no regular file, and its size.

        None where there is nothing. Raises OSError.
        """
        try:
            bare = os.open(name, _BARE, dir_fd=self.at())
        except OSError as error:
            if error.errno in _NOTHING:
                return None
            raise
        try:
            found = statx.of(bare)
            self._met(name, found)
            if not found.is_file:
                return -1, 0
            self._require_ours(found)
            flags = os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY
            return os.open(f"/proc/self/fd/{bare}", flags), found.size
        finally:
            os.close(bare)

    def _met(self, name: str, found: statx.Stat) -> None:
        if self.witness is not None:
            self.witness(os.path.join(self.path, name), found)
        if self._only in (None, name):
            self.seen.newest = max(self.seen.newest, found.mtime)
        if found.mount != self.stat.mount:
            self.seen.mounted = self.seen.mounted or name

    def _require_ours(self, found: statx.Stat) -> None:
        """Raises OSError."""
        if found.mount != self.stat.mount:
            raise OSError(errno.EXDEV, "something else is mounted there")

    def _unreadable(self, name: str, error: OSError) -> MetError:
        """Raises GivenUpError where the volume does not answer."""
        number = error.errno or errno.EIO
        if number in GONE:
            path = os.path.join(self.path, name)
            raise GivenUpError(f"looking at {path or 'the root'}", number)
        return self._odd(name, error.strerror or "can't be read", number)

    def _odd(self, name: str, why: str, number: int = 0) -> MetError:
        said = f"{name}: {why}" if name else why
        self.seen.unreadable = self.seen.unreadable or said
        return MetError(why, number)


def _kind(entry: "os.DirEntry[str]") -> str:
    if entry.is_symlink():
        return LINK
    if entry.is_dir(follow_symlinks=False):
        return DIRECTORY
    return FILE if entry.is_file(follow_symlinks=False) else OTHER


def _whole(descriptor: int, limit: int) -> bytes:
    """Raises OSError; OverflowError where it has grown beyond the limit meanwhile."""
    parts: list[bytes] = []
    left = limit + 1
    while left and (data := os.read(descriptor, min(left, 1 << 20))):
        parts.append(data)
        left -= len(data)
    if not left:
        raise OverflowError
    return b"".join(parts)


def opened(descriptor: int, path: str) -> Directory:
    """The View of an open directory, which stays the caller's. Raises OSError."""
    own = os.open(".", _BARE | os.O_DIRECTORY, dir_fd=descriptor)
    try:
        return Directory(own, statx.of(own), path, Seen())
    except BaseException:
        os.close(own)
        raise
