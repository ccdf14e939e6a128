"""Pausing a mount: a file of its name in the state directory, which the daemon watches.

No socket, no protocol: who may write there is root, and a pause outlives a restart.
"""

import os
from pathlib import Path

from agent.config.names import mount_name


def directory(state_dir: Path) -> Path:
    """Where the files are; it may not exist yet."""
    return state_dir / "paused"


def valid_name(name: str) -> bool:
    """Whether a mount can have this name: then it is safe as a file's name too."""
    try:
        mount_name(name)
    except ValueError:
        return False
    return True


def paused(state_dir: Path) -> frozenset[str]:
    """The names of all mounts that are paused, configured or not. Raises OSError."""
    try:
        names = os.listdir(directory(state_dir))
    except FileNotFoundError:
        return frozenset()
    return frozenset(name for name in names if valid_name(name))


def pause(state_dir: Path, name: str) -> bool:
    """True: it wasn't paused before. The name is valid. Raises OSError."""
    directory(state_dir).mkdir(mode=0o755, exist_ok=True)
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    try:
        os.close(os.open(directory(state_dir) / name, flags, 0o644))
    except FileExistsError:
        return False
    return True


def resume(state_dir: Path, name: str) -> bool:
    """True: it was paused before. The name is valid. Raises OSError."""
    try:
        (directory(state_dir) / name).unlink()
    except FileNotFoundError:
        return False
    return True
