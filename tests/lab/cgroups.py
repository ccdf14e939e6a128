"""A control group of its own for each host with systemd, in every hierarchy the machine has.

Two systemds in one group would take each other's processes for their own.
"""

import errno
from functools import partial
from pathlib import Path

from .shell import until

ROOT = Path("/sys/fs/cgroup")


def create(name: str) -> list[Path]:
    """Make the group in each hierarchy and return the folders."""
    groups = [hierarchy / name for hierarchy in _hierarchies()]
    for group in groups:
        group.mkdir(exist_ok=True)
        _inherit_cpuset(group)
    return groups


def memory_group(name: str) -> Path:
    """A group at the top that can limit memory, in whichever hierarchy does that; not yet made."""
    return next(h / name for h in _hierarchies() if h == ROOT or h.name == "memory")


def starve(group: Path, pid: int) -> None:
    """Make the group and put a process into it that gets not one page more there."""
    group.mkdir()
    limit = "memory.limit_in_bytes" if group.parent.name == "memory" else "memory.max"
    (group / "cgroup.procs").write_text(str(pid))
    (group / limit).write_text("4096")


def matching(pattern: str) -> list[Path]:
    """The top groups whose name fits, as glob(7)."""
    return [path for hierarchy in _hierarchies() for path in hierarchy.glob(pattern)]


def remove(pattern: str) -> None:
    """Remove the groups that fit with all below them; their processes must be dead.

    A group is busy for a moment more, until the last of them is reaped by whoever is its parent.
    """
    for group in matching(pattern):
        below = [path for path in group.rglob("*") if path.is_dir()]
        for path in [*sorted(below, key=lambda path: -len(path.parts)), group]:
            until(partial(_removed, path), 10, f"control group {path} is empty")


def _removed(path: Path) -> bool:
    try:
        path.rmdir()
    except FileNotFoundError:
        return True
    except OSError as error:
        if error.errno == errno.EBUSY:
            return False
        raise
    return True


def _hierarchies() -> list[Path]:
    """The mounted ones: version 1 has several, version 2 a single one."""
    if (ROOT / "cgroup.procs").exists():
        return [ROOT]
    return [path for path in sorted(ROOT.iterdir()) if (path / "cgroup.procs").exists()]


def _inherit_cpuset(group: Path) -> None:
    """In version 1 a new cpuset is empty, and takes no process until it is filled."""
    for name in ("cpuset.cpus", "cpuset.mems"):
        value = group / name
        if value.exists() and not value.read_text().strip():
            value.write_text((group.parent / name).read_text())
