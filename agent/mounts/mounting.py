"""Makes a mount: through a server that answers, by the unit there is, and verified."""

import asyncio
from dataclasses import dataclass

from agent.errors import MountFailed
from agent.model.mount import MountEntry, Obstacle, ObstacleKind
from agent.mounts import clientlog
from agent.mounts.clientlog import ClientLog
from agent.mounts.edges import Edges, Settings
from agent.mounts.facts import serves, serves_source
from agent.mounts.options import render
from agent.mounts.servers import by_failures, describe, obstacles, order
from agent.system.mounthost import MountRequest, Unit
from agent.system.mountinfo import layers_at
from agent.system.net import Contact

MOUNT_TIMEOUT = 60.0
"""Seconds. A client waits 10 s for bricks on a silent host (measured), and longer for several."""


class Obstructed(MountFailed):
    """A mount failed for a reason that is known, and of which more can be said than the message."""

    def __init__(self, message: str, obstacles: tuple[Obstacle, ...]) -> None:
        super().__init__(message)
        self.obstacles = obstacles


class NoServer(Obstructed):
    """No volfile server answers: nothing was started."""


@dataclass(frozen=True, slots=True)
class Outlook:
    """What is to be known before a mount is attempted.

    contacts: how each server took a connection, in the order in which they are preferred. unit:
    the administrator's for the path, if there is one.
    """

    contacts: dict[str, Contact]
    unit: Unit | None


class Mounter:
    """Makes one mount, as often as needed."""

    def __init__(self, edges: Edges) -> None:
        self._edges = edges
        self._failed_at: dict[str, float] = {}

    async def look_ahead(self, settings: Settings) -> Outlook:
        """Try the servers and ask for a unit. Raises MountFailed."""
        servers: tuple[str, ...] = ()
        if settings.config is not None:
            now = self._edges.monotonic()
            servers = by_failures(settings.config.servers, self._failed_at, now)
        contacts, unit = await asyncio.gather(
            self._edges.servers.race(servers, settings.port),
            self._edges.host.administrator_unit(settings.wanted.path),
        )
        return Outlook(contacts, unit)

    def require_usable(self, settings: Settings, outlook: Outlook) -> None:
        """Raises NoServer, or MountFailed where the unit mounts another volume there."""
        contacts, unit = outlook.contacts.values(), outlook.unit
        if found := obstacles(contacts):
            raise NoServer(f"no volfile server answers: {describe(contacts)}", found)
        if unit and not serves_source(unit.source, settings.wanted):
            raise MountFailed(
                f"{settings.wanted.path}: {unit.origin} mounts {unit.source} there, not "
                f"{settings.wanted.full_volume}",
                "take the one or the other away",
            )

    async def mount(
        self, settings: Settings, outlook: Outlook, log: ClientLog
    ) -> tuple[MountEntry, str]:
        """What lies on top afterwards, and the options it was mounted with.

        Raises MountFailed with the cause from the client's log, where it has one.
        """
        config = settings.config
        if config is None:
            raise MountFailed(f"{settings.wanted.path} was taken out of the file")
        servers = order(outlook.contacts, outlook.contacts)
        source, options = render(config, servers, log.option)
        since = clientlog.position(log.path)
        request = MountRequest(settings.name, source, settings.wanted.path, options)
        try:
            return await self._attempt(settings, outlook.unit, request), options
        except MountFailed as error:
            self._failed_at[servers[0]] = self._edges.monotonic()
            said = clientlog.tail(log.path, since)
            if not (cause := clientlog.cause(said)):
                raise
            kind = clientlog.obstacle(said)
            found = (Obstacle(kind, servers[0]),) if kind else ()
            if kind is ObstacleKind.NO_VOLUME:
                words = f"{servers[0]} answers but gives no volume {config.volume_name}"
            elif kind is ObstacleKind.NO_BRICK:
                words = f"{servers[0]} answers, but bricks of {config.volume_name} don't run"
            else:
                words = f"{error.message.rstrip('.')}; the client's log says: {cause}"
            raise Obstructed(words, found) from error

    async def _attempt(
        self, settings: Settings, unit: Unit | None, request: MountRequest
    ) -> MountEntry:
        """mount(8) can exit 0 with nothing mounted: believe the mount table only."""
        if unit:
            await self._edges.host.start_unit(unit, request.path, MOUNT_TIMEOUT)
        else:
            await self._edges.host.mount(request, MOUNT_TIMEOUT)
        layers = layers_at(self._edges.mount_table(), request.path)
        if not layers or not serves(layers[-1], settings.wanted):
            raise MountFailed(f"mount reported success, but nothing is mounted at {request.path}")
        return layers[-1]
