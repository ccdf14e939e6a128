"""Makes the directories that a request names, and gives them owner, ACLs and mode.

What is done is done to the very inode that was looked at: by a descriptor whose inode, owner, group
and mode are still those that the decision was made on.
"""

import errno
import os

from agent.worker.descent import GivenUpError, ObstacleError, Status, Tree
from agent.worker.marks import Marks

UNFINISHED = 0o1700
"""As in agent/layout/plan.py: how a directory is made, before it gets its owner, ACLs and mode."""
_UNFINISHED_BITS = 0o1777

ACCESS = "system.posix_acl_access"
DEFAULT = "system.posix_acl_default"
_HOPELESS = (errno.EROFS, errno.ENOSPC, errno.EDQUOT, errno.ENOTCONN, errno.ECONNABORTED)
"""Errors that the next action would meet too."""
_OVERTAKEN = (errno.ENOENT, errno.ESTALE)
"""The directory, or its parent, was removed or replaced meanwhile."""
_MAKING = "making"

Row = dict[str, object]


def acl(descriptor: int, name: str) -> bytes:
    """An ACL's value, empty where there is none; also by an O_PATH descriptor. Raises OSError.

    No system call but through /proc takes such a descriptor.
    """
    try:
        return os.getxattr(f"/proc/self/fd/{descriptor}", name)
    except OSError as error:
        if error.errno == errno.ENODATA:
            return b""
        raise


def is_unfinished(status: Status) -> bool:
    """Whether it is as a directory is made."""
    return (status.uid, status.bits & _UNFINISHED_BITS) == (0, UNFINISHED)


class _Doing:
    """What is being tried, for the report of its failure; changing: a directory that was there."""

    def __init__(self) -> None:
        self.what = ""
        self.changing = False


def carry_out(tree: Tree, marks: Marks, action: Row) -> Row:
    """One action of a request; the row on it. Raises GivenUpError where the next would fail too.

    Not over a directory that may be half changed by then: that is to be told.
    """
    doing = _Doing()
    row: Row = {
        "row": "done",
        "path": action["path"],
        "result": "changed",
        **dict.fromkeys(("uid", "gid", "mode", "errno"), 0),
        "doing": "",
    }
    try:
        opened = _open(tree, action, doing)
        if opened is None:
            return row
        descriptor, status = opened
        try:
            doing.what = "noting in .gluster-ml/layout"
            made = bool(action["made"])
            marks.write(str(action["mark"]), str(action["path"]), status.inode, made=made)
            doing.changing = action["seen"] is not None
            fresh = action["seen"] is None or (made and is_unfinished(status))
            _set(descriptor, action, doing, fresh=fresh)
            found = os.fstat(descriptor)
        finally:
            os.close(descriptor)
    except ObstacleError:
        return row
    except OSError as error:
        number = error.errno or errno.EIO
        if number in _OVERTAKEN:
            return row
        if doing.changing:
            return {**row, "result": "half", "errno": number, "doing": doing.what}
        if number in _HOPELESS or doing.what == _MAKING:
            raise GivenUpError(f"{doing.what} {row['path']}", number) from None
        return {**row, "result": "failed", "errno": number, "doing": doing.what}
    bits = found.st_mode & 0o7777
    return {**row, "result": "ok", "uid": found.st_uid, "gid": found.st_gid, "mode": bits}


def _open(tree: Tree, action: Row, doing: _Doing) -> tuple[int, Status] | None:
    """A descriptor to work with, and how it is; None where it is not what was looked at."""
    path = str(action["path"])
    doing.what = _MAKING
    if action["seen"] is None:
        parent, _ = tree.enter(path.rpartition("/")[0])
        try:
            os.mkdir(path.rpartition("/")[2], UNFINISHED, dir_fd=parent)
        except FileExistsError:
            return None
    entered, status = tree.afresh(path)
    if status is None:
        return None
    if action["seen"] is None:
        if not is_unfinished(status):
            return None
    elif [status.inode, status.uid, status.gid, status.bits] != action["seen"]:
        return None
    doing.what = "opening"
    descriptor = os.open(".", os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW, dir_fd=entered)
    if os.fstat(descriptor).st_ino != status.inode:
        os.close(descriptor)
        return None
    return descriptor, status


def _set(descriptor: int, action: Row, doing: _Doing, *, fresh: bool) -> None:
    """Owner, ACLs, and the mode last, as each of the others may change it; only what differs.

    fresh: it was just made, so an ACL that is not declared came from the parent's default ACL, of
    whoever owns the parent.
    """
    owner = (int(str(action["uid"])), int(str(action["gid"])))
    found = os.fstat(descriptor)
    if (found.st_uid, found.st_gid) != owner:
        doing.what = "changing the owner of"
        os.chown(descriptor, *owner)
    for key, name in (("access", ACCESS), ("default", DEFAULT)):
        value = action[key]
        if isinstance(value, str) and acl(descriptor, name) != bytes.fromhex(value):
            doing.what = f"setting the {'default ' if name == DEFAULT else ''}ACL of"
            os.setxattr(descriptor, name, bytes.fromhex(value))
        elif value is None and fresh:
            doing.what = "removing what it inherited of an ACL of"
            _remove(descriptor, name)
    mode = int(str(action["mode"]))
    if os.fstat(descriptor).st_mode & 0o7777 != mode:
        doing.what = "changing the mode of"
        os.chmod(descriptor, mode)


def _remove(descriptor: int, name: str) -> None:
    try:
        if acl(descriptor, name):
            os.removexattr(descriptor, name)
    except OSError as error:
        if error.errno != errno.EOPNOTSUPP:  # without ACLs none is inherited
            raise
