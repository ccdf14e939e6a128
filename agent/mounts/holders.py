"""Names the processes that still hold mounts which were replaced, until none is left.

They see errors or the old client until they are restarted, and nobody tells them but this. Also
names who keeps a mount from being unmounted.
"""

import asyncio
import contextlib

from agent.errors import AgentError
from agent.events import Event
from agent.model.mount import Holder
from agent.mounts.chronicle import Chronicle
from agent.mounts.edges import Edges
from agent.mounts.facts import Facts
from agent.system.workers import Holders

DEADLINE = 20.0
"""Seconds for one search; it may wait for processes that are stuck themselves."""
EVERY = 60.0
"""Seconds between searches while some are left."""
AGAIN = 5.0
"""Seconds from a search that could not be made to the next; the last one may not have ended yet."""
MOST = 8
"""Replaced mounts that are followed at once: each costs a look at all processes a minute."""

Device = tuple[int, int]
"""Major and minor, as in mountinfo."""


class HolderSearch:
    """Follows the holders of each mount that was replaced, of the MOST last ones.

    users: who was seen to use the present mount when it was to be unmounted.
    """

    def __init__(self, edges: Edges, chronicle: Chronicle) -> None:
        self.users: tuple[Holder, ...] = ()
        self._edges = edges
        self._chronicle = chronicle
        self._found: dict[Device, tuple[Holder, ...]] = {}
        self._tasks: dict[Device, asyncio.Task[None]] = {}
        self._look: asyncio.Task[None] | None = None
        # Two workers of one kind on one mount are not to be had.
        self._turn = asyncio.Lock()

    @property
    def found(self) -> tuple[Holder, ...]:
        """Who was seen to hold any of the replaced ones, each process once."""
        rows = {holder.pid: holder for found in self._found.values() for holder in found}
        return tuple(rows.values())

    def follow(self, name: str, facts: Facts) -> None:
        """Search for who holds the topmost layer of these facts, which has been detached."""
        top = facts.top
        if top is None:
            return
        self._drop(top.device)
        for device in [device for device, task in self._tasks.items() if task.done()]:
            self._drop(device)
        while len(self._tasks) >= MOST:
            self._drop(next(iter(self._tasks)))
        self._tasks[top.device] = asyncio.get_running_loop().create_task(
            self._follow(name, top.path, top.device)
        )

    def name_users(self, name: str, facts: Facts) -> None:
        """Look once for who uses the topmost layer of these facts; whether any does, EBUSY says."""
        if facts.top is not None and (self._look is None or self._look.done()):
            self._look = asyncio.get_running_loop().create_task(
                self._name_users(name, facts.top.device)
            )

    def close(self) -> None:
        """Search no more."""
        if self._look is not None:
            self._look.cancel()
        for device in list(self._tasks):
            self._drop(device)

    def _drop(self, device: Device) -> None:
        self._found.pop(device, None)
        task = self._tasks.pop(device, None)
        if task is not None:
            task.cancel()

    async def _search(self, name: str, device: Device) -> Holders:
        async with self._turn:
            return await self._edges.workers.holders(name, device, DEADLINE)

    async def _name_users(self, name: str, device: Device) -> None:
        with contextlib.suppress(AgentError, OSError):
            search = await self._search(name, device)
            # A namespace that merely has the mount keeps nobody from unmounting it.
            self.users = tuple(h for h in search.found if h.how != "mount namespace")

    async def _follow(self, name: str, path: str, device: Device) -> None:
        told: set[int] = set()
        trouble = ""
        while not self._taken_again(device):
            try:
                search = await self._search(name, device)
            except (AgentError, OSError) as error:
                if str(error) != trouble:
                    trouble = str(error)
                    self._chronicle.tell(
                        Event.FINDING, f"who still holds the replaced mount is not known: {error}"
                    )
                await asyncio.sleep(AGAIN)
                continue
            if self._taken_again(device):
                break  # while it searched: what it found may be the new mount's
            self._found[device] = search.found
            self._tell_new(search.found, told, path)
            if not search.found and search.complete:
                return
            await asyncio.sleep(EVERY)
        self._found.pop(device, None)

    def _tell_new(self, found: tuple[Holder, ...], told: set[int], path: str) -> None:
        for holder in found:
            if holder.pid not in told:
                told.add(holder.pid)
                self._chronicle.tell(
                    Event.HOLDERS, _sentence(holder, path), pid=holder.pid, comm=holder.comm
                )

    def _taken_again(self, device: Device) -> bool:
        """The kernel gives a device number to another mount only when nobody holds the old one."""
        return any(entry.device == device for entry in self._edges.mount_table())


def _sentence(holder: Holder, path: str) -> str:
    where = f", {holder.where}" if holder.where else ""
    return (
        f"process {holder.pid} ({holder.comm}, uid {holder.uid}{where}) still holds the replaced "
        f"mount of {path} ({holder.how}); restart it to bring it to the new one"
    )
