"""Sections of the file that are known but not wired in: refused by name, and not looked into.

To let one in, delete its line; its schema is there.
"""

from collections.abc import Iterator
from typing import Any

from agent import __version__
from agent.config.problems import Place, Problem
from agent.config.strict import KEY
from agent.config.tree import Tree, dotted

NAME = "NAME"
"""Stands for any name of the user's."""

LATER: tuple[tuple[str, ...], ...] = (("health", "metrics"),)
"""From the top of the file."""

_NOT_YET = f"is not supported by this version ({__version__}); remove it"


def take_out(tree: Tree) -> list[Problem]:
    """Removes such sections from the tree, with what is wrong inside, and refuses each."""
    places = [place for pattern in LATER for place in _there(tree.value, pattern, ())]
    inside = tuple(f"{dotted(place)}{sign}" for place in places for sign in ".[")
    tree.problems = [found for found in tree.problems if not found.where.startswith(inside)]
    for place in places:
        above = tree.value
        for part in place[:-1]:
            above = above[part]
        del above[place[-1]]
    return [tree.problem((*place, KEY), _NOT_YET) for place in places]


def _there(value: Any, pattern: tuple[str, ...], above: Place) -> Iterator[Place]:
    if not pattern:
        yield above
        return
    for key in list(value) if isinstance(value, dict) else []:
        if pattern[0] in (NAME, key):
            yield from _there(value[key], pattern[1:], (*above, key))
