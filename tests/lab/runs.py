"""Runs: each lab has an id, a folder and an owner; what dead owners left behind is swept away.

A run's footprint on the machine is its folder, its network namespaces (`/run/netns/gml-<id>-*`),
its control groups, and the processes inside those namespaces. A process is the lab's if, and only
if, it lives in one of the run's network namespaces: that is how all are found, and nothing else is
ever killed.
"""

import contextlib
import fcntl
import json
import os
import secrets
import shutil
import time
from dataclasses import dataclass
from pathlib import Path

from . import cgroups, namespaces
from .shell import LabError, until

STATE = Path("/var/cache/gluster-ml-lab/runs")
"""On a real disk: bricks lie there unless they are given a size."""


@dataclass(frozen=True)
class Run:
    """One lab's identity."""

    id: str

    @property
    def folder(self) -> Path:
        return STATE / self.id

    def name(self, part: str) -> str:
        """A name that no other lab on this machine uses."""
        return f"{self.prefix}{part}"

    @property
    def prefix(self) -> str:
        return f"gml-{self.id}-"

    @property
    def owner(self) -> tuple[int, int] | None:
        """Pid and start time of the process it belongs to; None: kept until `down`.

        Raises OSError or ValueError where that was not yet written.
        """
        owner = json.loads((self.folder / "owner.json").read_text())
        return None if owner is None else (int(owner[0]), int(owner[1]))

    @property
    def kept(self) -> bool:
        """Whether it was brought up by hand, to live until `down`."""
        try:
            return self.owner is None
        except (OSError, ValueError):
            return False

    def networks(self) -> set[int]:
        """Its network namespaces, by inode."""
        return {namespaces.inode(name) for name in namespaces.named(self.prefix)}

    def processes(self) -> list[int]:
        """The pids of all processes in the run's network namespaces."""
        return namespaces.processes_in("net", self.networks())


def create(*, keep: bool) -> Run:
    """Start a run. keep: it lives until `down`, not only as long as this process."""
    run = Run(secrets.token_hex(3))
    run.folder.mkdir(parents=True, mode=0o755)
    owner = None if keep else [os.getpid(), start_time(os.getpid())]
    (run.folder / "owner.json").write_text(json.dumps(owner))
    return run


def existing() -> list[Run]:
    """All runs that have a folder, the newest last."""
    if not STATE.is_dir():
        return []
    folders = [path for path in STATE.iterdir() if path.is_dir()]
    return [Run(path.name) for path in sorted(folders, key=lambda path: path.stat().st_mtime)]


def abandoned() -> list[Run]:
    """The runs whose owner is gone."""
    return [run for run in existing() if _owner_is_gone(run)]


def sweep() -> list[Run]:
    """Remove what dead runs left behind; returns them."""
    STATE.mkdir(parents=True, exist_ok=True)
    with (STATE / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # two may start at once, and would sweep the same
        runs = abandoned()
        for run in runs:
            remove(run)
    return runs


def remove(run: Run) -> None:
    """End every process of the run and remove all it made. Idempotent."""
    namespaces.kill_all(run.networks(), f"lab {run.id}")
    for name in namespaces.named(run.prefix):
        namespaces.delete(name)
    cgroups.remove(f"{run.prefix}*")
    until(lambda: not _disks(run), 30, f"the kernel has let go of the disks of lab {run.id}")
    shutil.rmtree(run.folder, ignore_errors=True)
    if run.folder.exists():
        shutil.rmtree(run.folder)


def leftovers(run: Run) -> list[str]:
    """What of the run is still on this machine, in words; empty after `remove`."""
    found = [f"process {pid}" for pid in run.processes()]
    found += [f"network namespace {name}" for name in namespaces.named(run.prefix)]
    found += [f"control group {path}" for path in cgroups.matching(f"{run.prefix}*")]
    mounts = Path("/proc/self/mountinfo").read_text().splitlines()
    found += [f"mount {line}" for line in mounts if str(run.folder) in line]
    found += [f"disk {path}" for path in _disks(run)]
    if run.folder.exists():
        found.append(f"folder {run.folder}")
    return found


def _disks(run: Run) -> list[str]:
    """Images of the run that loop devices still hold; these go with the last mount."""
    held = []
    for note in Path("/sys/block").glob("loop*/loop/backing_file"):
        with contextlib.suppress(OSError):
            held.append(note.read_text().strip())
    return [path for path in held if path.startswith(str(run.folder))]


def start_time(pid: int) -> int:
    """Field 22 of /proc/PID/stat, clock ticks since boot. Raises LabError if there is none."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
    except OSError as error:
        raise LabError(f"no process {pid}") from error
    return int(stat.rpartition(")")[2].split()[19])


def _owner_is_gone(run: Run) -> bool:
    try:
        owner = run.owner
    except (OSError, ValueError):
        return not _is_starting(run)
    if owner is None:
        return False
    pid, started = owner
    try:
        return start_time(pid) != started
    except LabError:
        return True


def _is_starting(run: Run) -> bool:
    """A folder without an owner is that of a run killed, or seen, within its first moment."""
    try:
        age = time.time() - run.folder.stat().st_mtime
    except OSError:
        return True
    return age < 10
