"""What this host knows of how long entries lie in the trash: a small file for each volume."""

import contextlib
import json
from pathlib import Path

from agent.retention.aging import Ages
from agent.system.files import replace_file

_BOOT = Path("/proc/sys/kernel/random/boot_id")


def load(path: Path) -> Ages:
    """Nothing where there is none: then all counts as seen for the first time."""
    try:
        found = json.loads(path.read_bytes())
        seconds = {str(id_): float(age) for id_, age in found["seconds"].items()}
        return Ages(str(found["boot"]), float(found["at"]), seconds)
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return Ages()


def save(path: Path, ages: Ages) -> None:
    """Never raises: a full disk costs later removals at most."""
    content = {"boot": ages.boot, "at": ages.at, "seconds": dict(ages.seconds or {})}
    with contextlib.suppress(OSError):
        replace_file(path, json.dumps(content).encode(), 0o600, durable=False)


def boot() -> str:
    """Of this host."""
    return _BOOT.read_text(encoding="ascii").strip()
