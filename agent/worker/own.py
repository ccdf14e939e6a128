"""The agent's own directories at a volume's root, which are root's, and locks in them.

Root on any host, and in any container with the volume, can write all of it: so whatever is read
there is read bounded, without following a link, and never believed to the harm of anybody.
"""

import contextlib
import errno
import fcntl
import json
import os
import stat

BASE = ".gluster-ml"
_LIMIT = 8192
"""Bytes; a longer file is none of ours."""
_DIRECTORY = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW
_ENTERED = os.O_PATH | os.O_DIRECTORY | os.O_NOFOLLOW
"""Users may pass through the first of them, and not list it."""
_FILE = os.O_NOFOLLOW | os.O_NONBLOCK
_NO_LOCKS = (errno.ENOSYS, errno.EOPNOTSUPP, errno.ENOLCK)


class RefusedError(Exception):
    """The agent's directory on the volume can't be used. doing: what was tried."""

    def __init__(self, doing: str, number: int) -> None:
        super().__init__(doing)
        self.doing = doing
        self.errno = number


def directory(root: int, name: str, *, make: bool, mode: int = 0o700) -> int:
    """A descriptor of `.gluster-ml/NAME`, below the volume's root; -1 where it is not there.

    make: what lacks is made, with that mode. Raises RefusedError.
    """
    base = _own(root, BASE, BASE, 0o711, _ENTERED, make=make)
    if base is None:
        return -1
    try:
        ours = _own(base, name, f"{BASE}/{name}", mode, _DIRECTORY, make=make)
    finally:
        os.close(base)
    return -1 if ours is None else ours


def lock(where: int, shown: str) -> int | None:
    """Take the lock of a directory: a descriptor that holds it; None where another host has it.

    It keeps two hosts from doing the same work. It may vanish when a brick reconnects, so nothing
    relies on it; where a volume has no locks, nobody is kept. Raises RefusedError.
    """
    descriptor = -1
    try:
        with contextlib.suppress(FileExistsError):
            made = os.O_RDWR | os.O_CREAT | os.O_EXCL | _FILE
            os.close(os.open("lock", made, 0o600, dir_fd=where))
        descriptor = _opened(where, "lock", os.O_RDWR)
        fcntl.lockf(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        if descriptor >= 0 and error.errno in _NO_LOCKS:
            return descriptor
        if descriptor >= 0:
            os.close(descriptor)
        if error.errno in (errno.EAGAIN, errno.EACCES) and descriptor >= 0:
            return None
        number = error.errno or errno.EIO
        raise RefusedError(f"lock {BASE}/{shown}/lock", number) from None
    return descriptor


def read(where: int, name: str, limit: int = _LIMIT) -> dict[str, object] | None:
    """The JSON object in a file of ours; None where there is none that can be believed.

    limit: bytes; what is longer is none of ours.
    """
    try:
        descriptor = _opened(where, name, os.O_RDONLY)
    except OSError:
        return None
    try:
        if os.fstat(descriptor).st_size > limit:
            return None
        found = json.loads(os.read(descriptor, limit))
    except (OSError, ValueError, RecursionError):
        return None
    finally:
        os.close(descriptor)
    return found if isinstance(found, dict) else None


def write(where: int, name: str, value: dict[str, object], mode: int = 0o600) -> None:
    """Replace a file of ours, whole or not at all. Raises OSError."""
    new = f"{name}.new"
    with contextlib.suppress(FileNotFoundError):  # of an agent that was killed
        os.unlink(new, dir_fd=where)
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | _FILE
    descriptor = os.open(new, flags, mode, dir_fd=where)
    data = json.dumps(value).encode()
    try:
        while data:
            data = data[os.write(descriptor, data) :]
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
    os.rename(new, name, src_dir_fd=where, dst_dir_fd=where)


def _opened(where: int, name: str, flags: int) -> int:
    """A descriptor of a file of ours. Raises OSError, EPERM where it is none.

    It is looked at before it is opened: to open a device can be to act on it.
    """
    bare = os.open(name, os.O_PATH | os.O_NOFOLLOW, dir_fd=where)
    try:
        if not is_ours(os.fstat(bare)):
            raise PermissionError(errno.EPERM, "not ours")
        return os.open(f"/proc/self/fd/{bare}", flags | os.O_NONBLOCK)
    finally:
        os.close(bare)


def _own(parent: int, name: str, shown: str, mode: int, flags: int, *, make: bool) -> int | None:
    """A directory of root's on the same device; None where it is missing and not to be made.

    Where root is squashed and others may write, what root makes is another's: it is taken away
    again, or it would be in the way once root is root.
    """
    doing = f"open {shown}"
    made = False
    try:
        try:
            descriptor = os.open(name, flags, dir_fd=parent)
        except FileNotFoundError:
            if not make:
                return None
            doing = f"make {shown}"
            with contextlib.suppress(FileExistsError):  # another host may be making it right now
                os.mkdir(name, mode, dir_fd=parent)
                made = True
            descriptor = os.open(name, flags, dir_fd=parent)
        found = os.fstat(descriptor)
        if found.st_dev != os.fstat(parent).st_dev or found.st_uid != 0:
            os.close(descriptor)
            if made:
                with contextlib.suppress(OSError):
                    os.rmdir(name, dir_fd=parent)
                raise PermissionError(errno.EACCES, "squashed")
            doing = f"use {shown}, which is not root's own directory on the volume,"
            raise PermissionError(errno.EPERM, "not ours")
    except OSError as error:
        raise RefusedError(doing, error.errno or errno.EIO) from None
    return descriptor


def is_ours(found: os.stat_result) -> bool:
    """Whether a file can be the agent's: a regular one of root's."""
    return stat.S_ISREG(found.st_mode) and found.st_uid == 0
