"""The few system calls of the configuration: reading the file, looking at local directories."""

import errno
import os
import stat
from collections.abc import Sequence

from agent.config.load import Loaded, load
from agent.config.places import PathFacts
from agent.config.problems import ConfigUnreadable
from agent.config.tree import MAX_BYTES
from agent.model import MountEntry

_KINDS = (
    (stat.S_ISDIR, "is a directory"),
    (stat.S_ISFIFO, "is a named pipe"),
    (stat.S_ISSOCK, "is a socket"),
    (stat.S_ISCHR, "is a device"),
    (stat.S_ISBLK, "is a device"),
)


def read_file(path: str) -> bytes:
    """The bytes of a configuration file. Raises ConfigUnreadable; never waits for a pipe."""
    try:
        # O_NONBLOCK: opening a pipe must not wait for its other end.
        fd = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC)
    except FileNotFoundError:
        raise ConfigUnreadable(path, "is not there") from None
    except (OSError, ValueError) as error:
        raise ConfigUnreadable(path, f"can't be opened: {_reason(error)}") from None
    try:
        found = os.fstat(fd)
        for is_kind, what in _KINDS:
            if is_kind(found.st_mode):
                raise ConfigUnreadable(path, f"{what}, not a file")
        return _read(fd, path)
    except OSError as error:
        raise ConfigUnreadable(path, f"can't be read: {_reason(error)}") from None
    finally:
        os.close(fd)


def _read(fd: int, path: str) -> bytes:
    data = b""
    while chunk := os.read(fd, MAX_BYTES + 1 - len(data)):
        data += chunk
        if len(data) > MAX_BYTES:
            raise ConfigUnreadable(path, f"is larger than {MAX_BYTES >> 10} KiB")
    return data


def _reason(error: Exception) -> str:
    if isinstance(error, OSError) and error.errno is not None:
        return errno.errorcode.get(error.errno, "") + f" ({os.strerror(error.errno)})"
    return "the path is not one"


def lstat(path: str) -> PathFacts | None:
    """places.Lstat on this host. To be called on local paths only: it blocks on a hung mount."""
    try:
        found = os.lstat(path)
    except (FileNotFoundError, NotADirectoryError):
        return None
    return PathFacts(found.st_mode, found.st_uid, found.st_gid)


def load_file(
    path: str, *, mount_table: Sequence[MountEntry], own_paths: Sequence[str] = ()
) -> Loaded:
    """Reads and checks a file against this host. Raises ConfigUnreadable or ConfigInvalid."""
    data = read_file(path)
    own = (path, os.path.realpath(path), *own_paths)
    return load(data, path, mount_table=mount_table, lstat=lstat, own_paths=own)
