"""The steps of a probe: each tells what was tried and the errno it ended with, 0 if it worked.

All is done by descriptors and without following a link: whoever can write to the volume may have
put anything under any name.
"""

import contextlib
import errno
import os

_BASE = ".gluster-ml"
_PROBES = "probes"
_TOKEN_SIZE = 4096
_OTHER_NAMES = 7
"""Where a name's brick is down, so many others are tried: on a volume that spreads files over two
bricks, one of them down, all fail by chance once in 256 times; over more, less often."""

_DIRECTORY = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW


def space(root: int) -> tuple[dict[str, object], int, int]:
    """The statvfs step, total bytes, and bytes an ordinary user may still write."""
    try:
        found = os.fstatvfs(root)
    except OSError as error:
        return _step("statvfs", error), 0, 0
    return _step("statvfs"), found.f_blocks * found.f_frsize, found.f_bavail * found.f_frsize


def read(root: int) -> dict[str, object]:
    """Open the root and read the beginning of its listing: both go to the bricks."""
    try:
        directory = os.open(".", _DIRECTORY, dir_fd=root)
    except OSError as error:
        return _step("open the root", error)
    try:
        with os.scandir(directory) as entries:
            next(entries, None)
    except OSError as error:
        return _step("list the root", error)
    finally:
        os.close(directory)
    return _step("list the root")


def write(root: int, name: str) -> dict[str, object]:
    """Create, sync, read back and unlink a file below `.gluster-ml/probes`."""
    trial = _Trial()
    try:
        trial.run(root, name)
    except OSError as error:
        return _step(trial.doing, error)
    return _step(f"write and read back in {_BASE}/{_PROBES}")


class _Trial:
    """One write probe; doing: the step it is at, for the evidence."""

    def __init__(self) -> None:
        self.doing = ""

    def run(self, root: int, name: str) -> None:
        """Raises OSError, with `doing` at the step that failed."""
        base = self._directory(root, _BASE, _BASE, 0o711)
        try:
            probes = self._directory(base, _PROBES, f"{_BASE}/{_PROBES}", 0o700)
        finally:
            os.close(base)
        try:
            name, descriptor = self._create_some(probes, name)
            try:
                self._write_and_compare(probes, name, descriptor)
            except OSError:
                with contextlib.suppress(OSError):
                    os.unlink(name, dir_fd=probes)
                raise
            self.doing = f"unlink {_BASE}/{_PROBES}/{name}"
            os.unlink(name, dir_fd=probes)
        finally:
            os.close(probes)

    def _directory(self, parent: int, name: str, shown: str, mode: int) -> int:
        """Open the directory, made if missing: only a real one, of root's, on the same device.

        Where root is squashed and others may write, what root makes is another's: it is taken away
        again, or it would be in the way once root is root.
        """
        self.doing = f"open {shown}"
        made = False
        try:
            descriptor = os.open(name, _DIRECTORY, dir_fd=parent)
        except FileNotFoundError:
            self.doing = f"mkdir {shown}"
            # Another host may be making it right now.
            with contextlib.suppress(FileExistsError):
                os.mkdir(name, mode, dir_fd=parent)
                made = True
            self.doing = f"open {shown}"
            descriptor = os.open(name, _DIRECTORY, dir_fd=parent)
        found = os.fstat(descriptor)
        if found.st_dev != os.fstat(parent).st_dev:
            os.close(descriptor)
            self.doing = f"check {shown} (another file system)"
            raise OSError(errno.EXDEV, "not ours")
        if found.st_uid != 0:
            os.close(descriptor)
            if made:
                self.doing = f"mkdir {shown} (it became uid {found.st_uid}'s)"
                with contextlib.suppress(OSError):
                    os.rmdir(name, dir_fd=parent)
                raise PermissionError(errno.EACCES, "squashed")
            self.doing = f"check {shown} (owner is uid {found.st_uid}, not root)"
            raise PermissionError(errno.EPERM, "not ours")
        return descriptor

    def _create_some(self, probes: int, name: str) -> tuple[str, int]:
        """A new file of that name or, where that name's brick is down, of another.

        With one brick of a distribute volume down only the names that hash to it fail.
        """
        for other in (f"{name}.{number}" for number in range(1, _OTHER_NAMES + 1)):
            try:
                return name, self._create(probes, name)
            except OSError as error:
                if error.errno != errno.ENOTCONN:
                    raise
            name = other
        return name, self._create(probes, name)

    def _create(self, probes: int, name: str) -> int:
        self.doing = f"create {_BASE}/{_PROBES}/{name}"
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW
        try:
            return os.open(name, flags, 0o600, dir_fd=probes)
        except FileExistsError:
            # A probe that was killed half way left it.
            os.unlink(name, dir_fd=probes)
            return os.open(name, flags, 0o600, dir_fd=probes)

    def _write_and_compare(self, probes: int, name: str, descriptor: int) -> None:
        token = os.urandom(_TOKEN_SIZE)
        path = f"{_BASE}/{_PROBES}/{name}"
        try:
            self.doing = f"write {path}"
            if os.write(descriptor, token) != len(token):
                raise OSError(errno.ENOSPC, "short write")
            self.doing = f"fsync {path}"
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
        self.doing = f"read back {path}"
        again = os.open(name, os.O_RDONLY | os.O_NOFOLLOW, dir_fd=probes)
        try:
            if os.read(again, _TOKEN_SIZE + 1) != token:
                self.doing = f"compare {path}"
                raise OSError(errno.EIO, "other content")
        finally:
            os.close(again)


def _step(name: str, error: OSError | None = None) -> dict[str, object]:
    return {"name": name, "errno": 0 if error is None else error.errno or errno.EIO}
