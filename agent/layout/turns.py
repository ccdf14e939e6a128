"""Which of a volume's hosts makes the routine pass: whoever finds that nobody did lately. Pure.

No clock of another host is asked: each pass leaves another text, and a host that finds one it has
not seen knows that somebody passed since it looked last.
"""

from enum import Enum

from agent.layout.seen import Turn

SKIPS = 12
"""Passes left to others in a row, at most: a word left on the volume can be forged."""


class Decision(Enum):
    """What to do about a routine pass."""

    OURS = "nobody made it"
    THEIRS = "another host made it"
    DISPUTED = "another host made it, for another layout"


def decide(found: Turn, known: Turn, layout: str, skipped: int) -> Decision:
    """known: the word seen last; layout: fingerprint of one's own; skipped: passes in a row."""
    if not found.turn or found.turn == known.turn:
        return Decision.OURS
    if found.layout != layout:
        return Decision.DISPUTED
    return Decision.OURS if skipped >= SKIPS else Decision.THEIRS
