"""Walks from a volume's root to named directories, whatever users put in the way meanwhile.

Each step opens one name below the descriptor of the last (O_PATH | O_NOFOLLOW), and looks at what
was opened: it must be a directory of the same file system and the same mount. No path is ever
resolved by the kernel, no link followed, nothing of another mount entered.
"""

import ctypes
import errno
import os
import stat
import struct

_AT_EMPTY_PATH = 0x1000
_AT_STATX_DONT_SYNC = 0x4000
_STATX_WANTED = 0x17FF
"""STATX_BASIC_STATS | STATX_MNT_ID (linux/stat.h)."""
_STATX_SIZE = 256
_HEAD = struct.Struct("=20xIIH2xQ")
"""stx_uid, stx_gid, stx_mode, stx_ino."""
_MTIME = struct.Struct("=112xqI")
_PLACE = struct.Struct("=136xIIQ")
"""stx_dev_major, stx_dev_minor, stx_mnt_id."""

_OPEN = os.O_PATH | os.O_NOFOLLOW
_LIBC = ctypes.CDLL(None, use_errno=True)

GONE = (errno.ENOTCONN, errno.ECONNABORTED, errno.ETIMEDOUT, errno.ENODEV)
"""The volume doesn't answer: nothing else on it would."""

_KINDS = {
    stat.S_IFREG: "a file",
    stat.S_IFIFO: "a pipe",
    stat.S_IFSOCK: "a socket",
    stat.S_IFCHR: "a device",
    stat.S_IFBLK: "a device",
}


class Status:
    """What an inode was like when it was opened. place: device and mount; mode: with its type."""

    def __init__(self, descriptor: int) -> None:
        """Raises OSError. No request is made: the open has just brought the attributes."""
        buffer = ctypes.create_string_buffer(_STATX_SIZE)
        flags = _AT_EMPTY_PATH | _AT_STATX_DONT_SYNC
        if _LIBC.statx(descriptor, b"", flags, _STATX_WANTED, buffer) != 0:
            number = ctypes.get_errno()
            raise OSError(number, os.strerror(number))
        self.uid, self.gid, self.mode, self.inode = _HEAD.unpack_from(buffer.raw)
        self.changed = "{}.{:09}".format(*_MTIME.unpack_from(buffer.raw))
        self.place = _PLACE.unpack_from(buffer.raw)

    @property
    def bits(self) -> int:
        """The twelve bits of the mode."""
        return stat.S_IMODE(self.mode)


class ObstacleError(Exception):
    """Something else than a directory of the volume stands at path. kind: as in the rows."""

    def __init__(self, path: str, kind: str, number: int = 0, detail: str = "") -> None:
        super().__init__(path)
        self.path = path
        self.kind = kind
        self.errno = number
        self.detail = detail


class GivenUpError(Exception):
    """No use in going on, as when the volume does not answer. doing: what was tried."""

    def __init__(self, doing: str, number: int) -> None:
        super().__init__(doing)
        self.doing = doing
        self.errno = number


class Tree:
    """The directories from the root to the one entered last, open. root: stays the caller's."""

    def __init__(self, root: int) -> None:
        self._root = root
        self._place = Status(root).place
        self._open: list[tuple[str, int, Status]] = []

    def close(self) -> None:
        """Close all but the root."""
        self._leave(0)

    def enter(self, path: str) -> tuple[int, Status | None]:
        """The descriptor (O_PATH) of a directory, and its status; the tree keeps it open.

        path: relative, "" for the root, whose status is None. What is open on the way from the
        last one stays as it was found. Raises ObstacleError, GivenUpError.
        """
        parts = path.split("/") if path else []
        kept = 0
        while kept < min(len(parts), len(self._open)) and self._open[kept][0] == parts[kept]:
            kept += 1
        self._leave(kept)
        for count in range(kept, len(parts)):
            self._step("/".join(parts[: count + 1]), parts[count])
        return (self._open[-1][1], self._open[-1][2]) if self._open else (self._root, None)

    def afresh(self, path: str) -> tuple[int, Status | None]:
        """Enter it, with that directory itself looked up anew."""
        self._leave(path.count("/"))
        return self.enter(path)

    def _leave(self, keep: int) -> None:
        while len(self._open) > keep:
            os.close(self._open.pop()[1])

    def _step(self, shown: str, name: str) -> None:
        parent = self._open[-1][1] if self._open else self._root
        try:
            descriptor = os.open(name, _OPEN, dir_fd=parent)
        except FileNotFoundError:
            raise ObstacleError(shown, "missing") from None
        except OSError as error:
            number = error.errno or errno.EIO
            if number in GONE:
                raise GivenUpError(f"looking at {shown}", number) from None
            raise ObstacleError(shown, "unreadable", number) from None
        try:
            status = Status(descriptor)
            self._require_directory(shown, descriptor, status)
        except BaseException:
            os.close(descriptor)
            raise
        self._open.append((name, descriptor, status))

    def _require_directory(self, shown: str, descriptor: int, status: Status) -> None:
        kind = stat.S_IFMT(status.mode)
        if status.place != self._place:
            raise ObstacleError(shown, "elsewhere")
        if kind == stat.S_IFLNK:
            raise ObstacleError(shown, "symlink", detail=_target(descriptor))
        if kind != stat.S_IFDIR:
            raise ObstacleError(shown, "other", detail=_KINDS.get(kind, "something else"))


def _target(link: int) -> str:
    try:
        return os.readlink("", dir_fd=link)
    except OSError:
        return "somewhere"
