"""Which of a volume's hosts looks after its checkpoints: the one that did, for as long as it does.

Two looks of one host are needed for a deletion, so the work stays with a host. No clock of another
is asked: each pass leaves another text, and a host that finds one it has not seen knows that
somebody is at it. Pure.
"""

from dataclasses import dataclass

MISSED = 2
"""Looks in a row that find the same word, until its host counts as gone: passes are irregular."""
SKIPS = 24
"""Passes left to others in a row, at most: a word left on the volume can be forged."""


@dataclass(frozen=True, slots=True)
class Word:
    """What the last pass left on the volume; both "" where there was none."""

    host: str = ""
    turn: str = ""


@dataclass(frozen=True, slots=True)
class Seen:
    """What this host knows of the others: the newest word, how often seen, passes left to them."""

    word: Word = Word()
    times: int = 0
    skipped: int = 0


def look(found: Word, known: Seen, host: str) -> tuple[bool, Seen]:
    """Whether the pass that is due is this host's, and what to know the next time."""
    times = known.times + 1 if found == known.word else 1
    ours = not found.turn or found.host == host or times > MISSED or known.skipped >= SKIPS
    return ours, Seen(found, times, 0 if ours else known.skipped + 1)
