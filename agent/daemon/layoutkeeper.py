"""Looks after one mount's layout: when a pass is due, whose turn it is, what came of it."""

import asyncio
import contextlib
import secrets
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from agent.config.identities_schema import IdentitiesConfig
from agent.config.layout_schema import LayoutConfig
from agent.config.schema import MountConfig
from agent.daemon.workview import work_view
from agent.errors import AgentError
from agent.events import Event
from agent.health.text import plural
from agent.layout.apply import Outcome, Pass, turn
from agent.layout.declared import declared, fingerprint
from agent.layout.plan import Mend
from agent.layout.seen import OddNames, Turn
from agent.layout.turns import Decision, decide
from agent.model import LayoutState, LayoutStatus, MountEntry
from agent.mounts.edges import Edges
from agent.system.mountinfo import layers_at
from agent.system.workmount import WorkMounts

EVERY = 3600.0
"""Seconds from one pass to the next, a quarter more or less by chance."""
RETURN = 60.0
"""Seconds that lie between two passes at least, and within which, by chance, the layout of a mount
that is usable again is looked at."""
RETRY = 60.0
"""Seconds after a pass that failed, twice as many each time, up to EVERY."""
HELD = 2.0
"""Seconds, twice as many at most, until the lock that another host has is tried again."""
HELD_TRIES = 15
"""Tries in one pass; a host needs a second for a hundred directories."""
MOST = 100
"""Findings that are told of one mount."""
DISPUTE = (
    "another host keeps another layout on this volume, so nothing is done here; compare the layout "
    "and identities of both agent.yaml"
)


@dataclass(frozen=True, slots=True)
class Subject:
    """What a layout is about: all that a pass depends on."""

    name: str
    mount: MountConfig
    layout: LayoutConfig
    identities: IdentitiesConfig


class LayoutKeeper:
    """Looks after one mount's layout. status: what is to be told of it."""

    def __init__(self, subject: Subject, edges: Edges, work: WorkMounts) -> None:
        self.subject = subject
        self.task: asyncio.Task[None] | None = None
        self._edges = edges
        self._work = work
        self._allowed = asyncio.Event()
        self._sooner = asyncio.Event()
        self._due_at = self._ended_at = edges.monotonic()
        self._failures = 0
        self._listings: dict[str, OddNames] = {}
        self._made = self._mended = 0
        wanted = declared(subject.layout, subject.identities)
        self._fingerprint = fingerprint(wanted)
        self._turn = Turn()
        self._skipped = 0
        self._disputed = False
        self.status = LayoutStatus(LayoutState.PENDING, len(wanted))

    def judged(self, *, usable: bool) -> None:
        """Whether the mount's verdict allows work."""
        if usable and not self._allowed.is_set():
            # At once the first time; later not all hosts together, as when a brick came back.
            rested = max(self._edges.monotonic(), self._ended_at + RETURN)
            self._due_at = min(self._due_at, rested + RETURN * self._edges.jitter())
            self._allowed.set()
            self._sooner.set()
        elif not usable:
            self._allowed.clear()

    def stop(self) -> None:
        """End it, wherever it is."""
        if self.task is not None:
            self.task.cancel()

    async def run(self, tell: Callable[[], None]) -> None:
        """For as long as the mount has this layout."""
        while True:
            await self._wait()
            routine = self._is_routine()
            decision = await self._whose_turn() if routine else Decision.OURS
            self._disputed = decision is Decision.DISPUTED
            if decision is Decision.THEIRS:
                self._skipped += 1
                self._schedule(failed=False)
                continue
            outcome = Outcome(findings=[DISPUTE], names=self._listings)
            if decision is Decision.OURS:
                outcome = await self._try(routine=routine)
            self._note(outcome)
            tell()

    async def _try(self, *, routine: bool) -> Outcome:
        self._skipped = 0
        try:
            return await self._pass(routine=routine)
        except (AgentError, OSError) as error:
            return Outcome(failed=str(error))
        except Exception as error:  # noqa: BLE001  a bug here must not look like a good layout
            self._edges.report.emit(
                Event.INTERNAL_ERROR,
                f"a pass over the layout of {self.subject.name} failed",
                mount=self.subject.name,
                error=error,
            )
            return Outcome(failed=f"a bug of the agent: {error!r}")

    def _is_routine(self) -> bool:
        """Whether all was well the last time, so that any host may look this time."""
        return self.status.state is LayoutState.APPLIED or self._disputed

    async def _whose_turn(self) -> Decision:
        """Asked through the job's mount: a work mount costs a client on each of many hosts."""
        try:
            layers = layers_at(self._edges.mount_table(), self.subject.mount.path)
            found = await turn(self._edges.children, layers[-1]) if layers else None
        except (AgentError, OSError):
            found = None
        if not isinstance(found, Turn):
            return Decision.OURS
        decision = decide(found, self._turn, self._fingerprint, self._skipped)
        self._turn = found
        return decision

    async def _leave_word(self, entry: MountEntry, *, routine: bool) -> None:
        """Leave word that a pass was made.

        Of the first pass only where word was of another layout, or none: a host that comes up and
        finds all in order writes nothing.
        """
        found = await turn(self._edges.children, entry)
        if routine or (isinstance(found, Turn) and found.layout != self._fingerprint):
            word = Turn(secrets.token_hex(8), self._fingerprint)
            found = await turn(self._edges.children, entry, word)
        if isinstance(found, Turn):
            self._turn = found

    async def _wait(self) -> None:
        while True:
            await self._allowed.wait()
            self._sooner.clear()
            pause = self._due_at - self._edges.monotonic()
            if pause <= 0:
                return
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(pause):
                    await self._sooner.wait()

    async def _pass(self, *, routine: bool) -> Outcome:
        """Through a mount of its own. Raises AgentError, OSError."""
        mount = self.subject.mount
        name = self.subject.name
        async with work_view(self._edges, self._work, "layout", name, mount) as entry:
            for _ in range(HELD_TRIES):
                work = Pass(
                    self.subject.layout,
                    self.subject.identities,
                    self._edges.children,
                    entry,
                    self._allowed.is_set,
                    self,
                )
                outcome = await work.run(self._listings)
                if not outcome.held:
                    break
                await asyncio.sleep(HELD * (1 + self._edges.jitter()))
            if not outcome.failed:
                with contextlib.suppress(AgentError, OSError):  # without it others pass too
                    await self._leave_word(entry, routine=routine)
        return outcome

    def made(self, paths: list[str]) -> None:
        """Directories were made on the volume."""
        self._made += len(paths)
        count = plural(len(paths), "directory", "directories")
        self._emit(Event.LAYOUT_MADE, f"made {count}: {', '.join(paths)}")

    def mended(self, mend: Mend, *, known: bool) -> None:
        """A directory was mended: with what it had, for whoever wants it back."""
        self._mended += known
        unknown = "" if known else "; whether it came to its end is not known"
        self._emit(
            Event.LAYOUT_MENDED,
            f"{mend.describe()}{unknown}",
            path=mend.want.path,
            old_uid=mend.seen.uid,
            old_gid=mend.seen.gid,
            old_mode=f"{mend.seen.mode:04o}",
        )

    def _note(self, outcome: Outcome) -> None:
        findings = tuple(outcome.findings[:MOST])
        if more := len(outcome.findings) - len(findings):
            findings = (*findings, f"and {more} more that are not told one by one")
        if outcome.failed:
            findings = (*findings, outcome.failed)
        for finding in findings:
            if finding not in self.status.findings:
                self._emit(Event.LAYOUT_FINDING, finding)
        self._listings = outcome.names
        self._schedule(failed=bool(outcome.failed))
        state = LayoutState.APPLIED
        if findings:
            state = LayoutState.FAILED if outcome.failed else LayoutState.FINDINGS
        self.status = replace(
            self.status,
            state=state,
            looked=self.status.looked if outcome.failed else self._edges.wall(),
            made=self.status.made + self._made,
            mended=self.status.mended + self._mended,
            findings=findings,
        )
        self._made = self._mended = 0

    def _schedule(self, *, failed: bool) -> None:
        pause = EVERY
        if failed:
            pause = min(EVERY, RETRY * 2**self._failures)
        self._failures = min(self._failures + 1, 10) if failed else 0
        self._ended_at = self._edges.monotonic()
        self._due_at = self._ended_at + pause * (0.75 + self._edges.jitter() / 2)

    def _emit(self, event: Event, message: str, **fields: Any) -> None:
        text = f"{self.subject.mount.path}: {message}"
        self._edges.report.emit(event, text, mount=self.subject.name, **fields)
