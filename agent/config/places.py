"""Where a mount may be: rules over text, the table of mounts, and local directories.

Nothing here touches a mount: a directory is looked at only when the table shows that neither it
nor anything above it is on a network or FUSE file system.
"""

import posixpath
import stat
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from agent.model.mount import MountEntry

_SYSTEM = """/ /bin /boot /dev /etc /home /lib /lib32 /lib64 /libx32 /media /mnt /opt /proc /root
    /run /sbin /srv /sys /tmp /usr /usr/local /var /var/cache /var/lib /var/log /var/spool
    /var/tmp""".split()
_SYSTEM_TREES = """/bin /boot /dev /etc /lib /lib32 /lib64 /libx32 /proc /sbin /sys /usr
    /var/lib/gluster-ml /var/lib/glusterd /var/log/gluster-ml /var/log/glusterfs
    /run/gluster-ml /run/systemd /run/dbus""".split()
_BREAKS_SHELL = frozenset("*?[]\\\"'`$;&|<>(){}!#^")

_REMOTE = frozenset(
    """9p afs ceph cifs coda gfs2 glusterfs lustre ncpfs nfs nfs4 ocfs2 orangefs pvfs2 smb3 smbfs
    virtiofs autofs""".split()
)


@dataclass(frozen=True, slots=True)
class PathFacts:
    """What lstat says of one directory on the way. mode: st_mode with its type bits."""

    mode: int
    uid: int
    gid: int


Lstat = Callable[[str], PathFacts | None]
"""lstat of a local path, None where nothing is there. Raises OSError where it can't tell."""


def mount_path(value: object) -> str:
    """A path as it must be written. Raises ValueError with a sentence for the user."""
    if value is None:
        raise ValueError("is empty")
    if not isinstance(value, str):
        raise ValueError("must be text, e.g. /mnt/model-share")
    why = _misspelt(value) or _reserved(value)
    if why:
        raise ValueError(why)
    return value


def _misspelt(path: str) -> str | None:
    if not path.startswith("/"):
        return "must be absolute, e.g. /mnt/model-share"
    if any(char.isspace() or not char.isprintable() for char in path):
        return "must not have blanks or control characters in it"
    if _BREAKS_SHELL.intersection(path):
        return "has a character that mount.glusterfs, a shell script, stumbles over"
    if path.startswith("//") or path != posixpath.normpath(path):
        return "must be normalised: no //, . or .. in it, and no slash at the end"
    if len(path.encode()) > 1024 or any(len(part.encode()) > 255 for part in path.split("/")):
        return "is too long"
    return None


def _reserved(path: str) -> str | None:
    if path in _SYSTEM:
        return "is a directory of the system; mount below another, e.g. on /mnt/model-share"
    if inside(path, "/usr/local"):
        return None
    if any(inside(path, tree) for tree in _SYSTEM_TREES):
        return "is inside a directory of the system; mount elsewhere, e.g. on /mnt/model-share"
    return None


def inside(path: str, directory: str) -> bool:
    """Whether path is directory or below it; both normalised."""
    return path == directory or path.startswith(directory.rstrip("/") + "/")


def conflicts(paths: Mapping[str, str]) -> list[tuple[str, str]]:
    """(name, sentence) for each mount whose path is, or is inside, another one's; in order."""
    found = []
    for place, (name, path) in enumerate(paths.items()):
        for other_place, (other, other_path) in enumerate(paths.items()):
            if path == other_path and other_place < place:
                found.append((name, f"is the path of mounts.{other} too"))
            elif path != other_path and inside(path, other_path):
                found.append((name, f"is inside the path of mounts.{other} ({other_path})"))
    return found


def is_remote(entry: MountEntry) -> bool:
    """Whether a mount can hang for want of a server or a FUSE daemon.

    The root file system does not count: on a diskless host it is NFS, in a VM virtiofs, and when
    it hangs, so does all else.
    """
    return entry.path != "/" and can_hang(entry.fstype)


def can_hang(fstype: str) -> bool:
    """Whether a file system of this type waits for a server or a FUSE daemon."""
    return fstype in _REMOTE or fstype == "fuse" or fstype.startswith("fuse.")


def above(path: str, table: Sequence[MountEntry]) -> MountEntry | None:
    """The network or FUSE mount that path is strictly below, innermost, if there is one."""
    remote = [
        entry
        for entry in table
        if is_remote(entry) and entry.path != path and inside(path, entry.path)
    ]
    return max(remote, key=lambda entry: len(entry.path), default=None)


def local_components(path: str, table: Sequence[MountEntry]) -> Iterator[str]:
    """/, /mnt, /mnt/a, ... up to path, ending before the first that is a network or FUSE mount."""
    remote = {entry.path for entry in table if is_remote(entry)}
    current = "/"
    for part in ["", *path.strip("/").split("/")]:
        current = posixpath.join(current, part)
        if current in remote:
            return
        yield current


def refusal(path: str, table: Sequence[MountEntry], lstat: Lstat | None) -> str | None:
    """Why this host can't have the mount there, one sentence, or None.

    lstat: None leaves the directories unlooked at (the rules that need the table alone hold).
    """
    around = above(path, table)
    if around:
        return (
            f"is inside {around.path}, a mount of type {around.fstype}: if that hangs, so would"
            " everything here; mount beside it"
        )
    if lstat is None:
        return None
    for directory in local_components(path, table):
        try:
            facts = lstat(directory)
        except OSError as error:
            return f"can't be looked at: {directory}: {error.strerror}"
        if facts is None:
            return None
        why = _unfit(directory, facts, is_parent=directory != path)
        if why:
            return why
    return None


def _unfit(directory: str, facts: PathFacts, *, is_parent: bool) -> str | None:
    if stat.S_ISLNK(facts.mode):
        return f"goes through a symbolic link ({directory}); write the real path"
    if not stat.S_ISDIR(facts.mode):
        return f"can't be mounted on: {directory} is no directory"
    if not is_parent:
        return None
    if facts.uid != 0:
        return f"is below {directory}, which belongs to uid {facts.uid}, who could replace it"
    others = stat.S_IWOTH | (stat.S_IWGRP if facts.gid != 0 else 0)
    if facts.mode & others:
        return f"is below {directory}, which others than root can write to"
    return None
