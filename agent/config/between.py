"""What sections of the file demand of each other, over the values as read. Pure.

Each check leaves alone what has not the right shape: the schema says so.
"""

import itertools
from collections.abc import Iterator, Mapping
from typing import Any

from agent.config import accounts, acl, patterns, places
from agent.config.accounts import ROOT
from agent.config.problems import Place
from agent.config.retention_schema import MOST_RULES, rule_path
from agent.config.strict import KEY

Found = tuple[Place, str]


def problems(value: Any) -> Iterator[Found]:
    """(place, sentence) each; a place that ends with KEY means the key."""
    mounts = _mapping(_mapping(value).get("mounts"))
    identities = _mapping(_mapping(value).get("identities"))
    for name, mount in mounts.items():
        yield from _unknown_accounts(
            ("mounts", name, "layout"), _mapping(_mapping(mount).get("layout")), identities
        )
        yield from _rules_overlap(
            ("mounts", name, "retention", "rules"), _mapping(_mapping(mount).get("retention"))
        )
    yield from _variables_twice(mounts)
    yield from _overlapping(mounts, _mapping(identities.get("remap")))


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def _unknown_accounts(
    above: Place, layout: Mapping[str, Any], identities: Mapping[str, Any]
) -> Iterator[Found]:
    directories = _mapping(layout.get("directories"))
    holders = [((*above, "defaults"), layout.get("defaults"))]
    holders += [((*above, "directories", path), given) for path, given in directories.items()]
    for place, given in holders:
        for key, where in (("owner", "users"), ("group", "groups")):
            name = _mapping(given).get(key)
            if not _known(name, _mapping(identities.get(where))):
                yield (*place, key), _add(where)
        entries = _mapping(given).get("acl")
        for index, text in enumerate(entries if isinstance(entries, list) else []):
            try:
                entry = acl.parse(text)
            except ValueError:
                continue
            where = f"{entry.tag}s"
            if not _known(entry.who, _mapping(identities.get(where))):
                yield (*place, "acl", index), f"names somebody who {_add(where)}"


def _known(name: object, ids: Mapping[str, Any]) -> bool:
    if not isinstance(name, str) or name == ROOT or name in ids:
        return True
    try:
        accounts.account(name)
    except ValueError:
        return True  # which is said of it already
    return False


def _add(where: str) -> str:
    return f"is not in identities.{where}; add it there, or write root or a number"


def _variables_twice(mounts: Mapping[str, Any]) -> Iterator[Found]:
    first: dict[str, str] = {}
    for name, mount in mounts.items():
        for variable in _mapping(_mapping(mount).get("environment")):
            if variable in first:
                message = f"is a variable of mounts.{first[variable]} too; it can have one value"
                yield ("mounts", name, "environment", variable, KEY), message
            first.setdefault(variable, name)


def _rules_overlap(above: Place, retention: Mapping[str, Any]) -> Iterator[Found]:
    """Of two rules that can be about one directory, one must be the more specific one."""
    rules = retention.get("rules")
    before: list[tuple[int, str]] = []
    for index, rule in enumerate(rules[:MOST_RULES] if isinstance(rules, list) else []):
        try:
            path = rule_path(_mapping(rule).get("path"))
        except ValueError:
            continue
        rank = patterns.specificity(path)
        for other_index, other in before:
            if patterns.specificity(other) == rank and patterns.overlap(path, other):
                yield (*above, index, "path"), _tie(path, other, f"rules[{other_index}]")
                break
        before.append((index, path))


def _tie(path: str, other: str, where: str) -> str:
    if path == other:
        return f"is the path of {where} too; write one rule"
    return (
        f"can mean the same directories as {where} ({other}), and neither has more names without"
        " * and ?; name more of the path in one of them"
    )


def _overlapping(mounts: Mapping[str, Any], remap: Mapping[str, Any]) -> Iterator[Found]:
    remaps = bool(remap.get("uids") or remap.get("gids"))
    for (one, first), (two, second) in itertools.combinations(mounts.items(), 2):
        if not _overlap(_mapping(first).get("volume"), _mapping(second).get("volume")):
            continue
        if all("layout" in _mapping(mount) for mount in (first, second)):
            message = f"holds directories of the volume that mounts.{one} does too; keep one"
            yield ("mounts", two, "layout", KEY), message
        if all("retention" in _mapping(mount) for mount in (first, second)):
            message = f"is about checkpoints that mounts.{one} has a retention for; keep one"
            yield ("mounts", two, "retention", KEY), message
        if remaps and not any(_read_only(mount) for mount in (first, second)):
            message = f"overlaps mounts.{one}, and remap would work on both; mount one of them ro"
            yield ("mounts", two, "volume"), message


def _overlap(one: Any, two: Any) -> bool:
    """Whether a volume, or a directory of one, is or holds the other."""
    if not isinstance(one, str) or not isinstance(two, str):
        return False
    return places.inside(one, two) or places.inside(two, one)


def _read_only(mount: Any) -> bool:
    options = _mapping(_mapping(mount).get("options"))
    return options.get("ro") is True or options.get("worm") is True or options.get("rw") is False
