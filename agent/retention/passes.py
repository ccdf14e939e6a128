"""What the passes of the cleaner on this host have in common, the daemon's and those by hand."""

import hashlib
from pathlib import Path

from agent.config.schema import Config, MountConfig


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
