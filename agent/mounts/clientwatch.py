"""Watches the glusterfs client process behind one mount: which it is, whether it lives."""

import asyncio
from collections.abc import Callable
from dataclasses import replace

from agent.errors import AgentError
from agent.model.mount import Client, ClientState, MountEntry, ProcessId
from agent.mounts.edges import Edges
from agent.system.mountinfo import GLUSTER_FSTYPE
from agent.system.proc import ProcessWatch, read_stat

IDENTIFY_DEADLINE = 10.0
"""Seconds that the search for the client may take."""
IDENTIFY_AGAIN = 60.0
"""Seconds from one search without a result to the next."""


class ClientWatch:
    """The client of one layer; a new layer gets a new watch.

    gone_at, stopped_at: monotonic seconds at which its end, or its being stopped, was seen.
    certain: it was found by a search, or seen alive; what only a record says may be out of date.
    """

    def __init__(
        self, name: str, layer: MountEntry, edges: Edges, wake: Callable[[], None]
    ) -> None:
        self.client = Client(ClientState.UNKNOWN)
        self.gone_at: float | None = None
        self.stopped_at: float | None = None
        self.certain = False
        self._name = name
        self._layer = layer
        self._edges = edges
        self._wake = wake
        self._watch: ProcessWatch | None = None
        self._search: asyncio.Task[None] | None = None
        self._search_at = 0.0

    @property
    def identifying(self) -> bool:
        """Whether the search for the process has not ended yet."""
        return self._search is not None

    def look(self, layers: tuple[MountEntry, ...], now: float) -> None:
        """Start the search if the process isn't known; see whether it is stopped."""
        if self.client.process is None and self._search is None and now >= self._search_at:
            self._search_at = now + IDENTIFY_AGAIN
            # By number: a remount by hand changes the options of the entry.
            gluster = [entry.mount_id for entry in layers if entry.fstype == GLUSTER_FSTYPE]
            position = (gluster.index(self._layer.mount_id), len(gluster))
            self._search = asyncio.get_running_loop().create_task(self._identify(position))
        if self.client.process is not None and self.gone_at is None:
            stat = read_stat(self.client.process.pid)
            stopped = stat is not None and stat.state in "Tt"
            if not stopped:
                self.stopped_at = None
            elif self.stopped_at is None:
                self.stopped_at = now

    def expect(self, process: ProcessId) -> None:
        """A record says which process serves this layer: no search is needed."""
        if self._search is not None:
            self._search.cancel()
            self._search = None
        if self.client.process != process:
            self._take(Client(ClientState.ALIVE, process))

    def disproved(self) -> None:
        """The mount works without the process that was taken for its client: search again."""
        self.client = Client(ClientState.UNKNOWN)
        self.gone_at = None
        self._drop_watch()

    def close(self) -> None:
        """Stop watching."""
        self._drop_watch()
        if self._search is not None:
            self._search.cancel()

    def _drop_watch(self) -> None:
        if self._watch is not None:
            self._watch.close()
            self._watch = None

    async def _identify(self, position: tuple[int, int]) -> None:
        client = Client(ClientState.UNKNOWN)
        try:
            pids = await self._edges.host.client_pids(self._layer.path)
            client = await self._edges.workers.find_client(
                self._name, self._layer, pids, position, IDENTIFY_DEADLINE
            )
        except (AgentError, OSError):
            pass  # it stays unknown, which the findings say; the next search follows
        finally:
            self._search = None
        self._take(client)
        self._wake()

    def _take(self, client: Client) -> None:
        self._drop_watch()
        self.client = client
        if client.process is not None:
            try:
                self._watch = ProcessWatch(client.process, self._exited)
                self.certain = self._watch.alive
            except OSError:  # no descriptor to spare: not known, rather than not watched
                self.client = Client(ClientState.UNKNOWN)
        elif client.state is ClientState.GONE:
            self.certain = True
            self.gone_at = self._edges.monotonic()

    def _exited(self) -> None:
        self.client = replace(self.client, state=ClientState.GONE)
        self.stopped_at = None
        self.gone_at = self._edges.monotonic()
        self._wake()
