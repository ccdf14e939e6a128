"""What the rules of one volume keep and delete: runs in, a plan out. Pure.

It is asked twice. First with units of which only the names and the evidence were looked at; those
that are doomed then are walked whole, and it is asked again with `whole`: what is doomed now and was
not walked is kept.
"""

from collections.abc import Sequence

from agent.retention.facts import Run, Space
from agent.retention.planned import RulePlan
from agent.retention.policy import Rule


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
    `free_space` only those of doomed ones are.
    """
