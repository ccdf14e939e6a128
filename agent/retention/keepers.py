"""What each keeper of a rule says of each checkpoint of one series of a run. Pure.

Two kinds of reasons keep: those that nothing overrides, and those that want of space does
(`every_steps` and `newer_than`).
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

from agent.config import durations
from agent.retention import reasons
from agent.retention.facts import Records, Run, Unit
from agent.retention.policy import Best, Rule

LEFTOVER_AFTER = 86400.0
"""Seconds: an incomplete one that was written to later may still become complete."""


@dataclass(slots=True)
class Judged:
    """One checkpoint.

    must: why it stays whatever is free; may: why it stays while there is room; against: why it goes
    if neither says anything; fixed: want of space does not doom it now.
    """

    unit: Unit
    must: list[str] = field(default_factory=list)
    may: list[str] = field(default_factory=list)
    against: list[str] = field(default_factory=list)
    fixed: bool = False

    @property
    def stays(self) -> bool:
        """Whether anything keeps it."""
        return bool(self.must or self.may)


def series(run: Run) -> dict[str, list[Unit]]:
    """The checkpoints that can be ordered against each other, ascending."""
    found: dict[str, list[Unit]] = {}
    for unit in sorted(run.units, key=lambda unit: (unit.order, unit.names)):
        found.setdefault(unit.series, []).append(unit)
    return found


def judge(
    rule: Rule, records: Records, units: Sequence[Unit], now: float
) -> tuple[list[Judged], list[str]]:
    """Units of one series, and what people should know of it."""
    return _Series(rule, records, units, now).judge()


class _Series:
    """One series while it is judged."""

    def __init__(self, rule: Rule, records: Records, units: Sequence[Unit], now: float) -> None:
        self.rule, self.records, self.now = rule, records, now
        self.all = [Judged(unit) for unit in units]
        self.findings: list[str] = []
        counted = [unit for unit in units if self._counts(unit)]
        self.by_order = sorted(counted, key=lambda u: (u.order, u.names), reverse=True)
        self.by_time = sorted(counted, key=lambda u: (u.newest, u.order), reverse=True)
        self.place = {id(unit): place for place, unit in enumerate(self.by_order)}
        self.place_by_time = {id(unit): place for place, unit in enumerate(self.by_time)}

    def judge(self) -> tuple[list[Judged], list[str]]:
        for judged in self.all:
            judged.must += self._guards(judged.unit)
        if not self.by_order:
            for judged in self.all:
                judged.must.append("no complete and quiet checkpoint is there yet")
            return self.all, self.findings
        self._newest()
        told = [self._last(), self._every_steps(), self._best(), self._newer_than()]
        if not any(told):
            for judged in self.all:
                judged.must.append("none of the rule's keepers can tell here")
        return self.all, self.findings

    def _complete(self, unit: Unit) -> bool:
        upto = self.records.upto
        return unit.complete and (upto is None or unit.order <= upto)

    def _older_than(self, unit: Unit, seconds: float) -> bool:
        """The future is fresh, and so is what can't be told."""
        return self.now - unit.newest >= seconds

    def _counts(self, unit: Unit) -> bool:
        hindered = unit.pointer or unit.busy or unit.skipped
        quiet = self._older_than(unit, self.rule.quiet_for)
        return self._complete(unit) and quiet and not hindered

    def _guards(self, unit: Unit) -> list[str]:
        """Why it stays by itself, whatever else is in the run."""
        found = []
        if unit.skipped:
            found.append(f"left alone: {unit.skipped}")
        if unit.pinned:
            found.append(f"pinned by {unit.pinned}")
        pointed, best = self.records.pointed, self.records.best or {}
        found += [f"{pointed[name]} points to it" for name in unit.names if name in pointed]
        found += [f"best: {best[name]} says so" for name in unit.names if name in best]
        if unit.linked:
            found.append(f"the link {unit.linked} leads to it")
        if unit.pointer:
            found.append("a pointer by its name: it repeats another")
        if unit.busy:
            found.append(f"in use: {unit.busy}")
        if not self._older_than(unit, self.rule.quiet_for):
            quiet_for = durations.text(self.rule.quiet_for)
            age = reasons.age(unit.newest, self.now)
            found.append(f"written to {age}, quiet_for is {quiet_for}")
        return found

    def _newest(self) -> None:
        """The newest complete one, what is newer, and what may still become complete."""
        newest, latest = self.by_order[0], self.by_time[0]
        for judged in self.all:
            unit = judged.unit
            if unit is newest:
                judged.must.append(reasons.NEWEST)
            elif unit.order >= newest.order:
                judged.must.append(f"newer than {reasons.NEWEST}{self._why(unit)}")
            elif unit is latest:
                judged.must.append(f"{reasons.NEWEST} by time")
            elif not unit.newest <= latest.newest:
                judged.must.append(f"written to after {reasons.NEWEST}{self._why(unit)}")
            elif not self._complete(unit):
                self._leftover(judged)

    def _why(self, unit: Unit) -> str:
        return "" if self._complete(unit) else f", and incomplete{_because(unit)}"

    def _leftover(self, judged: Judged) -> None:
        age = reasons.age(judged.unit.newest, self.now)
        what = f"incomplete{_because(judged.unit)}, written to {age}"
        if self._older_than(judged.unit, LEFTOVER_AFTER):
            judged.against.append(f"a leftover: {what}, and newer complete ones are there")
        else:
            limit = durations.text(LEFTOVER_AFTER)
            judged.must.append(f"{what}: a leftover only after {limit}")

    def _last(self) -> bool:
        last = self.rule.keep.last
        series = self.by_order[0].series
        word = series if series in ("step", "epoch") else "number"
        self._disagreement(last or 1, word)
        for unit, judged in ((judged.unit, judged) for judged in self.all):
            if id(unit) not in self.place:
                continue
            place, by_time = self.place[id(unit)], self.place_by_time[id(unit)]
            if place < (last or 0):
                judged.must.insert(0, f"last {last}: the {reasons.ordinal(place)} by {word}")
            elif by_time < (last or 0):
                judged.must.insert(0, f"last {last}: the {reasons.ordinal(by_time)} by time")
            elif place:
                judged.against.append(reasons.newer(place, word))
        return last is not None

    def _disagreement(self, count: int, word: str) -> None:
        late = [u for u in self.by_time[:count] if self.place[id(u)] >= count]
        if late:
            self.findings.append(
                f"{late[0].names[0]} is among the newest by time and not by {word}: is it of a new"
                " run in an old directory? The newest by either stay"
            )

    def _every_steps(self) -> bool:
        every = self.rule.keep.every_steps
        if every is None:
            return False
        if all(judged.unit.step is None for judged in self.all):
            self.findings.append("every_steps selects nothing: the names have no steps")
            return False
        for judged in self.all:
            step = judged.unit.step
            if step is None:
                judged.against.append("every_steps: its name has no step")
            elif step % every == 0:
                judged.may.append(f"every_steps: {step} is a multiple of {every}")
            else:
                judged.against.append(f"step {step} is no multiple of {every}")
        return True

    def _best(self) -> bool:
        best = self.rule.keep.best
        if best is None:
            return False
        if best.metric is None:
            return self._called_best(best)
        values = self._values(best.metric)
        if not values:
            self.findings.append(f"best selects nothing: no {best.metric} is recorded")
        sign = -1.0 if best.mode == "max" else 1.0
        ranked = sorted(values, key=lambda unit: sign * values[unit])
        places = {unit: place for place, unit in enumerate(ranked)}
        for judged in self.all:
            unit = id(judged.unit)
            if places.get(unit, best.count) < best.count:
                said = reasons.is_best(best, values[unit], places[unit], len(values))
                judged.must.append(said)
            else:
                judged.against.append(reasons.is_not_best(best, values.get(unit), len(values)))
        return bool(values)

    def _called_best(self, best: Best) -> bool:
        """Which the framework calls so; they stay as what is pointed to, with or without this."""
        called = self.records.best or {}
        found = 0
        for judged in self.all:
            if called.keys().isdisjoint(judged.unit.names):
                judged.against.append("not what the framework calls its best")
            else:
                found += 1
        if not found:
            self.findings.append("best selects nothing: the framework recorded none that is there")
        elif found < best.count:
            self.findings.append(f"best: {best.count} are asked for, the framework names {found}")
        return found > 0

    def _values(self, metric: str) -> dict[int, float]:
        """By id(), of those that count; the newest first, which is the better of two equal ones."""
        found = {}
        for unit in self.by_order:
            logged = {} if unit.step is None else self.records.metrics.get(unit.step, {})
            value = logged.get(metric, unit.metrics.get(metric))
            if value is not None and math.isfinite(value):
                found[id(unit)] = value
        return found

    def _newer_than(self) -> bool:
        newer_than = self.rule.keep.newer_than
        if newer_than is None:
            return False
        limit = durations.text(newer_than)
        for judged in self.all:
            age = reasons.age(judged.unit.newest, self.now)
            if self._older_than(judged.unit, newer_than):
                judged.against.append(f"written to {age}, newer_than is {limit}")
            else:
                judged.may.append(f"newer than {limit}: written to {age}")
        return True


def _because(unit: Unit) -> str:
    return f" ({unit.why})" if unit.why else ""
