"""The mount table of this process, read without touching any mount."""

from pathlib import Path

from agent.model.mount import MountEntry
from agent.system import mountinfo

TABLE = "/proc/self/mountinfo"


def read() -> tuple[MountEntry, ...]:
    """The table as it is now. Raises OSError only if /proc is not there."""
    return mountinfo.parse(Path(TABLE).read_bytes())
