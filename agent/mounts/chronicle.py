"""What befell a mount: tells each change once, and counts the recoveries."""

from dataclasses import dataclass

from agent.events import Event
from agent.model.verdict import Verdict
from agent.mounts.edges import Edges
from agent.mounts.facts import Judgement

_CAUSES = {
    Verdict.ABSENT: "it was not mounted",
    Verdict.DEAD: "the client died",
    Verdict.HUNG: "the client hung",
    Verdict.STALE_OPTIONS: "the options changed",
}


@dataclass(frozen=True, slots=True)
class Repair:
    """A repair under way. began_at: monotonic seconds at which the trouble was first seen."""

    began_at: float
    why: str
    event: Event = Event.RECOVERED


class Chronicle:
    """The story of one mount, written to the journal as it happens.

    since: wall-clock seconds at which the present verdict began.
    """

    def __init__(self, name: str, path: str, edges: Edges) -> None:
        self.judgement: Judgement | None = None
        self.since = edges.wall()
        self.recoveries = 0
        self.last_recovery = ""
        self._name = name
        self._path = path
        self._edges = edges
        self._repair: Repair | None = None
        self._was_usable = False
        self._late_at: float | None = None
        self._told: Verdict | None = None

    def rename(self, name: str) -> None:
        """The mount's key in the file changed; its story goes on."""
        self._name = name

    def tell(
        self, event: Event, message: str, *, verdict: Verdict | None = None, **fields: str | int
    ) -> None:
        """One journal entry about this mount."""
        self._edges.report.emit(
            event, message, mount=self._name, verdict=verdict, error=None, **fields
        )

    def judged(self, judgement: Judgement, now: float, *, tried: bool, bare: bool) -> None:
        """A judgement stands: tell what is new about it.

        tried: to mount, before this look; bare: nothing lies at the path.
        """
        before = self.judgement
        self.judgement = judgement
        if before is None or before.verdict is not judgement.verdict:
            self.since = self._edges.wall()
        # At start nothing is mounted yet, as a rule: no news before the first attempt failed.
        # Likewise where the volume of before has only just made way.
        absent = judgement.verdict is Verdict.ABSENT and not tried
        expected = absent and self._told is None and (before is None or bare)
        if judgement.verdict is not self._told and not expected:
            self.tell(
                Event.VERDICT,
                f"{self._path} is {judgement.verdict}: {judgement.evidence}",
                verdict=judgement.verdict,
                previous=self._told or "",
            )
            self._told = judgement.verdict
        for finding in judgement.findings:
            if before is None or finding not in before.findings:
                self.tell(Event.FINDING, finding)
        verdict = judgement.observed or judgement.verdict
        if judgement.verdict not in (Verdict.SLOW, Verdict.HUNG):
            self._late_at = None
        elif self._late_at is None:
            self._late_at = now
        if judgement.verdict is Verdict.DEAD:
            self.needs_repair(now, verdict)
        if judgement.verdict is Verdict.PAUSED:
            self._repair = None  # the time of a pause is nobody's time to recovery
        if verdict.usable and verdict is not Verdict.STALE_OPTIONS:
            self._repaired(now)
        self._was_usable = self._was_usable or verdict.usable

    def needs_repair(self, now: float, verdict: Verdict) -> None:
        """Something is about to be repaired; the first mount of all is no repair."""
        if self._repair is None and (self._was_usable or verdict is not Verdict.ABSENT):
            event = Event.RECOVERED
            if verdict is Verdict.STALE_OPTIONS:
                event = Event.OPTIONS_APPLIED
            # For those who wait, a hung mount was broken long before it was called so.
            hung_at = self._late_at if verdict is Verdict.HUNG else None
            began_at = now if hung_at is None else hung_at
            self._repair = Repair(began_at, _CAUSES.get(verdict, str(verdict)), event)

    def in_use(self) -> None:
        """What was to be repaired can't be yet."""
        self._repair = None

    def _repaired(self, now: float) -> None:
        repair, self._repair = self._repair, None
        if repair is None:
            return
        seconds = now - repair.began_at
        if repair.event is Event.OPTIONS_APPLIED:
            self.tell(repair.event, f"{self._path} is mounted with the options of the file")
            return
        self.recoveries += 1
        self.last_recovery = f"{repair.why}; back after {seconds:.2f} s"
        self.tell(
            repair.event,
            f"{self._path} works again after {seconds:.2f} s; cause: {repair.why}",
            cause=repair.why,
            seconds=f"{seconds:.3f}",
        )
