"""Network namespaces by name, and the processes that live in a namespace."""

import contextlib
import os
import signal
from collections.abc import Iterable
from pathlib import Path

from .shell import run, until

NETNS = Path("/run/netns")


def create(name: str) -> None:
    """A network namespace with its loopback up."""
    run(["ip", "netns", "add", name])
    run(["ip", "-n", name, "link", "set", "lo", "up"])


def delete(name: str) -> None:
    """Its links go with it once no process is left inside."""
    run(["ip", "netns", "delete", name])


def path(name: str) -> Path:
    return NETNS / name


def named(prefix: str) -> list[str]:
    """All that begin with prefix."""
    if not NETNS.is_dir():
        return []
    return sorted(entry.name for entry in NETNS.iterdir() if entry.name.startswith(prefix))


def inode(name: str) -> int:
    """What /proc/PID/ns/net of a process inside bears."""
    return (NETNS / name).stat().st_ino


def processes_in(kind: str, inodes: Iterable[int]) -> list[int]:
    """The pids of all processes in these namespaces. kind: "net", "pid", ..."""
    wanted = set(inodes)
    found = []
    for entry in os.scandir("/proc"):
        if not entry.name.isdigit():
            continue
        try:
            status = os.stat(f"/proc/{entry.name}/ns/{kind}")
        except OSError:  # it ended meanwhile, or is a zombie
            continue
        if status.st_ino in wanted:
            found.append(int(entry.name))
    return found


def kill_all(inodes: Iterable[int], what: str) -> None:
    """SIGKILL to all processes in these network namespaces, until none is left.

    what: whose they are, for the LabError if they don't end.
    """
    wanted = set(inodes)

    def gone() -> bool:
        left = processes_in("net", wanted)
        for pid in left:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        return not left

    until(gone, 60, f"the processes of {what} have ended")
