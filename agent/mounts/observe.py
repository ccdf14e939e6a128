"""Gathers the facts of one mount, without ever touching it.

The mount table, /proc and pidfds are read here; the probe worker touches the mount. Nothing in
`look` waits: a probe is sent when due, its answer is noted when it comes, and each thing that may
change the verdict calls `wake`.
"""

import asyncio
import zlib
from collections.abc import Callable, Coroutine

from agent.errors import AgentError
from agent.events import Event
from agent.model import Client, ClientState, MountEntry, Space
from agent.mounts.clientwatch import ClientWatch
from agent.mounts.edges import Edges, Settings
from agent.mounts.facts import (
    CONFIRM_DEATH,
    DEFAULT_PING_TIMEOUT,
    RECONFIRM_DEATH,
    Facts,
    ProbeSeen,
    hung_after,
    serves,
)
from agent.mounts.serverwatch import ServerWatch
from agent.mounts.writes import Writes
from agent.protocol import (
    BadMessage,
    ProbeReply,
    ProbeRequest,
    decode_probe_reply,
    encode,
)
from agent.system.child import Child
from agent.system.children import Busy
from agent.system.mountinfo import layers_at

RETRY_WORKER = 1.0
"""Seconds until a probe worker that broke is started anew."""
LOOK_EVERY = 30.0
"""Seconds between two looks at most: a keeper that sleeps longer would count as stuck."""
RELEASE = 1.0
"""Seconds after which a worker that was killed and has not ended is told of."""
_PROBE = "probe"


class Observer:
    """The eyes of one keeper: what it knows of the topmost layer at the mount's path."""

    def __init__(self, settings: Settings, edges: Edges, wake: Callable[[], None]) -> None:
        self.settings = settings
        self.ping_timeout = DEFAULT_PING_TIMEOUT
        self.watch: ClientWatch | None = None
        self._edges = edges
        self._wake = wake
        self._top: MountEntry | None = None
        self._tasks: set[asyncio.Task[None]] = set()
        self._child: Child | None = None
        self._request_id = 0
        self._servers = ServerWatch(edges, wake)
        # Two mounts of one volume must not take each other's file for a leftover.
        path = settings.wanted.path.encode(errors="surrogateescape")
        self._write_name = f"{edges.write_name}-{zlib.crc32(path):08x}"
        self._forget_layer()

    def _forget_layer(self) -> None:
        """Another mount is on top now: what was seen of the last one says nothing about it."""
        self.probe: ProbeSeen | None = None
        self._writes = Writes(self._edges.jitter)
        self.space: Space | None = None
        self._pending_since: float | None = None
        self._blind_since: float | None = None
        self._blind_why = ""
        self._probe_at = 0.0

    def look(self, now: float) -> Facts:
        """The facts as they are known now; starts what is due to learn more."""
        layers = layers_at(self._edges.mount_table(), self.settings.wanted.path)
        top = layers[-1] if layers else None
        if _identity(top) != _identity(self._top):
            self._leave_layer()
            self._top = top
        if top is not None and serves(top, self.settings.wanted):
            if self.watch is None:
                self.watch = ClientWatch(self.settings.key, top, self._edges, self._wake)
            self.watch.look(layers, now)
            if self._probe_due(now):
                self._send_probe(top, now)
            if self._servers.due(now):
                self._start(self._servers.look(self.settings))
        watch = self.watch
        return Facts(
            layers=layers,
            client=watch.client if watch else Client(ClientState.UNKNOWN),
            probe=self.probe,
            write=self._writes.last,
            pending_since=self._pending_since,
            blind_since=self._blind_since,
            blind_why=self._blind_why,
            client_gone_at=watch.gone_at if watch else None,
            client_stopped_at=watch.stopped_at if watch else None,
            client_certain=watch is None or watch.certain,
            identifying=watch is not None and watch.identifying,
            servers_reachable=self._servers.reachable,
            servers_detail=self._servers.detail,
        )

    def next_look(self, now: float) -> float:
        """Monotonic seconds at which something is due that no event announces."""
        due = [now + min(self.settings.interval, LOOK_EVERY)]
        if self._pending_since is not None:
            wanted = self.settings.wanted
            due.append(self._pending_since + wanted.probe_timeout)
            due.append(self._pending_since + hung_after(wanted, self.ping_timeout))
        elif self._top is not None:
            due.append(self._probe_at)
        if self.watch is not None and self.watch.gone_at is not None:
            due.append(now + CONFIRM_DEATH / 2)
        later = [at for at in due if at > now]
        return min(later)

    def discount(self, seconds: float) -> None:
        """The agent itself stood still (stopped, frozen, starved): the mount was not late then."""
        if self._pending_since is not None:
            self._pending_since += seconds

    def forget(self) -> None:
        """The layer was replaced: what was seen of the old one says nothing about the new one.

        The mount table alone doesn't show it, for the kernel gives the numbers of a mount that
        ended to the next one.
        """
        self._leave_layer()
        self._top = None

    def close(self) -> None:
        """Stop looking. Never waits for a worker that hangs."""
        self._leave_layer()
        for task in self._tasks:
            task.cancel()
        if self._child is not None:
            self._child.abandon()

    def _leave_layer(self) -> None:
        if self.watch is not None:
            self.watch.close()
            self.watch = None
        if self._pending_since is not None and self._child is not None:
            self._child.abandon()
            self._child = None
        self._forget_layer()

    def _start(self, work: Coroutine[None, None, None]) -> None:
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    @property
    def _gone_at(self) -> float | None:
        return self.watch.gone_at if self.watch else None

    def _probe_due(self, now: float) -> bool:
        if self._pending_since is not None:
            return False
        asked_at = self.probe.asked_at if self.probe else 0.0
        doubtful = self._gone_at is not None and now - asked_at >= RECONFIRM_DEATH
        unconfirmed = self._gone_at is not None and asked_at < self._gone_at
        return now >= self._probe_at or unconfirmed or doubtful

    def _send_probe(self, top: MountEntry, now: float) -> None:
        write_name = self._write_name if self._write_due(now) else None
        self._request_id += 1
        path = self.settings.wanted.path
        request = ProbeRequest(self._request_id, path, top.device, write_name)
        # By device: a worker that is stuck in a former mount says nothing about this one. As long
        # as it is, the kernel gives that mount's number to no other.
        key = f"{self.settings.key} ({top.major}:{top.minor})"
        try:
            if self._child is None or self._child.exited.done():
                self._child = self._edges.children.spawn(_PROBE, key)
            self._child.send(encode(request))
        except Busy as error:
            # The last worker still sits in an unanswered request on this very mount: that is
            # the answer, until the kernel lets it go.
            self._child = None
            self._pending_since = now
            self._start(self._await_release(key, request.id, str(error)))
            return
        except (AgentError, OSError) as error:
            self._fail(str(error))
            return
        self._pending_since = now
        self._start(self._await_reply(self._child, request, now))

    def _fail(self, why: str) -> None:
        """No probe can be made: that is the agent's trouble, and says nothing about the mount."""
        now = self._edges.monotonic()
        if self._child is not None:
            self._child.abandon()
            self._child = None
        self._pending_since = None
        self._probe_at = now + RETRY_WORKER
        self._blind_since = now if self._blind_since is None else self._blind_since
        self._blind_why = why

    def _write_due(self, now: float) -> bool:
        if self.settings.wanted.read_only or self._gone_at is not None:
            return False
        return self._writes.due(now)

    def _awaits(self, request_id: int) -> bool:
        return self._pending_since is not None and self._request_id == request_id

    async def _await_release(self, key: str, request_id: int, why: str) -> None:
        patience: float | None = RELEASE
        while (child := self._edges.children.get(_PROBE, key)) is not None:
            ended, _ = await asyncio.wait([child.exited], timeout=patience)
            if not ended:
                patience = None
                self._edges.report.emit(Event.WORKER_ABANDONED, why, mount=self.settings.name)
        if self._awaits(request_id):
            self._pending_since = None
            self._probe_at = 0.0
            self._wake()

    async def _await_reply(self, child: Child, request: ProbeRequest, asked_at: float) -> None:
        try:
            reply = decode_probe_reply(await child.next_line())
            while reply.id != request.id:
                reply = decode_probe_reply(await child.next_line())
        except (AgentError, BadMessage) as error:
            child.abandon()
            if child is self._child:
                self._fail(str(error))
                self._wake()
            return
        if child is self._child and self._awaits(request.id):
            self._take(reply, asked_at)

    def _take(self, reply: ProbeReply, asked_at: float) -> None:
        now = self._edges.monotonic()
        self._pending_since = self._blind_since = None
        self._probe_at = now + self.settings.interval * (0.9 + self._edges.jitter() / 5)
        self.probe = ProbeSeen(asked_at, now, reply)
        if reply.write is not None:
            self._writes.took(reply.write, reply.free, now)
        known = reply.statvfs is not None and reply.statvfs.errno == 0
        self.space = Space(reply.total, reply.free) if known else None
        if reply.graph is not None:
            self.ping_timeout = reply.graph.ping_timeout
        gone_at = self._gone_at
        if self.watch and gone_at is not None and asked_at >= gone_at and _works(reply):
            self.watch.disproved()
        self._wake()


def _identity(entry: MountEntry | None) -> tuple[int, tuple[int, int], str] | None:
    return None if entry is None else (entry.mount_id, entry.device, entry.source)


def _works(reply: ProbeReply) -> bool:
    return all(s is not None and s.errno == 0 for s in (reply.statvfs, reply.read))
