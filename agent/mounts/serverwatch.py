"""Whether any volfile server of a mount can be reached, looked at from time to time.

A live mount does without them, but a client could not reconnect its graph or be replaced.
"""

from collections.abc import Callable

from agent.model.mount import Obstacle
from agent.mounts.edges import Edges, Settings
from agent.mounts.servers import describe, obstacles

EVERY = 15.0
"""Seconds between looks, and up to a quarter more by chance."""
AGAIN = 3.0
"""Seconds to the second look that must confirm that none is reachable."""


class ServerWatch:
    """reachable: None until it is known; detail: how each server took the last look.

    obstacles: what is wrong with each, while none is reachable.
    """

    def __init__(self, edges: Edges, wake: Callable[[], None]) -> None:
        self.reachable: bool | None = None
        self.detail = ""
        self.obstacles: tuple[Obstacle, ...] = ()
        self._edges = edges
        self._wake = wake
        self._failed = False
        self._next_at = 0.0

    def due(self, now: float) -> bool:
        """Whether it is time for `look`; then it is not so again for a while."""
        if now < self._next_at:
            return False
        self._next_at = now + EVERY * (1 + self._edges.jitter() / 4)
        return True

    async def look(self, settings: Settings) -> None:
        """Try the servers. One lost packet does not change what is said."""
        if settings.config is None:
            return
        contacts = await self._edges.servers.race(settings.config.servers, settings.port)
        found = obstacles(contacts.values())
        reachable = not found
        if not reachable and not self._failed:
            self._failed = True
            self._next_at = self._edges.monotonic() + AGAIN
            return
        self._failed = not reachable
        changed = (self.reachable, self.obstacles) != (reachable, found)
        self.reachable, self.detail = reachable, describe(contacts.values())
        self.obstacles = found
        if changed:
            self._wake()
