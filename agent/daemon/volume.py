"""A mount's volume, for the agent's own work on it: as it truly is, by a mount of its own."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

from agent.config.schema import MountConfig
from agent.daemon.workview import work_view
from agent.events import Event
from agent.model import MountEntry
from agent.mounts.edges import Edges
from agent.system.workmount import WorkMounts


@dataclass(frozen=True, slots=True)
class Volume:
    """What a mount leads to. name: the mount's, in the file."""

    name: str
    mount: MountConfig
    edges: Edges
    work: WorkMounts

    @asynccontextmanager
    async def mounted(self, what: str) -> AsyncIterator[MountEntry]:
        """For as long as the body runs. what: the work, for the names of path and log.

        Raises AgentError, OSError.
        """
        async with work_view(self.edges, self.work, what, self.name, self.mount) as entry:
            yield entry

    def emit(self, event: Event, message: str, **fields: Any) -> None:
        """One journal entry about it. fields: as of Reporter."""
        text = f"{self.mount.path}: {message}"
        self.edges.report.emit(event, text, mount=self.name, **fields)
