"""A control group of its own for each host with systemd, in every hierarchy the machine has.

Two systemds in one group would take each other's processes for their own.
"""

import contextlib
from pathlib import Path

ROOT = Path("/sys/fs/cgroup")


def create(name: str) -> list[Path]:
    """Make the group in each hierarchy and return the folders."""
    groups = [hierarchy / name for hierarchy in _hierarchies()]
    for group in groups:
        group.mkdir(exist_ok=True)
        _inherit_cpuset(group)
    return groups


def matching(pattern: str) -> list[Path]:
    """The top groups whose name fits, as glob(7)."""
    return [path for hierarchy in _hierarchies() for path in hierarchy.glob(pattern)]


def remove(pattern: str) -> None:
    """Remove the groups that fit with all below them; they must be empty of processes."""
    for group in matching(pattern):
        below = [path for path in group.rglob("*") if path.is_dir()]
        for path in [*sorted(below, key=lambda path: -len(path.parts)), group]:
            with contextlib.suppress(FileNotFoundError):
                path.rmdir()


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
