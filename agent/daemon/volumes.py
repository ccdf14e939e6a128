"""All that the agent does on volumes: it looks after layouts, old ids, and old checkpoints."""

import asyncio
import socket
from pathlib import Path
from typing import Any

from agent.config.schema import Config
from agent.daemon import layoutkeeper, remapkeeper, retentionkeeper
from agent.daemon.permount import PerMount
from agent.daemon.reporting import Reporting
from agent.errors import AgentError
from agent.events import Event
from agent.identities.bookmark import Bookmarks
from agent.model.status import MountStatus
from agent.mounts.edges import Edges
from agent.system.workmount import WorkMounts


class Volumes:
    """The work of each kind, and the mounts that it is done through."""

    def __init__(
        self, edges: Edges, runtime_dir: Path, state_dir: Path, reporting: Reporting
    ) -> None:
        self._reporting = reporting
        self._mounts = WorkMounts(edges.host, runtime_dir)
        self._layouts = layoutkeeper.layouts(edges, self._mounts, reporting.laid_out)
        bookmarks = Bookmarks(state_dir / "remap")
        means = remapkeeper.Means(
            edges, self._mounts, bookmarks, socket.gethostname(), reporting.remapped
        )
        self._remaps = remapkeeper.remaps(means)
        self._retentions = retentionkeeper.retentions(
            retentionkeeper.Means(
                edges, self._mounts, state_dir, socket.gethostname(), reporting.retained
            )
        )
        self._all: tuple[PerMount[Any], ...] = (self._layouts, self._remaps, self._retentions)

    def apply(self, config: Config, *, enforce: bool) -> None:
        """The configuration in force. enforce: False: nothing is done that may lose something."""
        self._layouts.apply(layoutkeeper.subjects(config))
        self._remaps.apply(remapkeeper.subjects(config, enforce=enforce))
        self._retentions.apply(retentionkeeper.subjects(config, enforce=enforce))

    def judged(self, status: MountStatus) -> None:
        """The newest status of a mount."""
        for each in self._all:
            each.judged(status)

    async def sweep(self) -> None:
        """Take away the mounts that an agent left which was killed at work."""
        try:
            await self._mounts.sweep()
        except (AgentError, OSError) as error:
            self._reporting.emit(Event.FINDING, f"a work mount can't be taken away: {error}")

    async def close(self) -> None:
        """End all work, in bounded time; a later agent finishes it."""
        await asyncio.gather(*(each.close() for each in self._all))
