"""YAML text -> plain values that remember where they stand.

Only what a configuration needs is taken: mappings with text keys, lists, and scalars that mean the
same in YAML 1.1, YAML 1.2 and to a reader. All else is a Problem, or an Ambiguous value that no
field of the schema accepts.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import yaml

from agent.config.problems import Place, Problem
from agent.config.strict import KEY

MAX_BYTES = 1 << 20
MAX_DEPTH = 24
MAX_NODES = 20_000
"""Values, each alias counted with all that it stands for: a bomb of aliases ends here."""

_TAG = "tag:yaml.org,2002:"
_AMBIGUOUS = frozenset({"bool", "int", "float", "timestamp", "value", "merge"})
_NO_TAGS = "a tag (!) is not taken; quote text that begins with !"
_NO_COLON = "could not find expected ':'"
_HINTS = {
    r"'\t'": "a tab stands where only blanks may; indent with blanks",
    _NO_COLON: (
        "here a colon is missing, or the blank after it, or that after the dash of a list item"
    ),
    "mapping values are not allowed here": (
        "no key can begin here; the line above lacks a colon or the blank after it, this line is "
        "indented too far, or its text has a colon in it and needs quotes"
    ),
    "but found '<block mapping start>'": "this line is indented unlike its neighbours",
}
"""What a tired hand does most often: what the parser calls it -> what it is."""
_CONFLICT = re.compile(r"^(<{7}|={7}|>{7})( .*)?\r?$", re.MULTILINE)
_NUMBER = re.compile(r"[-+]?(0|[1-9][0-9]{0,17})(\.[0-9]{1,17})?", re.ASCII)
_INTEGER = re.compile(r"[-+]?(0|[1-9][0-9]{0,17})", re.ASCII)

_BY_NUMBER: frozenset[Place] = frozenset(
    {("identities", "remap", "uids"), ("identities", "remap", "gids")}
)
"""Mappings whose keys are numbers, with or without quotes; they are read as text all the same."""


@dataclass(frozen=True, slots=True)
class Ambiguous:
    """A scalar that YAML reads as something else than it looks: `on`, `1:30`, `0775`."""

    text: str


class TreeInvalid(Exception):
    """Not the YAML that is taken; problem says where and why."""

    def __init__(self, problem: Problem) -> None:
        super().__init__(problem.message)
        self.problem = problem


@dataclass(slots=True)
class Tree:
    """keys and values: (line, column), both from 1, of each key and of each value, by place."""

    value: Any = None
    keys: dict[Place, tuple[int, int]] = field(default_factory=dict)
    values: dict[Place, tuple[int, int]] = field(default_factory=dict)
    problems: list[Problem] = field(default_factory=list)

    def key_at(self, place: Place) -> tuple[int, int]:
        """Where the key of a value stands; of the nearest thing around it, if there is none."""
        for end in range(len(place), 0, -1):
            known = self.keys.get(place[:end]) or self.values.get(place[:end])
            if known:
                return known
        return (1, 1)

    def value_at(self, place: Place) -> tuple[int, int]:
        """Where a value stands."""
        return self.values.get(place) or self.key_at(place)

    def problem(self, place: Place, message: str) -> Problem:
        """What is wrong with a value; with its key where the place ends with KEY."""
        if place[-1:] == (KEY,):
            return Problem(*self.key_at(place[:-1]), dotted(place[:-1]), message)
        return Problem(*self.value_at(place), dotted(place), message)


def dotted(place: Place) -> str:
    """mounts.model-share.servers[1]; what isn't a plain word is shown quoted and cut."""
    text = ""
    for part in place:
        if isinstance(part, int):
            text += f"[{part}]"
            continue
        plain = re.fullmatch(r"[A-Za-z0-9_.-]{1,64}", part)
        text += ("." if text else "") + (part if plain else ascii(part[:64]))
    return text


def read(text: str) -> Tree:
    """Raises TreeInvalid at the first thing that makes the rest unreadable."""
    try:
        loader = _Loader(text)
        node = loader.get_single_node()
    except yaml.reader.ReaderError as error:
        place = text[: error.position]
        line, column = place.count("\n") + 1, len(place) - (place.rfind("\n") + 1) + 1
        message = f"character U+{error.character:04X} is not allowed in YAML"
        raise TreeInvalid(Problem(line, column, "", message)) from None
    except yaml.MarkedYAMLError as error:
        raise TreeInvalid(_conflict(text) or _syntax(error)) from None
    tree = Tree()
    if node is not None:
        tree.value = _Builder(tree).build(node, ())
    return tree


class _Loader(yaml.SafeLoader):
    """Composes at most MAX_NODES nodes, at most MAX_DEPTH of them inside each other."""

    depth = 0
    nodes = 0

    def compose_node(self, parent: yaml.Node | None, index: Any) -> yaml.Node | None:
        self.nodes += 1
        if self.depth >= MAX_DEPTH or self.nodes > MAX_NODES:
            mark = self.peek_event().start_mark  # type: ignore[no-untyped-call]
            raise yaml.MarkedYAMLError(
                problem="holds too much, or is nested too deep", problem_mark=mark
            )
        self.depth += 1
        try:
            return super().compose_node(parent, index)
        finally:
            self.depth -= 1


class _Builder:
    def __init__(self, tree: Tree) -> None:
        self.tree = tree
        self.nodes = 0

    def build(self, node: yaml.Node, place: Place) -> Any:
        self.nodes += 1
        if self.nodes > MAX_NODES or len(place) > MAX_DEPTH:
            raise TreeInvalid(Problem(*_at(node), "", "holds too much, or an alias of itself"))
        self.tree.values[place] = _at(node)
        if isinstance(node, yaml.ScalarNode):
            return self._scalar(node, place)
        if node.tag not in {f"{_TAG}seq", f"{_TAG}map"}:
            self._refuse(node, place, _NO_TAGS)
            return Ambiguous(node.tag)
        if isinstance(node, yaml.SequenceNode):
            return [self.build(item, (*place, i)) for i, item in enumerate(node.value)]
        return dict(self._items(node, place))

    def _items(self, node: yaml.Node, place: Place) -> Iterator[tuple[str, Any]]:
        seen: dict[str, int] = {}
        for key_node, value_node in node.value:
            key = self._key(key_node, place)
            if key is None:
                continue
            here = (*place, key)
            if key in seen:
                self._refuse(key_node, here, f"is given twice, first on line {seen[key]}")
                continue
            seen[key] = _at(key_node)[0]
            self.tree.keys[here] = _at(key_node)
            yield key, self.build(value_node, here)

    def _key(self, node: yaml.Node, place: Place) -> str | None:
        if not isinstance(node, yaml.ScalarNode):
            self._refuse(node, place, "a key must be text")
        elif node.tag == f"{_TAG}merge":
            self._refuse(node, place, "merge keys (<<) are not taken; write the keys out")
        elif place in _BY_NUMBER and _INTEGER.fullmatch(node.value):
            return str(node.value)
        elif node.tag != f"{_TAG}str":
            self._refuse(node, place, "a key here is not text to YAML: quote it")
        else:
            return str(node.value)
        return None

    def _scalar(self, node: yaml.ScalarNode, place: Place) -> Any:
        kind, text = node.tag.removeprefix(_TAG), node.value
        if kind == "str":
            return text
        if kind == "null":
            return None
        if kind == "bool" and text.lower() in {"true", "false"}:
            return text.lower() == "true"
        if kind == "int" and _INTEGER.fullmatch(text):
            return int(text)
        if kind == "float" and _NUMBER.fullmatch(text):
            return float(text)
        if kind not in _AMBIGUOUS:
            self._refuse(node, place, _NO_TAGS)
        return Ambiguous(text)

    def _refuse(self, node: yaml.Node, place: Place, message: str) -> None:
        self.tree.problems.append(Problem(*_at(node), dotted(place), message))


def _at(node: yaml.Node) -> tuple[int, int]:
    return (node.start_mark.line + 1, node.start_mark.column + 1)


def _conflict(text: str) -> Problem | None:
    """A merge that was left half done is no YAML either, and this says more than the parser."""
    marker = _CONFLICT.search(text)
    if marker is None:
        return None
    line = text.count("\n", 0, marker.start()) + 1
    return Problem(line, 1, "", "is a conflict marker of a merge; settle the merge first")


def _syntax(error: yaml.MarkedYAMLError) -> Problem:
    mark = error.problem_mark or error.context_mark
    said = str(error.problem or error.context or "is no YAML")
    hint = next((hint for part, hint in _HINTS.items() if part in said), "")
    if said.startswith(_NO_COLON):
        # The parser notices in a later line; its context is the text that lacks the colon.
        mark = error.context_mark or mark
    line, column = (mark.line + 1, mark.column + 1) if mark else (1, 1)
    if hint:
        return Problem(line, column, "", f"is no valid YAML: {hint}")
    if "undefined alias" in said:
        said = "an alias (*) without its anchor; quote text that begins with *"
    elif "tag" in said:
        said = _NO_TAGS
    elif said.startswith("but found another document"):
        said = "holds a second document (---); only one is taken"
    said = re.sub(r"(['\"])(.*?)\1", _harmless, said)
    context = f" ({error.context})" if error.context and "'" not in str(error.context) else ""
    return Problem(line, column, "", f"is no valid YAML: {said}{context}")


def _harmless(quoted: re.Match[str]) -> str:
    """The parser quotes what it found: its own words in <>, one character, or part of a secret."""
    inner = quoted[2]
    return quoted[0] if len(inner) <= 1 or inner.startswith("<") else "something else"
