"""One-shot: prepares a mount point, and makes the bare directory refuse writes or take them again.

Request: {"path", "immutable"}; answer: one row {"state", "errno", "detail", "strays"}. state:
"set", "clear" (the flag is now so), "mounted" (something is mounted there: nothing was done),
"unsupported" (the file system has no such flag), "refused" (errno and detail tell why).
"""

import errno
import fcntl
import os
import struct

from agent.worker import channel, place

# linux/fs.h, as on x86 and ARM; the argument is an int in spite of the `long` in the number.
_GETFLAGS = 0x80086601
_SETFLAGS = 0x40086602
_IMMUTABLE = 0x10

_STRAYS_LIMIT = 1000
_UNSUPPORTED = (errno.ENOTTY, errno.EOPNOTSUPP, errno.EINVAL, errno.ENOSYS)


def main() -> int:
    """Answer the one request."""
    request = channel.request()
    os.umask(0o022)
    channel.emit(guard(str(request["path"]), immutable=bool(request["immutable"])))
    channel.done()
    return 0


def guard(path: str, *, immutable: bool) -> dict[str, object]:
    """Make the directory and set or clear its flag; tells what became of it."""
    doing = _Doing()
    try:
        parent, directory = _walk(path, doing)
    except OSError as error:
        return _row("refused", error, doing.what)
    try:
        if place.mount_id(parent) != place.mount_id(directory):
            return _row("mounted")
        return _set_flag(directory, immutable=immutable)
    finally:
        os.close(parent)
        os.close(directory)


class _Doing:
    """What is being tried, for the report of its failure."""

    def __init__(self) -> None:
        self.what = ""


def _walk(path: str, doing: _Doing) -> tuple[int, int]:
    """Descriptors of the parent and the directory, without following a link; makes what lacks.

    O_PATH: whatever is mounted there is not asked anything.
    """
    flags = os.O_PATH | os.O_DIRECTORY | os.O_NOFOLLOW
    parent = directory = os.open("/", flags)
    shown = ""
    for name in path.strip("/").split("/"):
        if directory != parent:
            os.close(parent)
        parent = directory
        shown = f"{shown}/{name}"
        doing.what = f"open {shown}"
        try:
            directory = os.open(name, flags, dir_fd=parent)
        except FileNotFoundError:
            doing.what = f"mkdir {shown}"
            os.mkdir(name, 0o755, dir_fd=parent)
            directory = os.open(name, flags, dir_fd=parent)
    return parent, directory


def _set_flag(directory: int, *, immutable: bool) -> dict[str, object]:
    """Works on the bare directory even if something gets mounted on it by now: `.` stays below."""
    try:
        bare = os.open(".", os.O_RDONLY | os.O_DIRECTORY, dir_fd=directory)
    except OSError as error:
        return _row("refused", error, "open the directory")
    try:
        strays = _count(bare)
        flags = struct.unpack("=I", fcntl.ioctl(bare, _GETFLAGS, bytes(4)))[0]
        wanted = flags | _IMMUTABLE if immutable else flags & ~_IMMUTABLE
        if wanted != flags:
            fcntl.ioctl(bare, _SETFLAGS, struct.pack("=I", wanted))
    except OSError as error:
        state = "unsupported" if error.errno in _UNSUPPORTED else "refused"
        return _row(state, error, "set or clear the immutable flag", strays)
    finally:
        os.close(bare)
    return _row("set" if immutable else "clear", strays=strays)


def _count(directory: int) -> int:
    """Entries in the bare directory: what was written while nothing was mounted."""
    with os.scandir(directory) as entries:
        return sum(1 for _, _ in zip(range(_STRAYS_LIMIT), entries, strict=False))


def _row(
    state: str, error: OSError | None = None, detail: str = "", strays: int = 0
) -> dict[str, object]:
    number = 0 if error is None else error.errno or errno.EIO
    return {"state": state, "errno": number, "detail": detail, "strays": strays}
