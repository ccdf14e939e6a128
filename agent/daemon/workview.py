"""A mount's volume as it truly is, for the agent's own work on it: a mount of its own."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Protocol

from agent.config.schema import MountConfig
from agent.model import MountEntry
from agent.mounts import clientlog
from agent.mounts.options import render
from agent.mounts.servers import order
from agent.system.net import ServerRace
from agent.system.workmount import WorkMounts, true_view


class Edges(Protocol):
    """Those of mounts/edges.py that a mount for work needs."""

    @property
    def servers(self) -> ServerRace:
        """Tells which servers answer."""

    @property
    def log_dir(self) -> Path:
        """Where clients log."""


@asynccontextmanager
async def work_view(
    edges: Edges, work: WorkMounts, what: str, name: str, mount: MountConfig
) -> AsyncIterator[MountEntry]:
    """what: the work, for the names of path and log; name: the mount's.

    Raises AgentError, OSError.
    """
    contacts = await edges.servers.race(mount.servers, mount.port)
    view = mount.model_copy(update={"options": true_view(mount.volume_name, mount.options)})
    log = clientlog.choose(edges.log_dir, f"{name}.{what}", mount)
    source, options = render(view, order(mount.servers, contacts), log.option)
    async with work.mounted(f"{what}-{name}", source, options) as entry:
        yield entry
