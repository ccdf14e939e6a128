"""The part of a plan that shrinks for want of space: `max_size` and `free_space`. Pure.

Only what `every_steps` and `newer_than` alone keep may go so, oldest first: one user's flood must
not evict what another one's `last` keeps.
"""

from collections.abc import Sequence
from typing import NamedTuple

from agent.config import sizes
from agent.config.sizes import Amount
from agent.retention.facts import Space
from agent.retention.keepers import Judged
from agent.retention.policy import FreeSpace, Rule, amount_of

Part = tuple[Rule, Sequence[Judged]]
"""A rule, and all checkpoints of its runs."""


def shrink_to_size(rule: Rule, judged: Sequence[Judged]) -> tuple[str, ...]:
    """Dooms what is too much for the rule's `max_size`. What people should know of it.

    An unknown size counts as 0: less goes then.
    """
    if rule.max_size is None:
        return ()
    limit = sizes.text(rule.max_size)
    unknown = sum(each.unit.size is None for each in judged if each.stays)
    total = sum(each.unit.size or 0 for each in judged if each.stays)
    for each in _oldest_first(judged):
        if total <= rule.max_size:
            break
        total -= each.unit.size or 0
        _doom(each, f"max_size: over {limit}, and the oldest of what may go for that")
    findings = []
    if total > rule.max_size:
        findings.append(f"max_size: what has to stay is {sizes.text(total)}, over {limit}")
    if unknown:
        findings.append(f"max_size: the size of {unknown} checkpoints is not known")
    return tuple(findings)


def shrink_for_space(parts: Sequence[Part], space: Space) -> list[tuple[str, ...]]:
    """Dooms just the shortfall of free space, of all rules that ask for it together.

    What other reasons doom already counts, and so does what the trash still holds. Each item of the
    answer is what people should know of a part.
    """
    coming = space.free + space.in_trash
    coming += sum(each.unit.size or 0 for _, judged in parts for each in judged if not each.stays)
    needs = [_need(rule.free_space, space) for rule, _ in parts]
    short = [(need, judged) for need, (_, judged) in zip(needs, parts, strict=True) if need.free]
    need_of = {id(each): need for need, judged in short for each in judged}
    for each in _oldest_first([each for _, judged in short for each in judged]):
        need = need_of[id(each)]
        if coming < need.free:
            coming += each.unit.size or 0
            _doom(each, need.why)
    return [
        (f"free_space: with all that may go for it, {sizes.text(need.free - coming)} are missing",)
        if coming < need.free
        else ()
        for need in needs
    ]


class _Need(NamedTuple):
    """Bytes that should be free, 0 where nothing is short; and why."""

    free: int
    why: str


def _need(wish: FreeSpace | None, space: Space) -> _Need:
    if wish is None or space.total <= 0 or space.free >= amount_of(wish.start_below, space.total):
        return _Need(0, "")
    percent = 100 * space.free // space.total
    why = (
        f"free_space: {percent}% is free, less than {_text(wish.start_below)}: the oldest of what"
        f" may go for that, until {_text(wish.stop_above)} will be"
    )
    return _Need(amount_of(wish.stop_above, space.total), why)


def _text(amount: Amount) -> str:
    return sizes.text(amount) if isinstance(amount, int) else str(amount)


def _oldest_first(judged: Sequence[Judged]) -> list[Judged]:
    optional = [each for each in judged if each.may and not each.must and not each.fixed]
    return sorted(optional, key=lambda each: (each.unit.newest, each.unit.order))


def _doom(judged: Judged, why: str) -> None:
    judged.against = [why, *(f"only that kept it: {reason}" for reason in judged.may)]
    judged.may = []
