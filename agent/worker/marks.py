"""What the agents of all hosts remember of the layout: `.gluster-ml/layout` on the volume.

A mark says which inode an agent made at a declared path, or mended there; `turn` that a pass was
made, so that other hosts needn't make one. Root on any host, and in
any container with the volume, can write all of it: so it is read bounded and without following a
link, and believing it only ever leads to what root could do anyway, giving the directory at a
declared path the declared owner and mode.
"""

import contextlib
import errno
import fcntl
import json
import os
import stat

_BASE = ".gluster-ml"
_OURS = "layout"
_LOCK = "lock"
_TURN = "turn"
_WORD = 64
"""Characters of a text in it that are read."""
_LIMIT = 8192
"""Bytes; a longer file is no mark."""
_DIRECTORY = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW
_FILE = os.O_NOFOLLOW | os.O_NONBLOCK
_NO_LOCKS = (errno.ENOSYS, errno.EOPNOTSUPP, errno.ENOLCK)


class RefusedError(Exception):
    """The agent's directory on the volume can't be used. doing: what was tried."""

    def __init__(self, doing: str, number: int) -> None:
        super().__init__(doing)
        self.doing = doing
        self.errno = number


class Marks:
    """The marks on the volume whose root that descriptor is. make: what lacks is made.

    Raises RefusedError.
    """

    def __init__(self, root: int, *, make: bool) -> None:
        self._directory = -1
        self._lock = -1
        base = _own(root, _BASE, _BASE, 0o711, make=make)
        if base is None:
            return
        try:
            ours = _own(base, _OURS, f"{_BASE}/{_OURS}", 0o700, make=make)
        finally:
            os.close(base)
        self._directory = -1 if ours is None else ours

    def close(self) -> None:
        """Let go; the lock is released."""
        for descriptor in (self._lock, self._directory):
            if descriptor >= 0:
                os.close(descriptor)
        self._lock = self._directory = -1

    def lock(self) -> bool:
        """Take the volume's lock on the layout, if nobody has it. Raises RefusedError.

        It keeps two hosts from doing the same work. It may vanish when a brick reconnects, so
        nothing relies on it.
        """
        try:
            flags = os.O_RDWR | os.O_CREAT | _FILE
            self._lock = os.open(_LOCK, flags, 0o600, dir_fd=self._directory)
            if not _is_ours(os.fstat(self._lock)):
                raise PermissionError(errno.EPERM, "not ours")
            fcntl.lockf(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            if error.errno in (errno.EAGAIN, errno.EACCES) and self._lock >= 0:
                return False
            if error.errno not in _NO_LOCKS:
                number = error.errno or errno.EIO
                raise RefusedError(f"lock {_BASE}/{_OURS}/{_LOCK}", number) from None
        return True

    def read(self, name: str, path: str) -> dict[str, object] | None:
        """The mark of a path: {"inode", "made"}; None where there is none that can be believed."""
        found = self._load(name)
        inode, made = found.get("inode"), found.get("made")
        if found.get("path") != path or type(inode) is not int or type(made) is not bool:
            return None
        return {"inode": inode, "made": made}

    def write(self, name: str, path: str, inode: int, *, made: bool) -> None:
        """Remember an inode. Raises OSError."""
        self._store(name, {"path": path, "inode": inode, "made": made})

    def turn(self) -> dict[str, object]:
        """Whose turn the last pass was: {"turn", "layout"}; texts, empty where nobody knows."""
        found = self._load(_TURN)
        return {key: str(found.get(key, ""))[:_WORD] for key in ("turn", "layout")}

    def take_turn(self, turn: str, layout: str) -> None:
        """Leave word that a pass was made. Raises OSError."""
        self._store(_TURN, {"turn": turn, "layout": layout})

    def _load(self, name: str) -> dict[str, object]:
        """The object in a file of ours; empty where there is none that can be read."""
        if self._directory < 0:
            return {}
        try:
            descriptor = os.open(name, os.O_RDONLY | _FILE, dir_fd=self._directory)
        except OSError:
            return {}
        try:
            if not _is_ours(os.fstat(descriptor)):
                return {}
            found = json.loads(os.read(descriptor, _LIMIT))
        except (OSError, ValueError, RecursionError):
            return {}
        finally:
            os.close(descriptor)
        return found if isinstance(found, dict) else {}

    def _store(self, name: str, content: dict[str, object]) -> None:
        new = f"{name}.new"
        with contextlib.suppress(FileNotFoundError):  # of an agent that was killed
            os.unlink(new, dir_fd=self._directory)
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | _FILE
        descriptor = os.open(new, flags, 0o600, dir_fd=self._directory)
        try:
            os.write(descriptor, json.dumps(content).encode())
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
        os.rename(new, name, src_dir_fd=self._directory, dst_dir_fd=self._directory)


def _own(parent: int, name: str, shown: str, mode: int, *, make: bool) -> int | None:
    """A directory of root's on the same device; None where it is missing and not to be made."""
    doing = f"open {shown}"
    try:
        try:
            descriptor = os.open(name, _DIRECTORY, dir_fd=parent)
        except FileNotFoundError:
            if not make:
                return None
            doing = f"make {shown}"
            with contextlib.suppress(FileExistsError):  # another host may be making it right now
                os.mkdir(name, mode, dir_fd=parent)
            descriptor = os.open(name, _DIRECTORY, dir_fd=parent)
        found = os.fstat(descriptor)
        if found.st_dev != os.fstat(parent).st_dev or found.st_uid != 0:
            os.close(descriptor)
            doing = f"use {shown}, which is not root's own directory on the volume,"
            raise PermissionError(errno.EPERM, "not ours")
    except OSError as error:
        raise RefusedError(doing, error.errno or errno.EIO) from None
    return descriptor


def _is_ours(found: os.stat_result) -> bool:
    return stat.S_ISREG(found.st_mode) and found.st_uid == 0
