"""What was looked at, put together to the runs and checkpoints that a plan is made of. Pure."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from agent.retention.facts import Evidence, Named, Records, Run, Unit

VAGUE = frozenset({"orbax"})
"""Families whose names people also give: without evidence, nothing is concluded from these."""

MOST_NAMES = 200
"""Of one checkpoint, as versions of one step."""


_MOST_ODD = 100
"""Of one run that are told one by one: a data set has a thousand times as many."""


@dataclass(frozen=True, slots=True)
class Looked:
    """One name of a directory, which one or more families match.

    answers: what each said, in the order they are asked, up to the first that calls it genuine.
    """

    name: str
    answers: tuple[tuple[Named, Evidence], ...]
    newest: float
    """As Unit.newest, before it was walked; likewise the others."""
    pinned: str = ""
    busy: str = ""
    skipped: str = ""
    is_directory: bool = True

    @property
    def genuine(self) -> tuple[Named, Evidence] | None:
        """The answer of the family whose checkpoint it is."""
        return next((answer for answer in self.answers if answer[1].genuine), None)

    @property
    def is_vague(self) -> bool:
        """No family knows it for sure, and those that match have names that people also give."""
        return self.genuine is None and all(named.family in VAGUE for named, _ in self.answers)


@dataclass(frozen=True, slots=True)
class Member:
    """A name of a run, as the run's family sees it."""

    named: Named
    evidence: Evidence
    looked: Looked


@dataclass(slots=True)
class Group:
    """The names of one family and stem in one directory. odd: as in Run."""

    family: str
    stem: str
    members: list[Member] = field(default_factory=list)
    odd: list[tuple[str, str]] = field(default_factory=list)

    @property
    def names(self) -> list[Named]:
        """In ascending order, as a family is asked for the records."""
        found = [member.named for member in self.members]
        return sorted(found, key=lambda named: (named.series, named.order, named.name))


def groups(looked: Iterable[Looked], trusted: str | None = None) -> list[Group]:
    """The runs of one directory. trusted: the family whose names need no evidence there.

    What lacks the evidence and is not complete belongs to the family whose evidence its siblings
    carry: it may be a leftover of a crash. Where no sibling does, it is no checkpoint at all. What
    lacks the evidence and is whole is somebody else's.
    """
    listed = list(looked)
    sure = {(n.family, n.stem) for each in listed if each.genuine for n in (each.genuine[0],)}
    found: dict[tuple[str, str], Group] = {}
    for each in listed:
        named, evidence = each.genuine or _likely(each, sure, trusted)
        key = (named.family, named.stem)
        group = found.setdefault(key, Group(*key))
        is_sure = evidence.genuine or named.family == trusted
        is_torn = key in sure and named.family not in VAGUE and not evidence.complete
        if is_sure or is_torn:
            group.members.append(Member(named, evidence, each))
        elif named.family not in VAGUE or key in sure:
            why = evidence.why or "lacks what the framework writes"
            group.odd.append((each.name, f"has the name of a checkpoint of {named.family}: {why}"))
    return [found[key] for key in sorted(found) if found[key].members or found[key].odd]


def _likely(
    each: Looked, sure: set[tuple[str, str]], trusted: str | None
) -> tuple[Named, Evidence]:
    for named, evidence in each.answers:
        if named.family == trusted or (named.family, named.stem) in sure:
            return named, evidence
    return next((a for a in each.answers if a[0].family not in VAGUE), each.answers[0])


def run(
    path: str,
    group: Group,
    records: Records,
    *,
    pinned: str = "",
    unreadable: str = "",
    staging: Sequence[tuple[str, str]] = (),
) -> Run:
    """path, pinned and the others: as in Run; staging: what the family is just writing, and why."""
    units: dict[tuple[str, str, str, int], list[Member]] = {}
    for member in group.members:
        units.setdefault(member.named.unit(), []).append(member)
    made = sorted((_unit(members) for members in units.values()), key=lambda u: (u.series, u.order))
    return Run(
        path=path,
        family=group.family,
        stem=group.stem,
        units=tuple(made),
        records=records,
        pinned=pinned,
        unreadable=unreadable,
        odd=_told([*group.odd, *staging]),
    )


def _told(odd: list[tuple[str, str]]) -> tuple[tuple[str, str], ...]:
    told = sorted(odd)[:_MOST_ODD]
    if len(odd) > len(told):
        name, reason = told[-1]
        told[-1] = (name, f"{reason}; and {len(odd) - len(told)} more names are left alone")
    return tuple(told)


def left_alone(run: Run, why: str) -> Run:
    """The run, with one more reason, perhaps "", why nothing of it can be judged."""
    return replace(run, unreadable=run.unreadable or why)


def _unit(members: Sequence[Member]) -> Unit:
    """Complete by its models; by what goes with them only where there is none."""
    models = [m for m in members if not m.named.side] or members
    complete = [m for m in models if m.evidence.complete]
    reasons = [m.evidence.why for m in models if not m.evidence.complete]
    metrics: dict[str, float] = {}
    for member in members:
        metrics.update(member.named.metrics)
    return Unit(
        names=tuple(sorted(member.named.name for member in members)),
        series=members[0].named.series,
        order=members[0].named.order,
        step=next((m.named.step for m in members if m.named.step is not None), None),
        complete=bool(complete),
        newest=max(member.looked.newest for member in members),
        why="" if complete else _first(reasons) or "it is not complete",
        broken=any(member.evidence.broken for member in members),
        pointer=all(member.named.pointer for member in members),
        pinned=_first(member.looked.pinned for member in members),
        busy=_first(member.looked.busy for member in members),
        skipped=_first(m.looked.skipped for m in members) or _too_many(members),
        metrics=metrics,
    )


def _too_many(members: Sequence[Member]) -> str:
    return f"is of more than {MOST_NAMES} names" if len(members) > MOST_NAMES else ""


def _first(texts: Iterable[str]) -> str:
    return next((text for text in texts if text), "")


@dataclass(frozen=True, slots=True)
class Whole:
    """What a walk through all of a unit's names says. newest: seconds; the rest as in Unit."""

    fingerprint: str
    newest: float
    size: int | None
    busy: str = ""
    skipped: str = ""


def walked(run: Run, wholes: Mapping[tuple[str, ...], Whole]) -> Run:
    """The run, with what the walks through some of its units say; by their names."""
    return replace(
        run,
        units=tuple(
            _walked(unit, wholes[unit.names]) if unit.names in wholes else unit
            for unit in run.units
        ),
    )


def _walked(unit: Unit, whole: Whole) -> Unit:
    return replace(
        unit,
        walked=True,
        newest=max(unit.newest, whole.newest),
        size=whole.size,
        fingerprint=whole.fingerprint,
        busy=unit.busy or whole.busy,
        skipped=unit.skipped or whole.skipped,
    )
