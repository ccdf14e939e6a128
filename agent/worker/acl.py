"""POSIX ACLs as the kernel stores them (linux/posix_acl_xattr.h), with ids exchanged. Pure."""

import struct

XATTRS = ("system.posix_acl_access", "system.posix_acl_default")
"""The second one is had by directories only."""

_VERSION = 2
_HEADER = struct.Struct("<I")
_ENTRY = struct.Struct("<HHI")
_USER, _GROUP = 0x02, 0x08
"""Tags of the entries that name somebody; the others' ids mean nothing."""


class OddError(ValueError):
    """An ACL that had better be left alone; the text says why."""


def exchanged(data: bytes, uids: dict[int, int], gids: dict[int, int]) -> bytes | None:
    """The ACL with each old id made the new one; None where it has no old one. Raises OddError.

    Where both have an entry it can't be told which of the two is meant.
    """
    if len(data) < _HEADER.size or (len(data) - _HEADER.size) % _ENTRY.size:
        raise OddError("an ACL of a wrong length")
    if _HEADER.unpack_from(data)[0] != _VERSION:
        raise OddError("an ACL of another version")
    by_tag = {_USER: uids, _GROUP: gids}
    entries = [list(entry) for entry in _ENTRY.iter_unpack(data[_HEADER.size :])]
    changed = False
    for entry in entries:
        tag, _, old = entry
        new = by_tag.get(tag, {}).get(old)
        if new is not None:
            entry[2] = new
            changed = True
    if not changed:
        return None
    named = [(tag, who) for tag, _, who in entries if tag in by_tag]
    if len(set(named)) != len(named):
        raise OddError("its ACL has an entry for the old id and for the new one")
    # Of one tag they are sorted by id: libacl takes no others.
    entries.sort(key=lambda entry: (entry[0], entry[2] if entry[0] in by_tag else 0))
    return _HEADER.pack(_VERSION) + b"".join(_ENTRY.pack(*entry) for entry in entries)
