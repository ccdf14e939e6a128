"""Processes by pid and start time, from /proc/PID/stat and pidfds.

Never reads /proc/PID/cmdline: it can block on a process that is stuck in the kernel, and
arguments may be secret.
"""

import asyncio
import os
import signal as signals
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from agent.model.mount import ProcessId


@dataclass(frozen=True, slots=True)
class Stat:
    """Fields of /proc/PID/stat (proc_pid_stat(5)); start_time in clock ticks since boot."""

    pid: int
    comm: str
    state: str
    start_time: int

    @property
    def process(self) -> ProcessId:
        """The process, not to be mistaken for a later one of the same pid."""
        return ProcessId(self.pid, self.start_time)

    @property
    def ended(self) -> bool:
        """A zombie: it runs no more, but its parent has not asked for its exit status."""
        return self.state in "ZX"


def parse_stat(data: bytes) -> Stat | None:
    """None if it is no stat line. The name may itself hold blanks and parentheses."""
    before, opening, rest = data.partition(b"(")
    comm, closing, after = rest.rpartition(b")")
    fields = after.split()
    try:
        if not opening or not closing:
            return None
        return Stat(
            pid=int(before),
            comm=comm.decode("utf-8", "backslashreplace"),
            state=fields[0].decode("ascii"),
            start_time=int(fields[19]),
        )
    except (ValueError, IndexError):
        return None


def read_stat(pid: int) -> Stat | None:
    """None if there is no such process."""
    try:
        return parse_stat(Path(f"/proc/{pid}/stat").read_bytes())
    except OSError:
        return None


def process_id(pid: int) -> ProcessId | None:
    """Who bears this pid now; None if nobody does."""
    stat = read_stat(pid)
    return None if stat is None else stat.process


def is_alive(process: ProcessId) -> bool:
    """Whether this very process still runs; a zombie does not."""
    stat = read_stat(process.pid)
    return stat is not None and stat.process == process and not stat.ended


def kill(process: ProcessId) -> bool:
    """SIGKILL to this very process, never to a later one of its pid; False if it is gone."""
    pidfd = _open(process)
    if pidfd is None:
        return False
    try:
        signals.pidfd_send_signal(pidfd, signals.SIGKILL)
    except ProcessLookupError:
        return False
    finally:
        os.close(pidfd)
    return True


def wchan(pid: int) -> str:
    """The kernel function the process sleeps in; "" where there is none or it can't be read."""
    try:
        name = Path(f"/proc/{pid}/wchan").read_text("ascii")
    except (OSError, ValueError):
        return ""
    return "" if name == "0" else name


class ProcessWatch:
    """Tells once, on the event loop, that a process ended.

    Needs the running loop. on_exit is also called, soon, if the process was gone from the start.
    """

    def __init__(self, process: ProcessId, on_exit: Callable[[], None]) -> None:
        self.process = process
        self._on_exit = on_exit
        self._loop = asyncio.get_running_loop()
        self._late: asyncio.Handle | None = None
        self._pidfd: int | None = _open(process)
        if self._pidfd is None:
            self._late = self._loop.call_soon(on_exit)
        else:
            self._loop.add_reader(self._pidfd, self._ended)

    @property
    def alive(self) -> bool:
        """Whether the process was still there when last heard of; False after close()."""
        return self._pidfd is not None

    def close(self) -> None:
        """Stop watching; on_exit is not called any more."""
        if self._late is not None:
            self._late.cancel()
        if self._pidfd is not None:
            self._loop.remove_reader(self._pidfd)
            os.close(self._pidfd)
            self._pidfd = None

    def _ended(self) -> None:
        self.close()
        self._on_exit()


def _open(process: ProcessId) -> int | None:
    """A pidfd of this very process: looked at again once it can't be replaced any more."""
    try:
        pidfd = os.pidfd_open(process.pid)
    except ProcessLookupError:
        return None
    if is_alive(process):
        return pidfd
    os.close(pidfd)
    return None
