"""How long entries have lain in the trash, by what this host itself has seen; and which may go.

The time in a manifest is that of another host's clock, which could be anything, and this host's own
may have been set since. So only what passed on the monotonic clock while this host saw an entry
counts: an entry goes late after a reboot or a change of hosts, never early. Pure.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from agent.retention.facts import Space
from agent.retention.policy import Rule, amount_of
from agent.retention.trash import Entry

YOUNG = 3600.0
"""Seconds: what is younger is not removed, however little is free."""


@dataclass(frozen=True, slots=True)
class Ages:
    """seconds: how long each entry has been seen. boot: of the host; at: monotonic, then."""

    boot: str = ""
    at: float = 0.0
    seconds: Mapping[str, float] | None = None


def seen(known: Ages, entries: Sequence[Entry], boot: str, now: float) -> Ages:
    """What is known after a look at the entries that there are. now: monotonic seconds."""
    before = known.seconds or {}
    passed = max(0.0, now - known.at) if known.boot == boot else 0.0
    return Ages(
        boot,
        now,
        {each.id: before[each.id] + passed if each.id in before else 0.0 for each in entries},
    )


def expired(
    entries: Sequence[Entry],
    ages: Ages,
    keep_for: float,
    rules: Sequence[Rule],
    space: Space | None,
) -> list[Entry]:
    """Those that go for good: kept for long enough, or, the oldest first, needed as free space.

    What is wanted is what a rule's `free_space` says, while less than its `start_below` is free.
    """
    age = ages.seconds or {}
    oldest = sorted(entries, key=lambda each: (-age.get(each.id, 0.0), each.id))
    gone = [each for each in oldest if age.get(each.id, 0.0) >= keep_for]
    if space is None or space.total <= 0:
        return gone
    free = space.free + sum(each.size or 0 for each in gone)
    wanted = max((_wanted(rule, space) for rule in rules), default=0)
    for each in oldest[len(gone) :]:
        if free >= wanted or age.get(each.id, 0.0) < YOUNG:
            break
        free += each.size or 0
        gone.append(each)
    return gone


def _wanted(rule: Rule, space: Space) -> int:
    """Bytes that should be free; 0 where nothing is short."""
    wish = rule.free_space
    if wish is None or space.free >= amount_of(wish.start_below, space.total):
        return 0
    return amount_of(wish.stop_above, space.total)
