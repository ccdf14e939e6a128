"""Looks after one mount's layout: whose turn a pass is, what came of it, when the next is due."""

import asyncio
import contextlib
import secrets
from collections.abc import Callable
from dataclasses import dataclass, replace

from agent.config.identities_schema import IdentitiesConfig
from agent.config.layout_schema import LayoutConfig
from agent.config.schema import Config, MountConfig
from agent.daemon.permount import PerMount
from agent.daemon.rounds import Rhythm, about
from agent.daemon.volume import Volume
from agent.errors import AgentError
from agent.events import Event
from agent.health.text import plural
from agent.layout.apply import Outcome, Pass
from agent.layout.declared import declared, fingerprint
from agent.layout.plan import Mend
from agent.layout.requests import turn
from agent.layout.seen import OddNames, Turn
from agent.layout.turns import Decision, decide
from agent.model.mount import MountEntry
from agent.model.status import LayoutState, LayoutStatus
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

Told = Callable[[str, LayoutStatus | None], None]


@dataclass(frozen=True, slots=True)
class Subject:
    """What a layout is about: all that a pass depends on."""

    mount: MountConfig
    layout: LayoutConfig
    identities: IdentitiesConfig


def subjects(config: Config) -> dict[str, Subject]:
    """Of each mount that has a layout."""
    return {
        name: Subject(mount, mount.layout, config.identities)
        for name, mount in config.mounts.items()
        if mount.layout is not None
    }


def layouts(edges: Edges, work: WorkMounts, told: Told) -> PerMount[Subject]:
    """A keeper for each mount that has a layout. told: called with each newest status."""

    def make(name: str, subject: Subject) -> LayoutKeeper:
        return LayoutKeeper(subject, Volume(name, subject.mount, edges, work), told)

    return PerMount(
        edges,
        make,
        allows=lambda status: status.verdict.usable,
        gone=lambda name: told(name, None),
    )


class LayoutKeeper:
    """Looks after one mount's layout; see Work."""

    def __init__(self, subject: Subject, volume: Volume, told: Told) -> None:
        self.title = f"a pass over the layout of {volume.name}"
        # At once the first time; later not all hosts together, as when a brick came back.
        self.rhythm = Rhythm(retry=RETRY, most=EVERY, back=RETURN)
        self._subject = subject
        self._volume = volume
        self._edges = volume.edges
        self._told = told
        self._listings: dict[str, OddNames] = {}
        self._made = self._mended = 0
        wanted = declared(subject.layout, subject.identities)
        self._fingerprint = fingerprint(wanted)
        self._turn = Turn()
        self._skipped = 0
        self._disputed = False
        self._status = LayoutStatus(LayoutState.PENDING, len(wanted))

    def tell(self) -> None:
        """Say where it stands."""
        self._told(self._volume.name, self._status)

    async def once(self, allowed: Callable[[], bool]) -> float | None:
        """One pass, or none where another host made it. Raises AgentError, OSError."""
        routine = self._is_routine()
        decision = await self._whose_turn() if routine else Decision.OURS
        self._disputed = decision is Decision.DISPUTED
        pause = about(EVERY, self._edges.jitter())
        if decision is Decision.THEIRS:
            self._skipped += 1
            return pause
        outcome = Outcome(findings=[DISPUTE], names=self._listings)
        if decision is Decision.OURS:
            self._skipped = 0
            outcome = await self._pass(allowed, routine=routine)
        self._note(outcome)
        return None if outcome.failed else pause

    def failed(self, why: str) -> None:
        """A pass raised."""
        self._note(Outcome(failed=why))

    def _is_routine(self) -> bool:
        """Whether all was well the last time, so that any host may look this time."""
        return self._status.state is LayoutState.APPLIED or self._disputed

    async def _whose_turn(self) -> Decision:
        """Asked through the job's mount: a work mount costs a client on each of many hosts."""
        try:
            layers = layers_at(self._edges.mount_table(), self._subject.mount.path)
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

    async def _pass(self, allowed: Callable[[], bool], *, routine: bool) -> Outcome:
        """Through a mount of its own. Raises AgentError, OSError."""
        layout, identities = self._subject.layout, self._subject.identities
        async with self._volume.mounted("layout") as entry:
            for _ in range(HELD_TRIES):
                work = Pass(layout, identities, self._edges.children, entry, allowed, self)
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
        self._volume.emit(Event.LAYOUT_MADE, f"made {count}: {', '.join(paths)}")

    def mended(self, mend: Mend, *, known: bool) -> None:
        """A directory was mended: with what it had, for whoever wants it back."""
        self._mended += known
        unknown = "" if known else "; whether it came to its end is not known"
        self._volume.emit(
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
            if finding not in self._status.findings:
                self._volume.emit(Event.LAYOUT_FINDING, finding)
        self._listings = outcome.names
        state = LayoutState.APPLIED
        if findings:
            state = LayoutState.FAILED if outcome.failed else LayoutState.FINDINGS
        self._status = replace(
            self._status,
            state=state,
            looked=self._status.looked if outcome.failed else self._edges.wall(),
            made=self._status.made + self._made,
            mended=self._status.mended + self._mended,
            findings=findings,
        )
        self._made = self._mended = 0
