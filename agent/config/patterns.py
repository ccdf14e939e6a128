"""Patterns of paths on a volume, as rules of retention have them: `projects/*/checkpoints`. Pure.

`*` stands for any letters within one name, `?` for one of them; a name that begins with a dot is
matched by a pattern that does, as in a shell.
"""

import functools
import re

WILD = frozenset("*?")


def is_literal(part: str) -> bool:
    """Whether one component of a pattern stands for one name only, which is itself."""
    return not WILD.intersection(part)


def specificity(pattern: str) -> int:
    """How many of its components are literal: of overlapping rules the one with more wins."""
    return sum(is_literal(part) for part in pattern.split("/"))


def matches(part: str, name: str) -> bool:
    """Whether one component of a pattern stands for a name."""
    return bool(_expression(part).fullmatch(name))


@functools.lru_cache(maxsize=256)
def _expression(part: str) -> re.Pattern[str]:
    signs = {"*": ".*", "?": "."}
    body = "".join(signs.get(char) or re.escape(char) for char in part)
    hidden = r"(?!\.)" if part[:1] in WILD else ""
    return re.compile(hidden + body, re.DOTALL)


def overlap(one: str, two: str) -> bool:
    """Whether there can be a directory that one pattern stands for and that is, or is inside, one
    that the other stands for."""
    return all(map(_common, one.split("/"), two.split("/")))


def _common(one: str, two: str) -> bool:
    """Whether there is a name that both components stand for."""
    hidden = {part[0] == "." for part in (one, two)}
    if hidden == {True, False} and any(part[0] in WILD for part in (one, two)):
        return False

    @functools.cache
    def meet(i: int, j: int) -> bool:
        if i == len(one) or j == len(two):
            return not (one[i:] + two[j:]).strip("*")
        if one[i] == "*":
            return meet(i + 1, j) or (two[j] == "*" and meet(i, j + 1)) or meet_star(i, j)
        if two[j] == "*":
            return meet(i, j + 1) or meet(i + 1, j)
        return (one[i] == two[j] or "?" in (one[i], two[j])) and meet(i + 1, j + 1)

    def meet_star(i: int, j: int) -> bool:
        return two[j] != "*" and meet(i, j + 1)

    return meet(0, 0)
