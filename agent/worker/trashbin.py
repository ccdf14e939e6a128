"""The trash of a volume, `.gluster-ml/trash`, and what lies in it.

    ID.json   root's manifest, written before anything is moved
    ID        the entry: a directory with what was moved, under its own names. While it is filled or
              emptied it is root's, with mode 01700; then the checkpoint's owner's, 0700
    ID.back   an entry that root is restoring, root's
    ID.gone   an entry that is being removed, root's

One that was killed in between leaves what a later one can tell apart, and resolve.
"""

import contextlib
import errno
import os
import re
import stat
import time

from agent.worker import manifest, own, place
from agent.worker.descent import Status

OURS = "trash"
BUSY = 0o1700
"""The mode of an entry that is being filled or emptied."""
KEPT = 0o700
BACK, GONE = ".back", ".gone"
_SUFFIXES = {"back": BACK, "gone": GONE}
_NOTED = ".json"
_KINDS = ("", "back", "gone", "json")
_ID = re.compile(r"[0-9]{8}T[0-9]{6}Z-[0-9a-f]{8}")
_NOTES = (manifest.NOTE, f"{manifest.NOTE}.new")
_OPEN = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW


class Entry:
    """One entry. state: "bare" (a manifest and nothing else yet), "busy", "kept", "back", "gone".

    inode, uid: of its directory, 0 where it is bare. noted: it has a manifest of root's, which
    need not make sense.
    """

    __slots__ = ("id", "inode", "noted", "state", "uid")

    def __init__(self, id_: str, state: str, *, noted: bool, inode: int = 0, uid: int = 0) -> None:
        self.id = id_
        self.state = state
        self.noted = noted
        self.inode = inode
        self.uid = uid

    @property
    def name(self) -> str:
        """Of its directory."""
        return self.id + _SUFFIXES.get(self.state, "")


def is_id(text: object) -> bool:
    """Whether it can be an entry's id."""
    return isinstance(text, str) and _ID.fullmatch(text) is not None


def new_id(now: float) -> str:
    """now: epoch seconds."""
    return time.strftime("%Y%m%dT%H%M%SZ-", time.gmtime(now)) + os.urandom(4).hex()


def open_bin(root: int, *, make: bool) -> int:
    """The trash of the volume whose root that is; -1 where there is none. Raises RefusedError."""
    ours = own.directory(root, OURS, make=make, mode=0o755)
    if ours >= 0:
        base = os.stat(own.BASE, dir_fd=root, follow_symlinks=False)
        if (base.st_mode | os.fstat(ours).st_mode) & 0o022:
            os.close(ours)
            raise own.RefusedError(
                f"use {own.BASE}/{OURS}, which others may write to,", errno.EPERM
            )
    return ours


def entries(trash: int) -> list[Entry]:
    """All of it, the oldest first; what has other names is none of ours. Raises OSError."""
    directories: dict[str, os.stat_result] = {}
    noted = set()
    device = os.fstat(trash).st_dev
    with os.scandir(trash) as found:
        names = [each.name for each in found]
    for name in names:
        stem, _, suffix = name.partition(".")
        if not is_id(stem) or suffix not in _KINDS:
            continue
        with contextlib.suppress(FileNotFoundError):
            status = os.stat(name, dir_fd=trash, follow_symlinks=False)
            if name == stem + _NOTED:
                noted.add(stem)
            elif stat.S_ISDIR(status.st_mode) and status.st_dev == device:
                directories[name] = status
    result = [_entry(name, status, noted) for name, status in directories.items()]
    known = {entry.id for entry in result}
    result += [Entry(stem, "bare", noted=True) for stem in noted - known]
    return sorted(result, key=lambda entry: entry.name)


def find(trash: int, id_: str) -> Entry:
    """The entry of that id, be it one whose restoring broke off. Raises OSError, also ENOENT."""
    for name in (id_, id_ + BACK):
        with contextlib.suppress(FileNotFoundError):
            found = os.stat(name, dir_fd=trash, follow_symlinks=False)
            entry = _entry(name, found, set())
            if entry.state in ("kept", "back") and stat.S_ISDIR(found.st_mode):
                return entry
    raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT))


def _entry(name: str, status: os.stat_result, noted: set[str]) -> Entry:
    id_, _, suffix = name.partition(".")
    busy = status.st_uid == 0 and status.st_mode & stat.S_ISVTX
    state = suffix or ("busy" if busy else "kept")
    return Entry(id_, state, noted=id_ in noted, inode=status.st_ino, uid=status.st_uid)


def open_entry(trash: int, name: str, inode: int) -> int:
    """An entry that was looked at, by a descriptor. Raises OSError, ENOENT if it is another now."""
    bare = os.open(name, os.O_PATH | os.O_DIRECTORY | os.O_NOFOLLOW, dir_fd=trash)
    try:
        if Status(bare).inode != inode:
            raise FileNotFoundError(errno.ENOENT, "it is another one now")
        if place.mount_id(bare) != place.mount_id(trash):
            raise OSError(errno.EXDEV, "something else is mounted there")
        return os.open(".", _OPEN, dir_fd=bare)
    finally:
        os.close(bare)


def note(trash: int, id_: str, what: manifest.Manifest) -> None:
    """Write the manifest, so that it outlives this host. Raises OSError."""
    own.write(trash, id_ + _NOTED, what.row())
    os.fsync(trash)


def sweep(trash: int) -> None:
    """Remove manifests that somebody was killed over while writing them. Raises OSError."""
    with os.scandir(trash) as found:
        names = [each.name for each in found if each.name.endswith(f"{_NOTED}.new")]
    for name in names:
        if is_id(name.removesuffix(f"{_NOTED}.new")):
            with contextlib.suppress(FileNotFoundError):
                os.unlink(name, dir_fd=trash)


def is_noted(trash: int, id_: str) -> bool:
    """Whether there is a manifest. Raises OSError."""
    try:
        os.stat(id_ + _NOTED, dir_fd=trash, follow_symlinks=False)
    except FileNotFoundError:
        return False
    return True


def noted(trash: int, id_: str) -> manifest.Manifest | None:
    """What root's manifest says; None where there is none that makes sense."""
    return manifest.load(trash, id_ + _NOTED)


def begin(trash: int, id_: str, what: manifest.Manifest) -> int:
    """Note it and make its directory: a descriptor of it. Raises OSError, and has left nothing.

    EEXIST, ENOENT: a second cleaner has just taken the manifest for one that was left.
    """
    note(trash, id_, what)
    try:
        os.mkdir(id_, BUSY, dir_fd=trash)
    except OSError:
        forget(trash, id_)
        raise
    entry = os.open(id_, _OPEN, dir_fd=trash)
    try:
        if not is_noted(trash, id_):
            raise FileNotFoundError(errno.ENOENT, "its manifest was taken away")
        own.write(entry, manifest.NOTE, what.row(), 0o644)
    except OSError:
        with contextlib.suppress(OSError):
            drop(trash, id_, entry)
        os.close(entry)
        raise
    return entry


def settle(entry: int, names: list[str]) -> None:
    """All is in it: from now on it is the owner's, if one owns all of it. Raises OSError."""
    found = {
        (each.st_uid, each.st_gid)
        for each in (os.stat(name, dir_fd=entry, follow_symlinks=False) for name in names)
    }
    uid, gid = found.pop() if len(found) == 1 else (0, 0)
    os.chown(entry, uid, gid)
    os.chmod(entry, KEPT)


def hold(entry: int) -> None:
    """Take it back from its owner, before root empties it. Raises OSError."""
    os.chmod(entry, BUSY)
    os.chown(entry, 0, 0)


def inside(entry: int) -> list[str]:
    """What was moved into it and is still there. Raises OSError."""
    with os.scandir(entry) as found:
        return sorted(each.name for each in found if each.name not in _NOTES)


def drop(trash: int, name: str, entry: int) -> None:
    """Remove an entry that has nothing in it any more, the manifest last. Raises OSError.

    name: of its directory.
    """
    for noted_in_it in _NOTES:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(noted_in_it, dir_fd=entry)
    with contextlib.suppress(FileNotFoundError):
        os.rmdir(name, dir_fd=trash)
    forget(trash, name.partition(".")[0])


def claim(trash: int, entry: Entry, suffix: str) -> int:
    """Take a kept entry, or one that was taken so before: a descriptor; root's from now on.

    suffix: BACK or GONE. Only one of two that try gets it. Raises OSError, ENOENT if it is gone.
    """
    descriptor = open_entry(trash, entry.name, entry.inode)
    try:
        os.rename(entry.name, entry.id + suffix, src_dir_fd=trash, dst_dir_fd=trash)
        hold(descriptor)
    except OSError:
        os.close(descriptor)
        raise
    return descriptor


def unclaim(trash: int, entry: Entry, suffix: str, descriptor: int) -> None:
    """Leave what was taken to its owner again. Raises OSError."""
    settle(descriptor, inside(descriptor))
    os.rename(entry.id + suffix, entry.id, src_dir_fd=trash, dst_dir_fd=trash)


def forget(trash: int, id_: str) -> None:
    """Remove a manifest. Raises OSError."""
    with contextlib.suppress(FileNotFoundError):
        os.unlink(id_ + _NOTED, dir_fd=trash)
