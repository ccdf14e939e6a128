"""The words of a plan: why a checkpoint stays or goes, for people. Pure."""

import math

from agent.config import durations
from agent.retention.policy import Best

NEWEST = "the newest complete one"


def ordinal(place: int) -> str:
    """0 -> "newest", 1 -> "2nd newest", ..."""
    count = place + 1
    if count == 1:
        return "newest"
    ending = {1: "st", 2: "nd", 3: "rd"}.get(count % 10, "th")
    return f"{count}{'th' if count % 100 in (11, 12, 13) else ending} newest"


def age(newest: float, now: float) -> str:
    """When something was last written to, to two figures: "3h20m ago"."""
    seconds = now - newest
    if not math.isfinite(seconds):
        return "at no known time"
    if seconds < 0:
        return "in the future, by this host's clock"
    for unit, above in ((86400, 864000), (3600, 86400), (60, 3600)):
        if seconds >= above:
            seconds -= seconds % unit
            break
    return f"{durations.text(seconds)} ago"


def number(value: float) -> str:
    """A metric's value: as short as tells it apart."""
    return f"{value:.6g}"


def newer(count: int, word: str) -> str:
    """As in "1 complete one is newer by step" and "3 complete ones are newer by step"."""
    return f"{count} complete {'one is' if count == 1 else 'ones are'} newer by {word}"


def is_best(best: Best, value: float, place: int, among: int) -> str:
    """Why a value of a metric keeps: place 0 is the best of them."""
    word = "lowest" if best.mode == "min" else "highest"
    rank = word if place == 0 else ordinal(place).replace("newest", word)
    return f"best: {best.metric} {number(value)} is the {rank} of {among}"


def is_not_best(best: Best, value: float | None, among: int) -> str:
    """Why it does not keep."""
    if value is None:
        return f"no {best.metric} is recorded for it"
    word = "lowest" if best.mode == "min" else "highest"
    which = f"the {word}" if best.count == 1 else f"one of the {best.count} {word}"
    return f"{best.metric} {number(value)} is not {which} of {among}"
