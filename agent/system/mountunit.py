"""What PID 1 knows of one mount unit: its state, its last mount, its processes."""

import os
import time
from pathlib import Path
from typing import Any

from agent.model.mount import ProcessId
from agent.system import proc
from agent.system.manager import Manager
from agent.system.mounthost import MountRequest
from agent.system.transient import Loaded
from agent.system.units import mount_unit

_FORKED = 1.0
"""Seconds: the helper is not older than that when its unit is said to be mounting."""
_CGROUPS = ("/sys/fs/cgroup", "/sys/fs/cgroup/unified", "/sys/fs/cgroup/systemd")
"""Where PID 1's own tree of cgroups is: unified, hybrid, legacy."""


class MountUnit:
    """The unit of a path, there or not. Every call raises ManagerError; the caller bounds it."""

    def __init__(self, manager: Manager, path: str) -> None:
        self.name = mount_unit(path)
        self._manager = manager

    async def loaded(self) -> Loaded:
        """Its state, and whose it is."""
        names = ("ActiveState", "FragmentPath", "SourcePath")
        return Loaded(*[str(await self._manager.unit_property(self.name, name)) for name in names])

    async def source(self) -> str:
        """What it mounts."""
        return str(await self._of_mount("What"))

    async def would_make(self, request: MountRequest) -> bool:
        """Whether a dead unit would make the very mount that is asked for: it saves a reload."""
        values = [await self._of_mount(name) for name in ("What", "Type", "Options")]
        return values == [request.source, "glusterfs", request.options]

    async def cause(self, result: str) -> str:
        """Why its job ended with that result, in words."""
        why = str(await self._of_mount("Result"))
        if why == "exit-code" or result == "done":
            return f"mount.glusterfs exited with status {await self.exit_status()}"
        if why == "protocol":
            return "mount.glusterfs exited with status 0 and nothing was mounted"
        return f"{result} ({why})"

    async def exit_status(self) -> int:
        """Of the last mount(8) run for it, or the signal that killed it; 0 if none was run."""
        commands = await self._of_mount("ExecMount")
        return int(commands[0][-1]) if commands else 0

    async def pids(self) -> tuple[int, ...]:
        """What runs in its cgroup: helper, client, and clients of mounts detached before."""
        group = str(await self._of_mount("ControlGroup"))
        return _members(group) if group else ()

    async def alive(self) -> frozenset[ProcessId]:
        """The same, as processes that can't be mistaken for later ones."""
        found = [proc.process_id(pid) for pid in await self.pids()]
        return frozenset(process for process in found if process is not None)

    async def older(self) -> frozenset[ProcessId]:
        """Those from before it began to mount; PID 1 forks the helper just before that."""
        moment = await self._manager.unit_property(self.name, "InactiveExitTimestampMonotonic")
        slept = time.clock_gettime(time.CLOCK_BOOTTIME) - time.monotonic()
        began = (int(moment) / 1e6 + slept - _FORKED) * os.sysconf("SC_CLK_TCK")
        return frozenset(found for found in await self.alive() if found.start_time < began)

    async def _of_mount(self, name: str) -> Any:
        return await self._manager.unit_property(self.name, name, "Mount")


def _members(group: str) -> tuple[int, ...]:
    for root in _CGROUPS:
        try:
            text = Path(f"{root}{group}/cgroup.procs").read_text("ascii")
        except OSError:
            continue
        return tuple(int(word) for word in text.split())
    return ()
