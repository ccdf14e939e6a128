"""What an inode is like, in one request to the volume, or in none: statx(2).

stat(2) after a look-up asks a FUSE file system twice where attributes are not cached: for the name,
and again for what the answer held already. With AT_STATX_DONT_SYNC it asks for the name alone, and
for an open descriptor it asks nothing: its open has just brought the attributes.
"""

import ctypes
import os
import stat
import struct

_AT_SYMLINK_NOFOLLOW = 0x100
_AT_NO_AUTOMOUNT = 0x800
_AT_EMPTY_PATH = 0x1000
_AT_STATX_DONT_SYNC = 0x4000
_WANTED = 0x17FF
"""STATX_BASIC_STATS | STATX_MNT_ID (linux/stat.h)."""
_SIZE = 256
_FIELDS = struct.Struct("=16xIIIH2xQQQ40xqI4xqI12xIIQ")
"""From stx_nlink: nlink, uid, gid, mode, ino, size, blocks, ctime, mtime, device, mnt_id."""

_statx = ctypes.CDLL(None, use_errno=True).statx
_statx.argtypes = [ctypes.c_int, ctypes.c_char_p, ctypes.c_int, ctypes.c_uint, ctypes.c_void_p]


class Stat:
    """Times are nanoseconds since the epoch; allocated: bytes; mount: as mountinfo numbers them."""

    __slots__ = (
        "allocated",
        "ctime",
        "gid",
        "inode",
        "links",
        "mode",
        "mount",
        "mtime",
        "size",
        "uid",
    )

    def __init__(self, raw: bytes) -> None:
        found = _FIELDS.unpack_from(raw)
        self.links, self.uid, self.gid, self.mode, self.inode, self.size, blocks = found[:7]
        self.allocated = blocks * 512
        self.ctime = found[7] * 1_000_000_000 + found[8]
        self.mtime = found[9] * 1_000_000_000 + found[10]
        self.mount = found[13]

    @property
    def is_directory(self) -> bool:
        """Whether it is one."""
        return stat.S_ISDIR(self.mode)

    @property
    def is_file(self) -> bool:
        """Whether it is a regular one."""
        return stat.S_ISREG(self.mode)


def at(directory: int, name: str) -> Stat:
    """Of a name in an open directory, asked anew; of a link itself. Raises OSError.

    Where something is mounted on it, of the root of that, without a word to its file system.
    """
    return _asked(directory, os.fsencode(name), _AT_SYMLINK_NOFOLLOW)


def of(descriptor: int) -> Stat:
    """Of what was just opened. Raises OSError."""
    return _asked(descriptor, b"", _AT_EMPTY_PATH)


def _asked(directory: int, name: bytes, flags: int) -> Stat:
    buffer = ctypes.create_string_buffer(_SIZE)
    flags |= _AT_STATX_DONT_SYNC | _AT_NO_AUTOMOUNT
    if _statx(directory, name, flags, _WANTED, buffer) != 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))
    return Stat(buffer.raw)
