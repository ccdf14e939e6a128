"""Asks the probe worker of one mount, one request at a time, and keeps what came of it.

Nothing here waits: a probe is sent when due, and its answer is noted when it comes.
"""

import asyncio
import zlib
from collections.abc import Callable, Coroutine

from agent.errors import AgentError
from agent.events import Event
from agent.model.mount import MountEntry, Space
from agent.mounts.edges import Edges, Settings
from agent.mounts.facts import RECONFIRM_DEATH, ProbeSeen
from agent.mounts.writes import Writes
from agent.protocol import (
    BadMessage,
    ProbeReply,
    ProbeRequest,
    Step,
    decode_probe_reply,
    encode,
)
from agent.system.child import Child
from agent.system.children import Busy

RETRY_WORKER = 1.0
"""Seconds until a probe worker that broke is started anew."""
RELEASE = 1.0
"""Seconds after which a worker that was killed and has not ended is told of."""
_PROBE = "probe"


class Prober:
    """What the topmost layer answers. Times are monotonic seconds.

    seen: the newest answer; space: by that answer, None where it is not known; pending_since: when
    the request was sent that is not answered yet; blind_since, blind_why: since when, and why, no
    request can be made; next_at: when the next one is due.
    """

    def __init__(
        self,
        settings: Settings,
        edges: Edges,
        start: Callable[[Coroutine[None, None, None]], None],
        answered: Callable[[], None],
    ) -> None:
        """start: runs a task until the observer is closed; answered: called after each change."""
        self._settings = settings
        self._edges = edges
        self._start = start
        self._answered = answered
        self._child: Child | None = None
        self._request_id = 0
        # Two mounts of one volume must not take each other's file for a leftover.
        path = settings.wanted.path.encode(errors="surrogateescape")
        self._write_name = f"{edges.write_name}-{zlib.crc32(path):08x}"
        self._forget_answers()

    def _forget_answers(self) -> None:
        self.seen: ProbeSeen | None = None
        self.space: Space | None = None
        self.pending_since: float | None = None
        self.blind_since: float | None = None
        self.blind_why = ""
        self.next_at = 0.0
        self._writes = Writes(self._edges.jitter)

    @property
    def write(self) -> Step | None:
        """How the newest write went, which may be older than the newest answer."""
        return self._writes.last

    def look(self, settings: Settings, top: MountEntry, gone_at: float | None, now: float) -> None:
        """Send a probe if one is due. gone_at: when the end of the mount's client was seen."""
        self._settings = settings
        if self._due(gone_at, now):
            write = gone_at is None and not settings.wanted.read_only and self._writes.due(now)
            self._send(top, self._write_name if write else None, now)

    def discount(self, seconds: float) -> None:
        """The agent itself stood still: the answer was not late then."""
        if self.pending_since is not None:
            self.pending_since += seconds

    def forget(self) -> None:
        """Another mount is on top now: what was seen of the last one says nothing about it."""
        if self.pending_since is not None:
            self._abandon()
        self._forget_answers()

    def close(self) -> None:
        """End the worker. Never waits for one that hangs."""
        self._abandon()

    def _abandon(self) -> None:
        if self._child is not None:
            self._child.abandon()
            self._child = None

    def _due(self, gone_at: float | None, now: float) -> bool:
        if self.pending_since is not None:
            return False
        if now >= self.next_at:
            return True
        if gone_at is None:
            return False
        asked_at = self.seen.asked_at if self.seen else 0.0
        return asked_at < gone_at or now - asked_at >= RECONFIRM_DEATH

    def _send(self, top: MountEntry, write_name: str | None, now: float) -> None:
        self._request_id += 1
        path = self._settings.wanted.path
        request = ProbeRequest(self._request_id, path, top.device, write_name)
        # By device: a worker that is stuck in a former mount says nothing about this one. As long
        # as it is, the kernel gives that mount's number to no other.
        key = f"{self._settings.key} ({top.major}:{top.minor})"
        try:
            if self._child is None or self._child.exited.done():
                self._child = self._edges.children.spawn(_PROBE, key)
            self._child.send(encode(request))
        except Busy as error:
            # The last worker still sits in an unanswered request on this very mount: that is
            # the answer, until the kernel lets it go.
            self._child = None
            self.pending_since = now
            self._start(self._await_release(key, request.id, str(error)))
            return
        except (AgentError, OSError) as error:
            self._fail(str(error))
            return
        self.pending_since = now
        self._start(self._await_reply(self._child, request, now))

    def _fail(self, why: str) -> None:
        """No probe can be made: that is the agent's trouble, and says nothing about the mount."""
        now = self._edges.monotonic()
        self._abandon()
        self.pending_since = None
        self.next_at = now + RETRY_WORKER
        self.blind_since = now if self.blind_since is None else self.blind_since
        self.blind_why = why

    def _awaits(self, request_id: int) -> bool:
        return self.pending_since is not None and self._request_id == request_id

    async def _await_release(self, key: str, request_id: int, why: str) -> None:
        patience: float | None = RELEASE
        while (child := self._edges.children.get(_PROBE, key)) is not None:
            ended, _ = await asyncio.wait([child.exited], timeout=patience)
            if not ended:
                patience = None
                self._edges.report.emit(Event.WORKER_ABANDONED, why, mount=self._settings.name)
        if self._awaits(request_id):
            self.pending_since = None
            self.next_at = 0.0
            self._answered()

    async def _await_reply(self, child: Child, request: ProbeRequest, asked_at: float) -> None:
        try:
            reply = decode_probe_reply(await child.next_line())
            while reply.id != request.id:
                reply = decode_probe_reply(await child.next_line())
        except (AgentError, BadMessage) as error:
            child.abandon()
            if child is self._child:
                self._fail(str(error))
                self._answered()
            return
        if child is self._child and self._awaits(request.id):
            self._take(reply, asked_at)

    def _take(self, reply: ProbeReply, asked_at: float) -> None:
        now = self._edges.monotonic()
        self.pending_since = self.blind_since = None
        self.next_at = now + self._settings.interval * (0.9 + self._edges.jitter() / 5)
        self.seen = ProbeSeen(asked_at, now, reply)
        if reply.write is not None:
            self._writes.took(reply.write, reply.free, now)
        known = reply.statvfs is not None and reply.statvfs.errno == 0
        self.space = Space(reply.total, reply.free) if known else None
        self._answered()
