"""A cell: network, mount, process and host name namespaces around a small init.

Storage servers and quick clients are cells. When its init is killed the kernel ends everything in
it and its mounts go with it, so that a cell can leave nothing behind.
"""

import contextlib
import json
import os
import re
import selectors
import signal
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from subprocess import DEVNULL, PIPE
from typing import IO

from . import namespaces
from .shell import Done, LabError, finish, until

INIT = Path(__file__).with_name("init.py")
LAUNCH = Path(__file__).with_name("launch.py")
_CLEAN = {"PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "LC_ALL": "C"}


@dataclass(frozen=True)
class Process:
    """A process inside, under its number out here (pid) and in there (inner)."""

    pid: int
    inner: int
    comm: str


class Inside(subprocess.Popen[str]):
    """A program started inside; signals reach it, not the nsenter around it."""

    @property
    def target(self) -> int:
        """Its pid on the machine. Raises LabError when it never came to life or has ended."""
        return until(lambda: _children(self.pid, self.poll()), 10, "nsenter has a child")[0]

    def send_signal(self, sig: int) -> None:
        """Nsenter stops along with what it entered for, and has to be told to go on."""
        if self.poll() is None:
            os.kill(self.target, sig)
            if sig in (signal.SIGCONT, signal.SIGKILL):
                os.kill(self.pid, signal.SIGCONT)

    def abandon(self) -> None:
        """Kill it, and wait no longer than some seconds: it may hang in a system call for good."""
        self.kill()
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.wait(3)
            return
        os.kill(self.pid, signal.SIGKILL)


class Cell:
    """Something with an init that programs can be run in."""

    namespace_options: tuple[str, ...] = ("-m", "-u", "-i", "-n", "-p")
    """Those of nsenter(1) to get in."""

    def __init__(self, name: str, netns: str, folder: Path) -> None:
        """folder: the cell's own, on the machine; made if it isn't there."""
        self.name = name
        self.netns = netns
        self.folder = folder
        folder.mkdir(parents=True, exist_ok=True)
        self._holder: subprocess.Popen[bytes] | None = None

    @property
    def console(self) -> Path:
        """What its start said, for when it fails."""
        return self.folder / "console.log"

    @property
    def init(self) -> int:
        """The init's pid on the machine. Raises LabError if the cell isn't up."""
        try:
            return int((self.folder / "init.pid").read_text())
        except OSError as error:
            raise LabError(f"{self.name} is not up") from error

    def start(self, mounts: Sequence[Sequence[str]]) -> None:
        """mounts: arguments of mount(8), done inside in this order before anything runs."""
        unshare = ["--uts", "--pid", "--fork", "--kill-child", "--mount-proc"]
        init = ["/usr/bin/python3", "-I", "-S", str(INIT), self.name]
        self._hold(
            ["nsenter", f"--net={namespaces.path(self.netns)}", "unshare", "--mount", *unshare],
            {"cgroups": [], "mounts": mounts, "argv": init},
            stdout=PIPE,
        )
        self._await_ready()

    def _hold(self, around: Sequence[str], spec: object, stdout: int | IO[str] = DEVNULL) -> None:
        """Launch by launch.py, within the command `around`, what will hold the cell's init."""
        launch = ["/usr/bin/python3", "-I", "-S", str(LAUNCH), json.dumps(spec)]
        with self.console.open("w") as log:
            self._holder = subprocess.Popen(
                [*around, *launch],
                stdin=DEVNULL,
                stdout=log if stdout == DEVNULL else stdout,
                stderr=log,
                env=_CLEAN,
                start_new_session=True,
            )

    def _await_init(self) -> None:
        """Until the holder has a child that is process 1 inside.

        nspawn's first child is another one, which only prepares.
        """
        holder = self._holder
        assert holder is not None
        try:
            init = until(lambda: _init_below(holder.pid, holder.poll()), 30, "an init")
        except LabError as error:
            raise LabError(f"{self.name}: {error}: {self.console.read_text()}") from error
        (self.folder / "init.pid").write_text(str(init))

    def _await_ready(self) -> None:
        assert self._holder is not None
        assert self._holder.stdout is not None
        with self._holder.stdout as pipe, selectors.DefaultSelector() as selector:
            selector.register(pipe, selectors.EVENT_READ)
            if not selector.select(30) or not pipe.readline():
                self._holder.kill()
                self.reap()
                raise LabError(f"{self.name} did not start: {self.console.read_text().strip()}")
        self._await_init()

    def stop(self) -> None:
        """Kill everything inside, and its mounts go too. Idempotent."""
        namespaces.kill_all({namespaces.inode(self.netns)}, self.name)
        self.reap()

    def reap(self) -> None:
        """Wait for what was started as a child of this process, once the init is dead."""
        if self._holder is not None:
            self._holder.wait(30)
            self._holder = None

    def enter(self, argv: Sequence[str]) -> list[str]:
        """The command that runs argv inside."""
        return ["nsenter", "-t", str(self.init), *self.namespace_options, "--", *argv]

    def run(
        self, argv: Sequence[str], *, timeout: float = 60, check: bool = True, stdin: str = ""
    ) -> Done:
        """Run a program inside to its end; see shell.run."""
        process = self.popen(argv, stdin=PIPE, stdout=PIPE, stderr=PIPE)
        return finish(process, process.abandon, timeout=timeout, check=check, stdin=stdin)

    def popen(
        self,
        argv: Sequence[str],
        *,
        stdin: int | IO[str] = DEVNULL,
        stdout: int | IO[str] = DEVNULL,
        stderr: int | IO[str] = DEVNULL,
        env: Mapping[str, str] | None = None,
    ) -> Inside:
        """Start a program inside. env: additions to an almost empty environment."""
        return Inside(
            self.enter(argv),
            stdin=stdin,
            stdout=stdout,
            stderr=stderr,
            env={**_CLEAN, **(env or {})},
            text=True,
            errors="replace",
            start_new_session=True,
        )

    def path(self, inside: str) -> Path:
        """A path inside, as the machine can reach it. Not for mounts that may hang."""
        return Path(f"/proc/{self.init}/root") / inside.lstrip("/")

    def read(self, inside: str) -> str:
        return self.path(inside).read_text(errors="replace")

    def write(self, inside: str, text: str) -> None:
        """Write a file inside, with its parents."""
        path = self.path(inside)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)

    def processes(self, comm: str | None = None) -> list[Process]:
        """All processes inside, or those of that comm (at most 15 characters)."""
        namespace = os.stat(f"/proc/{self.init}/ns/pid").st_ino
        found = [_process(pid) for pid in namespaces.processes_in("pid", {namespace})]
        return [process for process in found if process and comm in (None, process.comm)]

    def process(self, inner: int) -> Process:
        """The process with that number inside. Raises LabError."""
        for process in self.processes():
            if process.inner == inner:
                return process
        raise LabError(f"{self.name} has no process {inner}")


def _children(pid: int, exit_code: int | None) -> list[int]:
    if exit_code is not None:
        raise LabError(f"ended at once with {exit_code}")
    return [int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def _init_below(pid: int, exit_code: int | None) -> int | None:
    processes = [_process(child) for child in _children(pid, exit_code)]
    return next((process.pid for process in processes if process and process.inner == 1), None)


def _process(pid: int) -> Process | None:
    try:
        status = Path(f"/proc/{pid}/status").read_text()
    except OSError:  # it ended meanwhile
        return None
    comm = re.search(r"^Name:\t(.*)$", status, re.MULTILINE)
    numbers = re.search(r"^NSpid:\t(.*)$", status, re.MULTILINE)
    assert comm
    assert numbers
    return Process(pid, int(numbers[1].split()[-1]), comm[1])
