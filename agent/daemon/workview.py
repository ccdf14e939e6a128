"""A mount's volume for the agent's own work on it: a mount of its own."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from agent.config.schema import MountConfig
from agent.model import MountEntry
from agent.mounts import clientlog
from agent.mounts.edges import Edges
from agent.mounts.options import render
from agent.mounts.servers import order
from agent.system.workmount import WorkMounts, fresh_view, true_view


@asynccontextmanager
async def work_view(
    edges: Edges,
    work: WorkMounts,
    what: str,
    name: str,
    mount: MountConfig,
    *,
    exact: bool = True,
) -> AsyncIterator[MountEntry]:
    """what: the work, for the names of path and log; name: the mount's.

    exact: as the volume truly is, with no cache in between; else as it was a second ago at most.
    Raises AgentError, OSError.
    """
    contacts = await edges.servers.race(mount.servers, mount.port)
    given = mount.options
    wanted = true_view(mount.volume_name, given) if exact else fresh_view(given)
    view = mount.model_copy(update={"options": wanted})
    log = clientlog.choose(edges.log_dir, f"{name}.{what}", mount)
    source, options = render(view, order(mount.servers, contacts), log.option)
    async with work.mounted(f"{what}-{name}", source, options) as entry:
        yield entry
