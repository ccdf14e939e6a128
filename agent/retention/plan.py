"""What the rules of one volume keep and delete: runs in, a plan out. Pure.

It is asked twice. First with units of which only the names and the evidence were looked at; those
that are doomed then are walked whole, and it is asked again with `whole`: what would be doomed now
and was not walked is kept.
"""

from collections.abc import Sequence

from agent.retention import keepers, pressure
from agent.retention.facts import Run, Space, Unit
from agent.retention.keepers import Judged
from agent.retention.planned import Doomed, Kept, RulePlan, RunPlan, Skipped
from agent.retention.policy import Rule

NOT_WHOLE = "not looked at whole"


def plan_rule(
    rule: Rule, runs: Sequence[Run], *, now: float, space: Space | None = None, whole: bool = False
) -> RulePlan:
    """One rule by itself. now: seconds since the epoch; the rest as in plan()."""
    (planned,) = plan([(rule, runs)], now=now, space=space, whole=whole)
    return planned


def plan(
    rules: Sequence[tuple[Rule, Sequence[Run]]],
    *,
    now: float,
    space: Space | None = None,
    whole: bool = False,
) -> tuple[RulePlan, ...]:
    """All rules of a volume, each with the runs for which it is the most specific one.

    They are planned together, as one shortfall of space is made good once. space: None where
    nothing is known of it, or two readings differ: then nothing goes for want of space. Where a
    rule has `max_size`, the sizes of all its units are to be known: an unknown one counts as 0. For
    `free_space` only those of doomed ones are: while one is not known, the next is doomed too, and
    the second asking dooms no more than is needed.
    """
    judged = [(rule, [_run(rule, run, now, whole=whole) for run in runs]) for rule, runs in rules]
    parts = [(rule, [each for run in runs for each in run.judged]) for rule, runs in judged]
    over_size = [pressure.shrink_to_size(rule, each) for rule, each in parts]
    short = pressure.shrink_for_space(parts, space) if space else [()] * len(parts)
    return tuple(
        RulePlan(rule.path, tuple(run.planned() for run in runs), (*over, *missing))
        for (rule, runs), over, missing in zip(judged, over_size, short, strict=True)
    )


class _Run:
    """A run while it is planned."""

    def __init__(self, run: Run) -> None:
        self.run = run
        self.judged: list[Judged] = []
        self.skipped: list[Skipped] = []
        self.findings = list(run.records.findings)

    def planned(self) -> RunPlan:
        """When nothing more is decided."""
        ordered = sorted(self.judged, key=lambda each: _position(each.unit))
        return RunPlan(
            self.run.path,
            self.run.family,
            tuple(_kept(self.run, each) for each in ordered if each.stays),
            tuple(_doomed(self.run, each) for each in ordered if not each.stays),
            tuple(self.skipped),
            tuple(dict.fromkeys(self.findings)),
            self.run.stem,
        )


def _run(rule: Rule, run: Run, now: float, *, whole: bool) -> _Run:
    made = _Run(run)
    made.skipped += [
        Skipped(_path(run, unit.names), unit.skipped) for unit in run.units if unit.skipped
    ]
    made.skipped += [Skipped(_path(run, (name,)), reason) for name, reason in run.odd]
    series = keepers.series(run)
    why_left, why_kept = _left_alone(run), _kept_whole(run)
    if why_left:
        made.skipped.insert(0, Skipped(run.path, why_left))
    for units in series.values():
        judged, findings = keepers.judge(rule, run.records, units, now)
        made.judged += judged
        made.findings += findings
    for each in made.judged:
        if why_left:
            each.must.insert(0, f"the run is left alone: {why_left}")
        elif why_kept:
            each.must.insert(0, why_kept)
        elif whole and not each.unit.walked:
            each.fixed = True
            if not each.stays:
                each.must.append(NOT_WHOLE)
    return made


def _left_alone(run: Run) -> str:
    """Why nothing of it can be judged, "" if it can."""
    if run.unreadable:
        return f"not all of it is known: {run.unreadable}"
    if run.records.leave:
        return run.records.leave
    newest = [max(run.units, key=lambda unit: unit.newest, default=None)]
    newest += [units[-1] for units in keepers.series(run).values()]
    broken = next((unit for unit in newest if unit and unit.broken), None)
    if broken is None:
        return ""
    return f"its newest checkpoint {broken.names[0]} can't be read: {broken.why}"


def _kept_whole(run: Run) -> str:
    """What keeps all of it, "" if nothing does."""
    if run.pinned:
        return f"the run is pinned by {run.pinned}"
    return f"the link {run.linked} leads to the run" if run.linked else ""


def _kept(run: Run, judged: Judged) -> Kept:
    return Kept(
        _path(run, judged.unit.names),
        judged.unit.step,
        tuple(dict.fromkeys(judged.must + judged.may)),
    )


def _doomed(run: Run, judged: Judged) -> Doomed:
    unit = judged.unit
    return Doomed(
        _path(run, unit.names),
        unit.step,
        tuple(judged.against),
        unit.size,
        unit.names,
        unit.fingerprint,
    )


def _path(run: Run, names: Sequence[str]) -> str:
    return f"{run.path}/{names[0]}" if run.path else names[0]


def _position(unit: Unit) -> tuple[bool, int, int, tuple[str, ...]]:
    """Steps ascending, then what has none."""
    return (unit.step is None, unit.step or 0, unit.order, unit.names)
