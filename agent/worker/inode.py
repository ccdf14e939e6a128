"""Gives one inode's old ids the new ones, by a descriptor of that very inode.

Between the look and the change a name can come to mean another file; a descriptor can't. It is
opened with O_PATH, so that no fifo waits and no device wakes up, and reached by /proc/self/fd.
"""

import errno
import os
import stat
import threading

from agent.worker import acl, place

_NO_ACLS = (errno.EOPNOTSUPP, errno.ENOSYS)
_SET_ID = stat.S_ISUID | stat.S_ISGID


class Counts:
    """looked: names; matched: inodes with an old id; changed: those that have none any more."""

    __slots__ = ("changed", "failed", "looked", "matched")

    def __init__(self) -> None:
        self.looked = self.matched = self.changed = self.failed = 0

    def row(self) -> dict[str, object]:
        """For the channel."""
        return {name: getattr(self, name) for name in self.__slots__}


class Exchange:
    """uids, gids: old -> new; top: a directory, no inode of another mount is touched; dry: none is.

    Used by several threads. Raises OSError.
    """

    def __init__(self, uids: dict[int, int], gids: dict[int, int], top: int, *, dry: bool) -> None:
        self._uids = uids
        self._gids = gids
        self._mount = place.mount_id(top)
        self._dry = dry
        self._lock = threading.Lock()
        self._links: set[int] = set()
        # The top can't be swapped for what has none in any case, such as a link.
        self._acls = _has_acls(top)
        self.counts = Counts()

    def looked(self, names: int) -> None:
        """So many names were looked at."""
        with self._lock:
            self.counts.looked += names

    def failed(self) -> None:
        """Something could not be looked at or changed."""
        with self._lock:
            self.counts.failed += 1

    def entry(self, directory: int, name: str) -> None:
        """A name that is no directory's. Raises OSError, acl.OddError."""
        try:
            inode = os.open(name, os.O_PATH | os.O_NOFOLLOW, dir_fd=directory)
            try:
                self.inode(inode)
            finally:
                os.close(inode)
        except FileNotFoundError:
            return  # somebody removed it meanwhile

    def inode(self, descriptor: int) -> None:
        """Look at it, and change what has an old id. Raises OSError, acl.OddError."""
        found = os.fstat(descriptor)
        path = f"/proc/self/fd/{descriptor}"
        lists = {} if stat.S_ISLNK(found.st_mode) else self._lists(path, found)
        if not lists and not self._concerns(found):
            return
        if place.mount_id(descriptor) != self._mount:
            raise OSError(errno.EXDEV, "something else is mounted there")
        if not stat.S_ISDIR(found.st_mode) and found.st_nlink > 1 and self._seen(found.st_ino):
            return
        with self._lock:
            self.counts.matched += 1
        if not self._dry:
            self._change(path, descriptor, found, lists)
            with self._lock:
                self.counts.changed += 1

    def _change(
        self, path: str, descriptor: int, found: os.stat_result, lists: dict[str, bytes]
    ) -> None:
        whole = True
        if self._concerns(found):
            uid = self._uids.get(found.st_uid, -1)
            gid = self._gids.get(found.st_gid, -1)
            os.chown(path, uid, gid)
            if stat.S_ISREG(found.st_mode) and found.st_mode & _SET_ID:
                whole = _restore(path, descriptor, found.st_mode)
        for name, data in lists.items():
            os.setxattr(path, name, data)
        if not whole:
            raise OSError(errno.EPERM, "it lost its setuid and setgid bits: others can write to it")

    def _concerns(self, found: os.stat_result) -> bool:
        return found.st_uid in self._uids or found.st_gid in self._gids

    def _seen(self, number: int) -> bool:
        """Whether an inode with several names came along before."""
        with self._lock:
            if number in self._links:
                return True
            self._links.add(number)
        return False

    def _lists(self, path: str, found: os.stat_result) -> dict[str, bytes]:
        """What its ACLs are to be, where they name an old id."""
        lists = {}
        for name in acl.XATTRS if stat.S_ISDIR(found.st_mode) else acl.XATTRS[:1]:
            data = self._acl(path, name)
            new = None if data is None else acl.exchanged(data, self._uids, self._gids)
            if new is not None:
                lists[name] = new
        return lists

    def _acl(self, path: str, name: str) -> bytes | None:
        if not self._acls:
            return None
        try:
            return os.getxattr(path, name)
        except OSError as error:
            if error.errno not in (errno.ENODATA, *_NO_ACLS):
                raise
            return None


def _has_acls(top: int) -> bool:
    """Whether the file system has ACLs at all; GlusterFS: whether it is mounted with acl."""
    try:
        os.getxattr(top, acl.XATTRS[0])
    except OSError as error:
        return error.errno not in _NO_ACLS
    return True


def _restore(path: str, descriptor: int, mode: int) -> bool:
    """Give back the setuid and setgid bits that the kernel took with the owner, if only these.

    False: not given back, as whoever can write to the file may have done so since, and writing
    would have taken the bits.
    """
    now = os.fstat(descriptor).st_mode
    if now == mode or now | (mode & _SET_ID) != mode:
        return True
    if mode & (stat.S_IWGRP | stat.S_IWOTH):
        return False
    os.chmod(path, stat.S_IMODE(mode))
    return True
