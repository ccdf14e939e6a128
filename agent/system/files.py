"""Files of the agent's own, replaced whole or not at all."""

import os
import tempfile
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

    mode: permission bits, exact whatever the umask. durable: on disk before the rename; needless
    below /run. Raises OSError; the old file is then as it was.
    """
    descriptor, temporary = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
    try:
        with os.fdopen(descriptor, "wb") as file:
            os.fchmod(file.fileno(), mode)
            file.write(content)
            file.flush()
            if durable:
                os.fsync(file.fileno())
        Path(temporary).replace(path)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise
