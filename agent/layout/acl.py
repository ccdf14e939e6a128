"""POSIX ACLs as the kernel keeps them: entries <-> the value of the xattr. Pure.

The value's form is that of linux/posix_acl_xattr.h, version 2. It is 30 lines, and the binding of
libacl for Python can't set a default ACL through a descriptor, so no library is taken for it.
"""

import struct
from collections.abc import Iterable
from enum import IntEnum
from typing import NamedTuple

_VERSION = struct.pack("<I", 2)
_ENTRY = struct.Struct("<HHI")
_NOBODY = 0xFFFFFFFF
"""The id of entries that name nobody."""


class Tag(IntEnum):
    """Whom an entry is for; the kernel wants entries in this order."""

    USER_OBJ = 0x01
    USER = 0x02
    GROUP_OBJ = 0x04
    GROUP = 0x08
    MASK = 0x10
    OTHER = 0x20


class Entry(NamedTuple):
    """One entry. id: of a named user or group, else 0xFFFFFFFF; perm: 4 r, 2 w, 1 x."""

    tag: Tag
    id: int
    perm: int


Acl = tuple[Entry, ...]
"""Sorted as the kernel wants it."""

_KINDS = {
    Tag.USER_OBJ: "user",
    Tag.USER: "user",
    Tag.GROUP_OBJ: "group",
    Tag.GROUP: "group",
    Tag.MASK: "mask",
    Tag.OTHER: "other",
}


def plain(tag: Tag, perm: int) -> Entry:
    """An entry that names nobody."""
    return Entry(tag, _NOBODY, perm)


def default_acl(entries: Iterable[Entry], mode: int) -> Acl:
    """A default ACL of these entries; what they leave out is as the directory's mode has it."""
    found = {(each.tag, each.id): each for each in entries}
    for tag, perm in _classes(mode).items():
        found.setdefault((tag, _NOBODY), plain(tag, perm))
    if _has_names(found.values()):
        found.setdefault((Tag.MASK, _NOBODY), plain(Tag.MASK, mode >> 3 & 7))
    return tuple(sorted(found.values()))


def access_acl(entries: Iterable[Entry], mode: int) -> Acl | None:
    """An access ACL that goes with the mode; None where the mode says it all.

    The kernel keeps owner, others and the mask (without named entries: the group) equal to the
    mode's bits, so for these the mode decides.
    """
    found = {(each.tag, each.id): each for each in entries}
    if not _has_names(found.values()):
        return None
    classes = _classes(mode)
    of_group = classes.pop(Tag.GROUP_OBJ)
    found.setdefault((Tag.GROUP_OBJ, _NOBODY), plain(Tag.GROUP_OBJ, of_group))
    for tag, perm in (classes | {Tag.MASK: of_group}).items():
        found[tag, _NOBODY] = plain(tag, perm)
    return tuple(sorted(found.values()))


def encode(acl: Acl) -> bytes:
    """The value for system.posix_acl_access or system.posix_acl_default."""
    return _VERSION + b"".join(_ENTRY.pack(each.tag, each.perm, each.id) for each in acl)


def decode(value: bytes) -> Acl | None:
    """The entries of such a value, sorted; None if it is none. An empty value is an empty ACL."""
    if not value:
        return ()
    if value[:4] != _VERSION or (len(value) - 4) % _ENTRY.size:
        return None
    try:
        found = [
            Entry(Tag(tag), who if tag in (Tag.USER, Tag.GROUP) else _NOBODY, perm)
            for tag, perm, who in _ENTRY.iter_unpack(value[4:])
        ]
    except ValueError:
        return None
    return tuple(sorted(found))


def shown(acl: Acl) -> str:
    """As getfacl prints it, in one line and with numbers: `user::rwx,group:20000:r-x`."""
    return ",".join(
        f"{_KINDS[each.tag]}:{'' if each.id == _NOBODY else each.id}:{_letters(each.perm)}"
        for each in acl
    )


def _classes(mode: int) -> dict[Tag, int]:
    return {Tag.USER_OBJ: mode >> 6 & 7, Tag.GROUP_OBJ: mode >> 3 & 7, Tag.OTHER: mode & 7}


def _has_names(entries: Iterable[Entry]) -> bool:
    return any(each.tag in (Tag.USER, Tag.GROUP) for each in entries)


def _letters(perm: int) -> str:
    return "".join(
        letter if perm & bit else "-" for letter, bit in zip("rwx", (4, 2, 1), strict=True)
    )
