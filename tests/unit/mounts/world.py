"""A host in memory: what the keeper of a mount sees and does, without root and without GlusterFS.

The mount table, the records and the clocks are real ones or plain values; PID 1, the workers and
the servers are played.
"""

import asyncio
import json
import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, cast

from agent.config.schema import MountConfig
from agent.events import Event
from agent.model.mount import Client, ClientState, Holder, MountEntry, ProcessId
from agent.model.status import MountStatus
from agent.mounts.edges import Edges, Settings, from_config
from agent.mounts.records import Records
from agent.system.mounthost import MountRequest, Unit
from agent.system.net import Contact, Outcome
from agent.system.workers import Guard, GuardState, Holders

PATH = "/mnt/a"
ROOT = MountEntry(1, 0, 8, 1, "/", "/", "rw", "ext4", "/dev/sda1", "rw")
OURS = MountEntry(50, 1, 0, 60, "/", PATH, "rw", "fuse.glusterfs", "node1:/vol", "rw")
ALIEN = MountEntry(51, 50, 0, 61, "/", PATH, "rw", "tmpfs", "tmpfs", "rw")


def config(**keys: Any) -> MountConfig:
    """A mount's part of the file."""
    return MountConfig(**{"volume": "vol", "servers": ["node1"], "path": PATH, **keys})


def settings(name: str = "a", **keys: Any) -> Settings:
    """The same as the keeper gets it."""
    return from_config(name, config(**keys))


class Report:
    """Hears the news."""

    def __init__(self) -> None:
        self.events: list[tuple[Event, str]] = []
        self.status: dict[str, MountStatus] = {}

    def emit(
        self, event: Event, message: str, *, error: BaseException | None = None, **_: object
    ) -> None:
        self.events.append((event, message + (f": {error!r}" if error else "")))

    def changed(self, status: MountStatus) -> None:
        self.status[status.name] = status

    def gone(self, name: str) -> None:
        self.status.pop(name, None)

    def told(self, event: Event) -> list[str]:
        return [message for what, message in self.events if what is event]


@dataclass
class World:
    """state: what lies at PATH, bottom to top. The hooks run before what they are named for."""

    directory: Path
    layers: list[MountEntry] = field(default_factory=list)
    client: Client = field(default_factory=lambda: Client(ClientState.UNKNOWN))
    done: list[str] = field(default_factory=list)
    refuse: Exception | None = None
    busy: bool = False
    before: dict[str, Callable[[], None]] = field(default_factory=dict)
    answer: dict[str, Any] = field(default_factory=dict)
    spawn_error: Exception | None = None
    held_by: list[Holder] = field(default_factory=list)
    later: float = 0.0
    strays: int = 0
    asked: list[MountRequest] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.report = Report()
        self.records = Records(self.directory)
        self.spawned: list[Probe] = []

    def edges(self) -> Edges:
        return Edges(
            host=self,
            mount_table=self.table,
            children=cast("Any", self),
            workers=cast("Any", self),
            servers=cast("Any", self),
            records=self.records,
            report=self.report,
            monotonic=time.monotonic,
            wall=time.time,
            jitter=lambda: 0.0,
            write_name="host-1",
            log_dir=self.directory / "logs",
            user=0,
        )

    def table(self) -> tuple[MountEntry, ...]:
        below = ROOT.mount_id
        entries = [ROOT]
        for entry in self.layers:
            entries.append(replace(entry, parent_id=below))
            below = entry.mount_id
        return tuple(entries)

    def _do(self, what: str) -> None:
        self.done.append(what)
        self.before.get(what, lambda: None)()
        if self.refuse is not None:
            raise self.refuse

    # PID 1

    async def administrator_unit(self, path: str) -> Unit | None:
        return None

    async def mount(self, request: MountRequest, timeout: float) -> None:
        self.asked.append(request)
        self._do("mount")
        self.layers.append(replace(OURS, source=request.source))

    async def start_unit(self, unit: Unit, path: str, timeout: float) -> None:
        raise NotImplementedError

    async def unmount(self, path: str, timeout: float) -> bool:
        self._do("unmount")
        if not self.busy:
            self.layers.pop()
        return not self.busy

    async def guard_covered(self, path: str, timeout: float, *, immutable: bool) -> None:
        """The flag is no concern of these tests."""

    async def detach(self, path: str, timeout: float) -> None:
        self._do("detach")
        self.layers.pop()

    async def client_pids(self, path: str) -> tuple[int, ...]:
        return ()

    async def close(self) -> None:
        pass

    # workers

    async def find_client(self, *_: object) -> Client:
        self.before.get("find_client", lambda: None)()
        return self.client

    async def holders(self, *_: object) -> Holders:
        self.before.get("holders", lambda: None)()
        return Holders(tuple(self.held_by), complete=True)

    async def guard(
        self,
        mount: str,
        path: str,
        *,
        immutable: bool,
        deadline: float,
    ) -> Guard:
        self._do("guard" if immutable else "unguard")
        return Guard(GuardState.SET if immutable else GuardState.CLEAR, strays=self.strays)

    async def race(self, servers: tuple[str, ...], port: int) -> dict[str, Contact]:
        self.before.get("race", lambda: None)()
        return {server: Contact(server, Outcome.ANSWERED, 0.001) for server in servers}

    # probes

    def spawn(self, kind: str, mount: str) -> "Probe":
        if self.spawn_error is not None:
            raise self.spawn_error
        self.spawned.append(Probe(self, kind, mount))
        return self.spawned[-1]

    def get(self, kind: str, mount: str) -> "Probe | None":
        return next(
            (
                probe
                for probe in self.spawned
                if (probe.kind, probe.mount) == (kind, mount) and not probe.exited.done()
            ),
            None,
        )


class Probe:
    """A probe worker that answers at once with World.answer, or not at all where that is empty."""

    def __init__(self, world: World, kind: str, mount: str) -> None:
        self.kind, self.mount = kind, mount
        self.process = ProcessId(0, 0)
        self.abandoned = False
        self.exited: asyncio.Future[int] = asyncio.get_running_loop().create_future()
        self._world = world
        self._lines: asyncio.Queue[bytes] = asyncio.Queue()

    def send(self, line: bytes) -> None:
        if self._world.answer:
            reply = {**self._world.answer, "id": json.loads(line)["id"]}
            self._lines.put_nowait(json.dumps(reply).encode())

    async def next_line(self) -> bytes:
        return await self._lines.get()

    def abandon(self) -> None:
        """Stays, as if stuck in the kernel."""
        self.abandoned = True


FINE: dict[str, Any] = {
    "on_device": True,
    "statvfs": {"name": "statvfs", "errno": 0},
    "read": {"name": "list the root", "errno": 0},
    "write": None,
    "total": 10 << 30,
    "free": 5 << 30,
    "graph": None,
    "seconds": 0.01,
}


async def until(true: Callable[[], object], what: str, timeout: float = 20.0) -> None:
    """Return once it is so."""
    end = time.monotonic() + timeout
    while not true():
        assert time.monotonic() < end, f"not within {timeout:g} s: {what}"
        await asyncio.sleep(0.005)
