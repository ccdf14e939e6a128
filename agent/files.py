"""Files of the agent's own, replaced whole or not at all."""

import contextlib
import os
from pathlib import Path


def file_state(path: str) -> str:
    """Another text for each state of a file that can be told apart by stat(2); "" for none."""
    try:
        found = os.stat(path)
    except OSError:
        return ""
    return f"{found.st_ino}:{found.st_size}:{found.st_mtime_ns}:{found.st_ctime_ns}"


def replace_file(path: Path, content: bytes, mode: int, *, durable: bool = True) -> None:
    """Write content to a temporary file beside path and rename it over.

    mode: permission bits, exact whatever the umask. durable: on disk, and under its name, before
    this returns; needless below /run. Raises OSError; the old file is then as it was.
    """
    # A name that a writer killed half way leaves for the next one to find. Not tempfile: `status`
    # and `wait` would wait for its imports.
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    with contextlib.suppress(FileNotFoundError):
        temporary.unlink()
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    descriptor = os.open(temporary, flags, mode)
    try:
        try:
            _fill(descriptor, content, mode, durable=durable)
        finally:
            os.close(descriptor)
        temporary.replace(path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
    if durable:
        _sync_directory(path.parent)


def _fill(descriptor: int, content: bytes, mode: int, *, durable: bool) -> None:
    os.fchmod(descriptor, mode)
    left = memoryview(content)
    while left:
        left = left[os.write(descriptor, left) :]
    if durable:
        os.fsync(descriptor)


def _sync_directory(path: Path) -> None:
    directory = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(directory)
    finally:
        os.close(directory)
