"""Patterns of paths on a volume, as rules of retention have them: `projects/*/checkpoints`. Pure.

`*` stands for any letters within one name, `?` for one of them; a name that begins with a dot is
matched by a pattern that does, as in a shell.
"""

import fnmatch

WILD = frozenset("*?")


def is_literal(part: str) -> bool:
    """Whether one component of a pattern stands for one name only, which is itself."""
    return not WILD.intersection(part)


def specificity(pattern: str) -> int:
    """How many of its components are literal: of overlapping rules the one with more wins."""
    return sum(is_literal(part) for part in pattern.split("/"))


def matches(part: str, name: str) -> bool:
    """Whether one component of a pattern stands for a name."""
    if name.startswith(".") and not part.startswith("."):
        return False
    return fnmatch.fnmatchcase(name, part.replace("[", "[[]"))


def overlap(one: str, two: str) -> bool:
    """Whether a directory that one stands for can be, or be inside, one that the other does."""
    return all(map(_common, one.split("/"), two.split("/")))


def _common(one: str, two: str) -> bool:
    """Whether there is a name that both components stand for.

    May say yes of two that only a hidden name would fit, which neither stands for.
    """
    if any(a[:1] == "." and b[:1] in WILD for a, b in ((one, two), (two, one))):
        return False
    # meet[j]: whether what is left of one, and two[j:], have a name in common.
    meet = [not two[j:].strip("*") for j in range(len(two) + 1)]
    for i in reversed(range(len(one))):
        below, meet = meet, [False] * (len(two) + 1)
        meet[-1] = not one[i:].strip("*")
        for j in reversed(range(len(two))):
            if "*" in (one[i], two[j]):
                meet[j] = below[j] or meet[j + 1]
            else:
                meet[j] = below[j + 1] and (one[i] == two[j] or "?" in (one[i], two[j]))
    return meet[0]
