"""One-shot: pins a checkpoint or a run, or takes the pin away, as whoever started it.

Request: {"path", "pin": bool}. Answer: {"changed": bool, "file"}, or {"problem", "path"}. A pin is
a file: `.keep` in a directory, NAME.keep beside a file. It is made and removed by the descriptor of
the directory that was looked at, without following a link there.
"""

import errno
import os

from agent.retention.formats.registry import candidates
from agent.retention.view import DIRECTORY, FILE, Entry
from agent.worker import channel, place
from agent.worker.descent import GivenUpError
from agent.worker.quicklook import KEEP
from agent.worker.view import Directory, MetError, opened

_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW


def main() -> int:
    """Answer the one request."""
    request = channel.request()
    path = str(request["path"])
    above, name = os.path.split(os.path.normpath(path))
    try:
        view = _opened(os.path.realpath(above))
        there, file = _place(view, name)
        changed = (_pin if request["pin"] else _unpin)(there, file)
        shown = os.path.join(above, there.path, file)
        channel.emit({"changed": changed, "file": shown})
    except (MetError, GivenUpError) as error:
        channel.emit({"problem": str(error), "path": path})
    except OSError as error:
        channel.emit({"problem": error.strerror, "path": path})
    channel.done()
    return 0


def _opened(path: str) -> Directory:
    """Raises OSError."""
    descriptor = place.open_path(path)
    try:
        return opened(descriptor, "")
    finally:
        os.close(descriptor)


def _place(view: Directory, name: str) -> tuple[Directory, str]:
    """Where the pin of a name is, and its own name. Raises OSError, MetError, GivenUpError."""
    if view.target(name) is not None:
        raise OSError(errno.ELOOP, "is a symbolic link; name what it leads to")
    if view.size(name) is not None:
        if not candidates(Entry(name, FILE)):
            raise OSError(errno.EINVAL, "has no name of a checkpoint")
        return view, f"{name}{KEEP}"
    below = view.enter(name)
    if below is None:
        raise OSError(errno.ENOENT, "there is no such checkpoint")
    if not candidates(Entry(name, DIRECTORY)) and not any(
        candidates(entry) for entry in below.entries().values()
    ):
        raise OSError(errno.EINVAL, "is no checkpoint by its name, and no run: none is in it")
    return below, KEEP


def _pin(there: Directory, file: str) -> bool:
    """Raises OSError."""
    try:
        os.close(os.open(file, _NEW, 0o644, dir_fd=there.descriptor))
    except FileExistsError:
        return False
    return True


def _unpin(there: Directory, file: str) -> bool:
    """Raises OSError."""
    try:
        os.unlink(file, dir_fd=there.descriptor)
    except FileNotFoundError:
        return False
    return True
