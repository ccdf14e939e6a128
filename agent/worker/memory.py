"""What earlier passes of the cleaner planned: a local file, of this boot of this host alone."""

import contextlib
import json
import os
from collections.abc import Mapping

from agent.retention import looks
from agent.retention.looks import Look, Target

_LIMIT = 64 << 20
_BOOT = "/proc/sys/kernel/random/boot_id"


def load(path: str) -> dict[Target, Look]:
    """Nothing where there is none, or one of another boot: its clock was another one."""
    try:
        with open(path, "rb") as file:
            found = json.loads(file.read(_LIMIT))
        if found["boot"] == _boot():
            return looks.from_rows(found["looks"])
    except (OSError, ValueError, KeyError, TypeError):
        pass
    return {}


def save(path: str, memory: Mapping[Target, Look]) -> None:
    """Replace it. Raises OSError: then nothing becomes ripe."""
    data = json.dumps({"boot": _boot(), "looks": looks.to_rows(memory)}).encode()
    new = f"{path}.{os.getpid()}"
    try:
        descriptor = os.open(new, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        with open(descriptor, "wb") as file:
            file.write(data)
        os.rename(new, path)
    except OSError:
        with contextlib.suppress(OSError):
            os.unlink(new)
        raise


def _boot() -> str:
    with open(_BOOT, encoding="ascii") as file:
        return file.read().strip()
