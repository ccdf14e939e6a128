"""Mounts made by mount(8) as a child of the agent: for hosts whose PID 1 isn't systemd."""

import asyncio
import os
import tempfile
from collections.abc import Sequence
from pathlib import Path

from agent.errors import MountFailed
from agent.model.mount import ProcessId
from agent.system import proc
from agent.system.command import run
from agent.system.layers import is_half_mount, layers, require_bare
from agent.system.mounthost import MountRequest, Unit
from agent.system.umount import Unmounted, last_line, outcome, umount_argv

_CLEARING = 5.0
"""Seconds to clear away what a failed mount left."""
_POLL = 0.02
_QUIET = 3
"""Looks in a row that must find nothing: a client in the middle of a fork can escape one."""


class DirectHost:
    """MountHost by mount(8) and umount(8)."""

    async def administrator_unit(self, path: str) -> Unit | None:  # noqa: ARG002
        """None: there are no units here."""
        return None

    async def mount(self, request: MountRequest, timeout: float) -> None:
        """As MountHost says; clearing up after a failure may take 5 s beyond the timeout."""
        path = request.path
        require_bare(path)
        before = _clients(path)
        try:
            cause = await _attempt(request, timeout)
        except asyncio.CancelledError:
            _kill(_clients(path) - before)
            raise
        if cause is None:
            return
        failure = MountFailed(f"{path}: mounting {request.source} failed: {cause}")
        try:
            async with asyncio.timeout(_CLEARING):
                await self._clear_away(request, before)
        except TimeoutError:
            raise MountFailed(f"{failure.message}, and what it left does not go away") from failure
        raise failure

    async def start_unit(self, unit: Unit, path: str, timeout: float) -> None:  # noqa: ARG002
        """Raises MountFailed: there are no units here."""
        raise MountFailed(f"{path}: {unit.name} can't be started without systemd")

    async def unmount(self, path: str, timeout: float) -> bool:
        """As MountHost says, and it doesn't hang on a frozen mount either."""
        return await _umount(path, timeout, lazy=False) is not Unmounted.BUSY

    async def detach(self, path: str, timeout: float) -> None:
        """As MountHost says."""
        await _umount(path, timeout, lazy=True)

    async def guard_covered(self, path: str, timeout: float, *, immutable: bool) -> None:
        """As MountHost says, by a bind mount of the parent that lasts for a moment."""
        parent, name = os.path.split(path)
        place = tempfile.mkdtemp(prefix="gluster-ml-", dir="/run")
        try:
            await _succeed(("mount", "--bind", "--", parent, place), timeout)
            flag = "+i" if immutable else "-i"
            await _succeed(("chattr", flag, "--", f"{place}/{name}"), timeout)
        finally:
            await _umount(place, timeout, lazy=True)
            os.rmdir(place)

    async def client_pids(self, path: str) -> tuple[int, ...]:  # noqa: ARG002
        """Nothing: no client has a unit here."""
        return ()

    async def close(self) -> None:
        """Nothing to let go of."""

    async def _clear_away(self, request: MountRequest, before: frozenset[ProcessId]) -> None:
        """End the clients that came up since, and detach the half mount they left."""
        path = request.path
        quiet = 0
        while quiet < _QUIET:
            strays = _clients(path) - before
            _kill(strays)
            mounted = is_half_mount(layers(path), request)
            if mounted:
                await _umount(path, _CLEARING, lazy=True)
            quiet = 0 if strays or mounted else quiet + 1
            await asyncio.sleep(_POLL)


async def _attempt(request: MountRequest, timeout: float) -> str | None:
    """Why it failed; None: something is mounted."""
    options = ("-o", request.options) if request.options else ()
    argv = ("mount", "-t", "glusterfs", *options, "--", request.source, request.path)
    try:
        ended = await run(argv, timeout)
    except TimeoutError:
        return f"nothing was mounted within {timeout:g} s"
    except OSError as error:
        return f"mount can't be run: {error.strerror}"
    if ended.status == 0:
        return None if layers(request.path) else "mount exited with status 0, nothing was mounted"
    words = last_line(ended.words)
    return f"mount exited with status {ended.status}" + (f": {words}" if words else "")


async def _succeed(argv: Sequence[str], timeout: float) -> None:
    try:
        ended = await run(argv, timeout)
    except TimeoutError as error:
        raise MountFailed(f"{argv[0]} did not end within {timeout:g} s") from error
    except OSError as error:
        raise MountFailed(f"{argv[0]} can't be run: {error.strerror}") from error
    if ended.status != 0:
        raise MountFailed(f"{argv[0]} failed: {last_line(ended.words)}")


async def _umount(path: str, timeout: float, *, lazy: bool) -> Unmounted:
    try:
        ended = await run(umount_argv(path, lazy=lazy), timeout)
    except TimeoutError as error:
        raise MountFailed(f"{path}: umount did not end within {timeout:g} s") from error
    except OSError as error:
        raise MountFailed(f"{path}: umount can't be run: {error.strerror}") from error
    return outcome(path, ok=ended.status == 0, words=ended.words)


def _clients(path: str) -> frozenset[ProcessId]:
    """Root's glusterfs processes that serve this path or are about to.

    mount.glusterfs puts the mount point last among the arguments. Only root's own glusterfs
    processes are asked for theirs: /proc/PID/cmdline of others can block.
    """
    pids = [int(entry.name) for entry in os.scandir("/proc") if entry.name.isdigit()]
    return frozenset(process for pid in pids if (process := _client(pid, path)) is not None)


def _client(pid: int, path: str) -> ProcessId | None:
    stat = proc.read_stat(pid)
    if stat is None or stat.comm != "glusterfs" or stat.ended:
        return None
    folder = Path(f"/proc/{pid}")
    try:
        if folder.stat().st_uid != 0:
            return None
        arguments = (folder / "cmdline").read_bytes().rstrip(b"\0").split(b"\0")
    except OSError:
        return None
    return stat.process if arguments[-1] == os.fsencode(path) else None


def _kill(processes: frozenset[ProcessId]) -> None:
    for process in processes:
        proc.kill(process)
