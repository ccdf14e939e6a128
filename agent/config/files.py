"""The few system calls of the configuration: reading the file, looking at local directories."""

import errno
import os
import stat
from collections.abc import Sequence

from agent.config.load import Loaded, load
from agent.config.places import PathFacts, can_hang
from agent.config.problems import ConfigUnreadable
from agent.config.tree import MAX_BYTES
from agent.model.mount import MountEntry

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
    """places.Lstat on this host. To be called below local directories only.

    None also for a network or FUSE mount, which may lie there since the table was read: opening its
    root with O_PATH asks it nothing, while an lstat of it can hang.
    """
    try:
        descriptor = os.open(path, os.O_PATH | os.O_NOFOLLOW | os.O_CLOEXEC)
    except (FileNotFoundError, NotADirectoryError):
        return None
    try:
        if _is_on_remote(descriptor):
            return None
        found = os.fstat(descriptor)
    finally:
        os.close(descriptor)
    return PathFacts(found.st_mode, found.st_uid, found.st_gid)


def _is_on_remote(descriptor: int) -> bool:
    """By its mount's number in fdinfo (proc_pid_fdinfo(5)) and the mount table of this moment."""
    with open(f"/proc/self/fdinfo/{descriptor}", "rb") as file:
        fields = dict(line.split(b":", 1) for line in file if b":" in line)
    number = fields[b"mnt_id"].strip()
    with open("/proc/self/mountinfo", "rb") as file:
        line = next((line for line in file if line.split(b" ", 1)[0] == number), b"")
    before, _, after = line.partition(b" - ")
    fstype = after.partition(b" ")[0].decode("ascii", "replace")
    return before.split(b" ")[4:5] != [b"/"] and can_hang(fstype)


def load_file(
    path: str, *, mount_table: Sequence[MountEntry], own_paths: Sequence[str] = ()
) -> Loaded:
    """Reads and checks a file against this host. Raises ConfigUnreadable or ConfigInvalid."""
    data = read_file(path)
    own = (path, os.path.realpath(path), *own_paths)
    return load(data, path, mount_table=mount_table, lstat=lstat, own_paths=own)
