"""Files of the agent's own, replaced whole or not at all."""

import os
import tempfile
from pathlib import Path


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
