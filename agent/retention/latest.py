"""Which checkpoints to try, in which order, when a training is to be resumed. Pure."""

from collections.abc import Iterator, Sequence

from agent.retention.facts import Run, Unit

SAVED_TOGETHER = 60.0
"""Seconds: what repeats another one (Lightning's `last.ckpt`) is of the same save within these."""


def tried(run: Run) -> Iterator[tuple[Unit, str]]:
    """Each with why it is passed over, "" for those that are complete by their evidence.

    Newest first: by their number within a series; series, which have no order among each other, by
    the time of their newest. One that repeats another comes first where it is of a later save than
    all others, since then what it repeated is gone, and last where it isn't.
    """
    counted = [unit for unit in run.units if not unit.pointer]
    for unit in _ordered(run, counted):
        yield unit, _why(run, unit)


def _ordered(run: Run, counted: Sequence[Unit]) -> list[Unit]:
    series: dict[str, list[Unit]] = {}
    for unit in counted:
        series.setdefault(unit.series, []).append(unit)
    rows = [sorted(units, key=lambda unit: unit.order, reverse=True) for units in series.values()]
    rows.sort(key=lambda units: max(unit.newest for unit in units), reverse=True)
    latest = max((unit.newest for unit in counted), default=0.0)
    repeats = sorted((u for u in run.units if u.pointer), key=lambda u: u.newest, reverse=True)
    later = [unit for unit in repeats if unit.newest > latest + SAVED_TOGETHER]
    return [
        *later,
        *(unit for row in rows for unit in row),
        *(u for u in repeats if u not in later),
    ]


def _why(run: Run, unit: Unit) -> str:
    upto = run.records.upto
    if not unit.complete:
        return unit.why or "is incomplete"
    if upto is not None and unit.order > upto and not unit.pointer:
        return f"the run's own record says that {upto} is the newest complete one"
    return ""
