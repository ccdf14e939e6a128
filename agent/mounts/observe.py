"""Gathers the facts of one mount, without ever touching it.

The mount table, /proc and pidfds are read here; the probe worker touches the mount. Nothing in
`look` waits: a probe is sent when due, its answer is noted when it comes, and each thing that may
change the verdict calls `wake`.
"""

import asyncio
from collections.abc import Callable, Coroutine

from agent.model.mount import Client, ClientState, MountEntry, Space
from agent.mounts.clientwatch import ClientWatch
from agent.mounts.edges import Edges, Settings
from agent.mounts.facts import (
    CONFIRM_DEATH,
    DEFAULT_PING_TIMEOUT,
    Facts,
    ProbeSeen,
    hung_after,
    serves,
)
from agent.mounts.prober import Prober
from agent.mounts.serverwatch import ServerWatch
from agent.system.mountinfo import layers_at

LOOK_EVERY = 30.0
"""Seconds between two looks at most: a keeper that sleeps longer would count as stuck."""


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
        self._servers = ServerWatch(edges, wake)
        self._prober = Prober(settings, edges, self._start, self._answered)

    @property
    def space(self) -> Space | None:
        """As the newest answer has it; None while it is not known."""
        return self._prober.space

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
            self._prober.look(self.settings, top, self.watch.gone_at, now)
            if self._servers.due(now):
                self._start(self._servers.look(self.settings))
        watch, prober = self.watch, self._prober
        return Facts(
            layers=layers,
            client=watch.client if watch else Client(ClientState.UNKNOWN),
            probe=prober.seen,
            write=prober.write,
            pending_since=prober.pending_since,
            blind_since=prober.blind_since,
            blind_why=prober.blind_why,
            client_gone_at=watch.gone_at if watch else None,
            client_stopped_at=watch.stopped_at if watch else None,
            client_certain=watch is None or watch.certain,
            identifying=watch is not None and watch.identifying,
            servers_reachable=self._servers.reachable,
            servers_detail=self._servers.detail,
            obstacles=self._servers.obstacles,
            user=self._edges.user,
        )

    def next_look(self, now: float) -> float:
        """Monotonic seconds at which something is due that no event announces."""
        due = [now + min(self.settings.interval, LOOK_EVERY)]
        pending_since = self._prober.pending_since
        if pending_since is not None:
            wanted = self.settings.wanted
            due.append(pending_since + wanted.probe_timeout)
            due.append(pending_since + hung_after(wanted, self.ping_timeout))
        elif self._top is not None:
            due.append(self._prober.next_at)
        if self.watch is not None and self.watch.gone_at is not None:
            due.append(now + CONFIRM_DEATH / 2)
        later = [at for at in due if at > now]
        return min(later)

    def discount(self, seconds: float) -> None:
        """The agent itself stood still (stopped, frozen, starved): the mount was not late then."""
        self._prober.discount(seconds)

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
        self._prober.close()

    def _leave_layer(self) -> None:
        if self.watch is not None:
            self.watch.close()
            self.watch = None
        self._prober.forget()

    def _start(self, work: Coroutine[None, None, None]) -> None:
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    def _answered(self) -> None:
        """A probe was answered, or will not be."""
        seen, watch = self._prober.seen, self.watch
        if seen is not None and seen.reply.graph is not None:
            self.ping_timeout = seen.reply.graph.ping_timeout
        gone_at = watch.gone_at if watch else None
        if watch and seen and gone_at is not None and seen.asked_at >= gone_at and _works(seen):
            watch.disproved()
        self._wake()


def _identity(entry: MountEntry | None) -> tuple[int, tuple[int, int], str] | None:
    return None if entry is None else (entry.mount_id, entry.device, entry.source)


def _works(seen: ProbeSeen) -> bool:
    return all(s is not None and s.errno == 0 for s in (seen.reply.statvfs, seen.reply.read))
