"""A mount's volume, for the agent's own work on it, by a mount of its own."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from agent.config.schema import MountConfig
from agent.events import Event
from agent.model.mount import MountEntry
from agent.mounts import clientlog
from agent.mounts.edges import Edges
from agent.mounts.options import render
from agent.mounts.servers import order
from agent.system.net import ServerRace
from agent.system.workmount import WorkMounts, fresh_view, true_view


@asynccontextmanager
async def mounted(
    what: str,
    name: str,
    mount: MountConfig,
    servers: ServerRace,
    log_dir: Path,
    work: WorkMounts,
    *,
    exact: bool = True,
) -> AsyncIterator[MountEntry]:
    """The volume of the mount of that name, for as long as the body runs.

    what: the work, for the names of path and log. exact: as it truly is, with no cache in between;
    else as it was a second ago at most. Raises AgentError, OSError.
    """
    contacts = await servers.race(mount.servers, mount.port)
    given = mount.options
    wanted = true_view(mount.volume_name, given) if exact else fresh_view(given)
    view = mount.model_copy(update={"options": wanted})
    log = clientlog.choose(log_dir, f"{name}.{what}", mount)
    source, options = render(view, order(mount.servers, contacts), log.option)
    async with work.mounted(f"{what}-{name}", source, options) as entry:
        yield entry


@dataclass(frozen=True, slots=True)
class Volume:
    """What a mount leads to. name: the mount's, in the file."""

    name: str
    mount: MountConfig
    edges: Edges
    work: WorkMounts

    @asynccontextmanager
    async def mounted(self, what: str, *, exact: bool = True) -> AsyncIterator[MountEntry]:
        """For as long as the body runs, as the function of that name says."""
        edges = self.edges
        around = (edges.servers, edges.log_dir, self.work)
        async with mounted(what, self.name, self.mount, *around, exact=exact) as entry:
            yield entry

    def emit(self, event: Event, message: str, **fields: Any) -> None:
        """One journal entry about it. fields: as of Reporter."""
        text = f"{self.mount.path}: {message}"
        self.edges.report.emit(event, text, mount=self.name, **fields)
