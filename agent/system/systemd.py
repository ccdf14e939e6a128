"""Mounts made and unmade by PID 1: transient mount units, so that no client is a child of ours."""

import asyncio
import contextlib
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from itertools import count
from pathlib import Path

from agent.errors import MountFailed
from agent.model.mount import ProcessId
from agent.system import proc
from agent.system.command import read_words
from agent.system.layers import is_half_mount, layers, require_bare
from agent.system.manager import Manager, ManagerError
from agent.system.mounthost import MountRequest, Unit
from agent.system.mountunit import MountUnit
from agent.system.transient import Loaded, guard_properties, mount_properties, umount_properties
from agent.system.umount import Unmounted, outcome, umount_argv

_ANSWER = 5.0
"""Seconds for one answer of PID 1."""
_CLEARING = 5.0
"""Seconds to clear away what a failed mount left."""
_CALL_OFF = 0.5
"""Seconds to tell PID 1 that something is not wanted any more."""
_POLL = 0.003
"""Seconds between looks at a state that PID 1 tells in no cheaper way."""


@dataclass(frozen=True, slots=True)
class _Attempt:
    """To mount. before: the processes that lived in the unit's cgroup when it began."""

    unit: MountUnit
    request: MountRequest
    before: frozenset[ProcessId]


class SystemdHost:
    """MountHost by way of PID 1 over the system bus; root needs no polkit for it."""

    def __init__(self) -> None:
        self._manager = Manager()
        self._serial = count()

    async def administrator_unit(self, path: str) -> Unit | None:
        """The unit of fstab or of a unit file; a transient unit is nobody's."""
        unit = self._unit(path)
        async with _within(_ANSWER):
            origin = (await unit.loaded()).origin
            return None if origin is None else Unit(unit.name, origin, await unit.source())

    async def mount(self, request: MountRequest, timeout: float) -> None:
        """As MountHost says; clearing up after a failure may take 5 s beyond the timeout.

        Cancelled, it leaves the attempt to PID 1, which ends it soon after the same timeout.
        """
        require_bare(request.path)
        unit = self._unit(request.path)
        async with _within(_ANSWER):
            attempt = _Attempt(unit, request, await unit.alive())
        try:
            async with asyncio.timeout(timeout):
                result = await self._start(attempt, timeout)
        except TimeoutError:
            cause = f"nothing was mounted within {timeout:g} s"
        except ManagerError as error:
            cause = error.message
        else:
            async with _within(_ANSWER):
                # A mount that was in the table for a moment is enough for PID 1, whatever the
                # helper said; it is a client that will give up (volume not served, ...).
                if result == "done" and await unit.exit_status() == 0:
                    await self._release(unit)
                    return
                cause = await unit.cause(result)
        async with _within(_CLEARING):
            await self._clear_away(attempt)
        raise _failed(f"{request.path}: mounting {request.source}", unit.name, cause)

    async def start_unit(self, unit: Unit, path: str, timeout: float) -> None:
        """As MountHost says; a late start is left to the unit's own TimeoutSec=."""
        require_bare(path)
        async with _within(timeout):
            result = await self._manager.job("StartUnit", "ss", unit.name, "replace")
            if result == "done":
                return
            cause = await self._unit(path).cause(result)
        raise _failed(f"{path}: starting {unit.name} of {unit.origin}", unit.name, cause)

    async def unmount(self, path: str, timeout: float) -> bool:
        """As MountHost says, and it doesn't hang on a frozen mount either.

        Not by stopping the mount unit: that would stop every unit with RequiresMountsFor= on the
        path, while an unmount from outside leaves them running (measured with systemd 252).
        """
        return await self._umount(path, timeout, lazy=False) is not Unmounted.BUSY

    async def detach(self, path: str, timeout: float) -> None:
        """As MountHost says."""
        await self._umount(path, timeout, lazy=True)

    async def guard_covered(self, path: str, timeout: float, *, immutable: bool) -> None:
        """As MountHost says, by a service of PID 1 that sees the directory uncovered."""
        service = f"gluster-ml-guard-{os.getpid()}-{next(self._serial)}.service"
        properties = guard_properties(path, timeout, immutable=immutable)
        async with _within(timeout):
            result = await self._manager.start_transient(service, properties)
        if result != "done":
            raise MountFailed(f"{path}: chattr on the directory under the mount: {result}")

    async def client_pids(self, path: str) -> tuple[int, ...]:
        """The processes in the cgroup of the path's mount unit."""
        async with _within(_ANSWER):
            return await self._unit(path).pids()

    async def close(self) -> None:
        """Let go of the bus."""
        await self._manager.close()

    def _unit(self, path: str) -> MountUnit:
        return MountUnit(self._manager, path)

    async def _start(self, attempt: _Attempt, timeout: float) -> str:
        unit, request = attempt.unit, attempt.request
        properties = mount_properties(request, timeout)
        looked_before = False
        while True:
            try:
                return await self._manager.start_transient(unit.name, properties)
            except ManagerError as error:
                if error.name != "UnitExists":
                    raise
            there = await unit.loaded()
            if there.origin is not None:
                raise MountFailed(
                    f"{request.path}: {unit.name} is there already, from {there.origin}"
                )
            if there.settled and looked_before:
                if there.transient and await unit.would_make(request):
                    return await self._manager.job("StartUnit", "ss", unit.name, "fail")
                await self._forget(unit.name, there)
            elif there.active_state == "activating":
                # An agent that was killed began it; what served a mount before stays.
                before = attempt.before & await unit.older()
                begun = replace(request, source=await unit.source())
                await self._clear_away(_Attempt(unit, begun, before))
            # A dead unit that nothing refers to is gone the next time.
            looked_before = True
            await asyncio.sleep(_POLL)

    async def _forget(self, unit: str, dead: Loaded) -> None:
        """Make PID 1 forget a dead unit that it keeps, because another unit refers to it.

        Every unit with RequiresMountsFor= on the path does so. What was forgotten as failed would
        be refused as busy the next time (measured with systemd 252): so it is to be well first.
        """
        if dead.transient:
            _remove(dead.fragment_path)
        await self._manager.call("ResetFailedUnit", "s", unit)
        await self._manager.call("Reload")

    async def _clear_away(self, attempt: _Attempt) -> None:
        """End what the attempt started and detach what it mounted.

        Only that: in the unit's cgroup also lives the client of a mount that was detached under
        jobs that still use it, and what else is mounted at the path by now is somebody else's.
        """
        path = attempt.request.path
        while True:
            strays = await attempt.unit.alive() - attempt.before
            for process in strays:
                proc.kill(process)
            mounted = is_half_mount(layers(path), attempt.request)
            if mounted:
                await self._umount(path, _CLEARING, lazy=True)
            if not strays and not mounted:
                break
            await asyncio.sleep(_POLL)
        await self._noticed(path)
        await self._release(attempt.unit)

    async def _release(self, unit: MountUnit) -> None:
        await self._manager.tell("UnrefUnit", "s", unit.name)

    async def _umount(self, path: str, timeout: float, *, lazy: bool) -> Unmounted:
        service = f"gluster-ml-umount-{os.getpid()}-{next(self._serial)}.service"
        properties = umount_properties(path, umount_argv(path, lazy=lazy), timeout)
        reading, writing = os.pipe2(os.O_CLOEXEC | os.O_NONBLOCK)
        try:
            async with _within(timeout):
                try:
                    result = await self._manager.start_transient(service, properties, (writing,))
                except asyncio.CancelledError:
                    await self._call_off(service)
                    raise
                words = read_words(reading)
                done = outcome(path, ok=result == "done" and not words, words=words)
                if done is not Unmounted.BUSY:
                    await self._noticed(path)
        finally:
            os.close(reading)
            os.close(writing)
        return done

    async def _call_off(self, service: str) -> None:
        """PID 1 has not begun, or not told: done later, it could hit what is mounted by then."""
        with contextlib.suppress(ManagerError, TimeoutError):
            async with asyncio.timeout(_CALL_OFF):
                await self._manager.tell("StopUnit", "ss", service, "replace")

    async def _noticed(self, path: str) -> None:
        """Return when PID 1 knows too that nothing is mounted, and would mount there anew.

        At once, as a rule. After five changes of the mount table within a second, PID 1 neither
        reads it nor starts mount units until that second is over (measured with systemd 252).
        """
        unit = self._unit(path)
        while not layers(path):
            if (await unit.loaded()).settled:
                return
            await asyncio.sleep(_POLL)


@asynccontextmanager
async def _within(timeout: float) -> AsyncIterator[None]:
    try:
        async with asyncio.timeout(timeout):
            yield
    except TimeoutError as error:
        raise MountFailed(f"systemd did not get it done within {timeout:g} s") from error


def _failed(what: str, unit: str, cause: str) -> MountFailed:
    return MountFailed(f"{what} failed: {cause}", f"journalctl -u '{unit}' has the helper's words")


def _remove(path: str) -> None:
    Path(path).unlink(missing_ok=True)
