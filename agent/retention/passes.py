"""Where the passes of the cleaner on this host remember what they planned."""

import hashlib
from pathlib import Path

from agent.config.schema import MountConfig


def memory_file(state_dir: Path, mount: MountConfig) -> Path:
    """Of one volume and path; its directory is made. Raises OSError."""
    directory = state_dir / "retention"
    directory.mkdir(mode=0o700, parents=True, exist_ok=True)
    key = hashlib.sha256(f"{mount.volume} {mount.path}".encode()).hexdigest()[:16]
    return directory / f"{key}.json"
