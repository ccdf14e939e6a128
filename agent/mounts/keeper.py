"""Keeps one mount alive: look, judge, report, act, and wait for the next reason to look."""

import asyncio
from dataclasses import replace

from agent.errors import AgentError
from agent.events import Event
from agent.model.mount import ClientState, Obstacle
from agent.model.status import MountStatus
from agent.model.verdict import Verdict
from agent.mounts import recovery
from agent.mounts.act import Executor, InUse
from agent.mounts.actions import Abort, Action, Detach, Forget, Mount, Unmount
from agent.mounts.chronicle import Chronicle
from agent.mounts.edges import Edges, Settings
from agent.mounts.evidence import hung_evidence
from agent.mounts.facts import Facts, Judgement, serves
from agent.mounts.holders import HolderSearch
from agent.mounts.mounting import NoServer, Obstructed
from agent.mounts.observe import Observer
from agent.mounts.recovery import History
from agent.mounts.status import status_of
from agent.mounts.verdict import decide

OVERSLEPT = 1.0
"""Seconds; a keeper that wakes later than that was not let run: its own process stood still."""


class Keeper:
    """One mount's keeper. `run` is its life; what it is told is heard between two of its steps.

    settled: set once the first verdict stands and what it demands has been tried. turn_at:
    monotonic seconds of its last step, for the watchdog. done: the mount is forgotten.
    """

    def __init__(self, settings: Settings, edges: Edges, *, paused: bool) -> None:
        self.settings = settings
        self.paused = paused
        self.settled = asyncio.Event()
        self.done = False
        self.turn_at = edges.monotonic()
        self._edges = edges
        self._waker = asyncio.Event()
        self._observer = Observer(settings, edges, self._waker.set)
        self._chronicle = Chronicle(settings.name, settings.wanted.path, edges)
        self._executor = Executor(settings, edges, self._observer, self._chronicle)
        self._holders = HolderSearch(edges, self._chronicle)
        self._history = History()
        self._attempt_error = ""
        self._tried = False
        self._obstacles: tuple[Obstacle, ...] = ()
        self._failures_told: set[str] = set()
        self._layer: tuple[int, int] | None = None
        self._dead_layer: tuple[int, int] | None = None
        self._own = False
        self._own_below = False
        self._busy_told = ""

    def wake(self) -> None:
        """Something may have changed: look again."""
        self._waker.set()

    def change(self, settings: Settings, *, paused: bool) -> None:
        """The file or an operator's word changed."""
        self.settings = settings
        self._observer.settings = settings
        self._executor.settings = settings
        self._chronicle.rename(settings.name)
        self._history = replace(self._history, next_unmount_at=0.0, next_attempt_at=0.0)
        self._failures_told.clear()
        self.paused = paused
        self.wake()

    async def run(self) -> None:
        """Look after the mount until it is forgotten or the task is cancelled."""
        try:
            while not self.done:
                self._waker.clear()
                wake_at = await self._step()
                await self._sleep(wake_at)
        finally:
            self.settled.set()  # forgotten in its first step, it must not hold up READY=1
            self._observer.close()
            self._holders.close()

    async def _step(self) -> float | None:
        now = self.turn_at = self._edges.monotonic()
        facts = self._facts(now)
        judgement = decide(self.settings.wanted, facts, self._observer.ping_timeout, now)
        if judgement is None:
            return None
        self._note(judgement, facts, now)
        self._edges.report.changed(self._status(judgement, facts))
        policy = replace(
            self.settings.policy(own=self._own, own_below=self._own_below),
            confirmed=self._is_confirmed(facts),
        )
        plan = recovery.plan(self.settings.wanted, facts, judgement, policy, self._history, now)
        if plan.actions:
            failed = await self._act(plan.actions, facts, judgement)
            # Another mount may lie there now, under the numbers of the old: its death is another.
            self._layer = self._dead_layer = None
            self.wake()
            if not failed:
                return None
        self.settled.set()
        return plan.wake_at

    async def _sleep(self, wake_at: float | None) -> None:
        now = self._edges.monotonic()
        until = self._observer.next_look(now)
        if wake_at is not None:
            until = min(until, wake_at)
        try:
            async with asyncio.timeout(max(0.0, until - now)):
                await self._waker.wait()
        except TimeoutError:
            pass
        overslept = self._edges.monotonic() - max(until, now)
        if overslept > OVERSLEPT:
            self._observer.discount(overslept)

    def _facts(self, now: float) -> Facts:
        facts = self._observer.look(now)
        device = facts.top.device if facts.top else None
        if device != self._layer:
            self._layer = device
            self._recognise(facts)
        record = self._executor.record()
        return replace(
            facts,
            fingerprint=record.fingerprint if self._own else None,
            guarded=record.guarded,
            leaving=self._edges.records.made_of(facts.top, self.settings.replaces),
            attempt_error=self._attempt_error,
            obstacles=facts.obstacles if facts.top else self._obstacles,
            paused=self.paused,
        )

    def _recognise(self, facts: Facts) -> None:
        """Is the mount that now lies on top the agent's own? Its record says so."""
        top = facts.top
        record = self._executor.record()
        made = [serves(e, self.settings.wanted) and record.made(e) for e in facts.layers]
        self._own, self._own_below = made[-1:] == [True], any(made[:-1])
        if top is None or self._observer.watch is None:
            return
        if self._own and record.client is not None and record.device == top.device:
            self._observer.watch.expect(record.client)
        if record.device != top.device or self._chronicle.judgement is None:
            whose = "the agent's own" if self._own else "somebody else's"
            self._chronicle.tell(
                Event.ADOPTED, f"found {top.source} mounted at {top.path}: {whose} mount"
            )

    def _is_confirmed(self, facts: Facts) -> bool:
        """Whether the client on record, if there is one, still serves what lies on top."""
        client = self._executor.record().client
        alive = facts.client.state is ClientState.ALIVE
        return client is None or (alive and facts.client.process == client)

    def _note(self, judgement: Judgement, facts: Facts, now: float) -> None:
        """Remember what the judgement says beyond this moment."""
        self._chronicle.judged(judgement, now, tried=self._tried, bare=facts.top is None)
        verdict = judgement.observed or judgement.verdict
        # Hung clients that are replaced one after the other are no better than dying ones.
        if verdict in (Verdict.DEAD, Verdict.HUNG) and self._dead_layer != self._layer:
            self._dead_layer = self._layer
            self._history = recovery.note_death(self._history, now, self._edges.jitter())
        if verdict is Verdict.ABSENT and facts.top is None:
            self._executor.forget_made()
        if verdict.usable:
            self._history = recovery.note_usable(self._history)
            self._attempt_error = ""
            self._failures_told.clear()
        client = facts.client
        if self._own and client.state is ClientState.ALIVE and client.process and facts.top:
            self._own = self._executor.remember_client(client.process, facts.top.device)

    def _status(self, judgement: Judgement, facts: Facts) -> MountStatus:
        adopted = facts.top is not None and self._observer.watch is not None and not self._own
        return replace(
            status_of(self.settings, judgement, facts, self._observer.space, self._holders.users),
            since=self._chronicle.since,
            adopted=adopted,
            client_log=self._executor.client_log(adopted=adopted),
            holders=self._holders.found,
            recoveries=self._chronicle.recoveries,
            last_recovery=self._chronicle.last_recovery,
            attempts=self._history.failures,
        )

    async def _act(self, actions: tuple[Action, ...], facts: Facts, judgement: Judgement) -> bool:
        """Carry out the actions in order; True if one failed."""
        if any(isinstance(action, Mount) for action in actions):
            self._tried = True
            self._chronicle.needs_repair(self._edges.monotonic(), judgement.verdict)
        if isinstance(actions[0], Abort) and facts.top is not None:
            self._chronicle.tell(Event.HUNG_EVIDENCE, hung_evidence(facts, facts.top))
        doing = actions[0]
        try:
            for action in actions:
                self.turn_at = self._edges.monotonic()
                doing = action
                await self._executor.run(action)
                self.done = self.done or isinstance(action, Forget)
                self._holders.users = ()
                if isinstance(action, Mount):
                    self._attempt_error = self._busy_told = ""
        except InUse:
            self._busy(actions[0])
            self._holders.name_users(self.settings.key, facts)
            return True
        except (AgentError, OSError) as error:
            self._failed(doing, error)
            return True
        finally:
            # Not before: the search reads all of /proc, while the new client needs the processor.
            if any(isinstance(action, Detach) for action in actions):
                self._holders.follow(self.settings.key, facts)
        return False

    def _busy(self, action: Action) -> None:
        self._chronicle.in_use()
        self._history = recovery.note_busy(self._history, self._edges.monotonic())
        if isinstance(action, Unmount) and action.why != self._busy_told:
            self._busy_told = action.why
            event = Event.OPTIONS_PENDING if self.settings.config else Event.REMOVAL_PENDING
            self._chronicle.tell(
                event, f"{action.path} is in use; to be unmounted when idle: {action.why}"
            )

    def _failed(self, action: Action, error: AgentError | OSError) -> None:
        now, jitter = self._edges.monotonic(), self._edges.jitter()
        no_server = isinstance(error, NoServer)
        self._history = recovery.note_failure(self._history, now, jitter, no_server=no_server)
        path = self.settings.wanted.path
        words = str(error).removeprefix(f"{path}: ")
        # Each once until it works again: attempts go round the servers, and each says its name.
        if words not in self._failures_told:
            self._failures_told.add(words)
            mounting = isinstance(action, Mount)
            event = Event.MOUNT_ATTEMPT_FAILED if mounting else Event.ACTION_FAILED
            self._chronicle.tell(event, f"{path}: {words}", action=action.describe())
        self._attempt_error = words
        self._obstacles = error.obstacles if isinstance(error, Obstructed) else ()
