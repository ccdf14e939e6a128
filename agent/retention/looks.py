"""Two looks: nothing goes that an earlier pass did not plan to delete just as it is now. Pure.

Times are seconds of this host's own monotonic clock. The clocks of other hosts, by which files have
their times, could be anything: what was written to between the looks has another fingerprint,
whatever its times say.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from agent.retention.planned import Doomed, RulePlan, RunPlan
from agent.retention.policy import Rule


class Target(NamedTuple):
    """What is to go: names in a directory."""

    run: str
    """The directory, relative to the volume's root."""
    names: tuple[str, ...]


class Look(NamedTuple):
    """When a target was first planned to go as it is."""

    fingerprint: str
    at: float


Memory = Mapping[Target, Look]


@dataclass(frozen=True, slots=True)
class Ripe:
    """What may go now."""

    rule: str
    run: RunPlan
    doomed: Doomed

    @property
    def target(self) -> Target:
        """Its key in the memory."""
        return Target(self.run.path, self.doomed.names)


def look(
    memory: Memory, planned: Sequence[tuple[Rule, RulePlan]], now: float
) -> tuple[tuple[Ripe, ...], dict[Target, Look]]:
    """What is ripe, and what to remember until the next pass. now: monotonic.

    Ripe is what the memory has with the same fingerprint for the rule's `quiet_for` at least. What
    is not planned any more is forgotten, so that it begins anew. What was not walked has no
    fingerprint, and is never ripe.
    """
    ripe = []
    after: dict[Target, Look] = {}
    for rule, each in _each(planned):
        if not each.doomed.fingerprint:
            continue
        seen = memory.get(each.target)
        # A look from the future is one of another boot.
        if seen is None or seen.fingerprint != each.doomed.fingerprint or not seen.at <= now:
            after[each.target] = Look(each.doomed.fingerprint, now)
            continue
        after[each.target] = seen
        if now - seen.at >= rule.quiet_for:
            ripe.append(each)
    return tuple(ripe), after


def _each(planned: Sequence[tuple[Rule, RulePlan]]) -> Iterator[tuple[Rule, Ripe]]:
    for rule, plan in planned:
        for run in plan.runs:
            for doomed in run.delete:
                yield rule, Ripe(rule.path, run, doomed)


def to_rows(memory: Memory) -> list[list[Any]]:
    """As JSON holds it."""
    return [[t.run, list(t.names), seen.fingerprint, seen.at] for t, seen in memory.items()]


def from_rows(rows: Sequence[Sequence[Any]]) -> dict[Target, Look]:
    """What to_rows() wrote."""
    return {
        Target(run, tuple(names)): Look(fingerprint, at) for run, names, fingerprint, at in rows
    }
