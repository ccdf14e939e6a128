"""Mounts of the agent's own: for work on a volume that must see it as it is, and may hang.

They lie below the runtime directory where only root gets, with caches of their own or none, and are
there only while somebody works. No job is on them, so one that doesn't answer is aborted without
regard. Made and unmade as all mounts are, by the MountHost.
"""

import asyncio
import contextlib
import os
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path

from agent.config.options_table import OptionValue
from agent.errors import MountFailed
from agent.model.mount import MountEntry
from agent.system import fuse
from agent.system.layers import layers
from agent.system.mounthost import MountHost, MountRequest
from agent.system.mountinfo import GLUSTER_FSTYPE
from agent.system.mounttable import read

_NOT_AT_WORK = frozenset({"dump-fuse", "enable-ino32"})
"""The first has one client write what another does; with the second an inode has another number
than on other hosts."""
_TIMEOUTS = ("entry-timeout", "attribute-timeout", "negative-timeout")

_MOUNTING = 60.0
_UNMOUNTING = 10.0
_NAME = "work"


def true_view(volume: str, options: Mapping[str, OptionValue]) -> dict[str, OptionValue]:
    """The options of a work mount, made of those of the jobs' mount.

    No cache may answer: not the kernel's, and not the client's own, which does for a second
    (docs/gluster-facts.md). The helper takes one xlator-option only: where the file has one, it is
    needed to reach the servers, and that second stays.
    """
    kept = _at_work(options)
    uncached = {"xlator-option": f"{volume}-md-cache.md-cache-timeout=0"}
    return {**uncached, **kept, **dict.fromkeys(_TIMEOUTS, 0)}


def fresh_view(options: Mapping[str, OptionValue]) -> dict[str, OptionValue]:
    """As true_view, but what was so a second ago may be told.

    For work that looks at all there is, and changes what it looked at by its inode: with no cache
    at all each look at a file would be several requests to the servers.
    """
    return {**_at_work(options), **dict.fromkeys(_TIMEOUTS, 1)}


def _at_work(options: Mapping[str, OptionValue]) -> dict[str, OptionValue]:
    return {name: value for name, value in options.items() if name not in _NOT_AT_WORK}


class WorkMounts:
    """The work mounts of one agent, below its runtime directory."""

    def __init__(self, host: MountHost, runtime_dir: Path) -> None:
        self._host = host
        self._directory = runtime_dir / _NAME
        self._locks: dict[str, asyncio.Lock] = {}

    async def sweep(self) -> None:
        """Take away what an agent that was killed left. Raises MountFailed."""
        below = f"{self._directory}/"
        left = {entry.path for entry in read() if entry.path.startswith(below)}
        for path in left:
            async with self._lock(path.removeprefix(below)):
                await self._clear(path)

    @asynccontextmanager
    async def mounted(self, name: str, source: str, options: str) -> AsyncIterator[MountEntry]:
        """The volume, mounted for as long as the body runs; one at a time of a name.

        name: of the work and the mount, a file name. options: those of a view, as after `-o`.
        Raises MountFailed, OSError.
        """
        path = str(self._directory / name)
        async with self._lock(name):
            self._directory.mkdir(mode=0o700, exist_ok=True)
            self._directory.chmod(0o700)
            await self._clear(path)
            os.mkdir(path, 0o700)
            try:
                yield await self._mount(MountRequest(name, source, path, options))
            finally:
                await self._clear(path)

    def _lock(self, name: str) -> asyncio.Lock:
        return self._locks.setdefault(name, asyncio.Lock())

    async def _mount(self, request: MountRequest) -> MountEntry:
        await self._host.mount(request, _MOUNTING)
        found = [(e.fstype, e.source) for e in layers(request.path)]
        if found != [(GLUSTER_FSTYPE, request.source)]:
            raise MountFailed(f"mount reported success, but {request.path} has {found}")
        return layers(request.path)[0]

    async def _clear(self, path: str) -> None:
        """Unmount, whatever it takes, and remove the directory."""
        while found := layers(path):
            done = False
            with contextlib.suppress(MountFailed):
                done = await self._host.unmount(path, _UNMOUNTING)
            if not done:  # a worker that was given up stands in it
                fuse.abort(found[-1].minor)
                await self._host.detach(path, _UNMOUNTING)
        with contextlib.suppress(FileNotFoundError):
            os.rmdir(path)
