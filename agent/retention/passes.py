"""What the passes of the cleaner on this host have in common, the daemon's and those by hand."""

import hashlib
import json
from pathlib import Path

from agent.config.schema import Config, MountConfig
from agent.files import replace_file
from agent.retention.due import Ages


def memory_file(state_dir: Path, mount: MountConfig) -> Path:
    """Of one volume and path; its directory is made. Raises OSError."""
    directory = state_dir / "retention"
    directory.mkdir(mode=0o700, parents=True, exist_ok=True)
    key = hashlib.sha256(f"{mount.volume} {mount.path}".encode()).hexdigest()[:16]
    return directory / f"{key}.json"


def wants(config: Config, mount: MountConfig) -> str:
    """A fingerprint of what a file wants of a volume: retention, layout, the ids to be exchanged.

    12 hex digits, equal on hosts whose files say the same.
    """
    retention = mount.retention.model_dump_json() if mount.retention else ""
    layout = mount.layout.model_dump_json() if mount.layout else ""
    remap = config.identities.remap.model_dump_json()
    alike = f"{retention}\n{layout}\n{remap}"
    return hashlib.sha256(alike.encode()).hexdigest()[:12]


def ages_file(state_dir: Path, mount: MountConfig) -> Path:
    """In which stands how long what is in the trash was seen there. Raises OSError."""
    return memory_file(state_dir, mount).with_suffix(".trash.json")


def load_ages(path: Path) -> Ages:
    """None where there is no file, or one that makes no sense: then all begins anew."""
    try:
        return Ages.from_row(json.loads(path.read_bytes()))
    except (OSError, ValueError, KeyError, TypeError):
        return Ages()


def save_ages(path: Path, ages: Ages) -> None:
    """Raises OSError."""
    replace_file(path, json.dumps(ages.to_row()).encode(), 0o600, durable=False)


def boot() -> str:
    """Another text for each boot of this host. Raises OSError."""
    return Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
