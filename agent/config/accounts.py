"""Users, groups and their numbers in agent.yaml. Each check raises ValueError.

A name here is one that useradd(8) and groupadd(8) of Debian take without --badname; a directory
service may have others, and these are written as numbers.
"""

import re
from collections.abc import Mapping

from agent.config.tree import Ambiguous

ROOT = "root"
LOWEST = 1000
"""Below are the system's own ids, which differ from host to host (UID_MIN of login.defs(5))."""
HIGHEST = (1 << 32) - 2
"""The last is (uid_t)-1, which means "leave as it is" to chown(2)."""
NOBODY = frozenset({65534, 65535})
"""Debian's nobody, and the (uid_t)-1 of 16 bits."""

IDS = f"{LOWEST} to {HIGHEST}"
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_.-]{0,31}", re.ASCII)
_DIGITS = re.compile(r"0|[1-9][0-9]{0,9}", re.ASCII)

Account = str | int
"""`root`, a name of the map, or a number."""


def account_name(name: str) -> str:
    """A name that the map may have, as given."""
    if name == ROOT:
        raise ValueError("is the same on every host; it does not belong in the map")
    if not _NAME.fullmatch(name):
        raise ValueError(
            "is no name for a user or group: use 1 to 32 letters, digits, dots, hyphens and"
            " underscores, with a letter or underscore first"
        )
    return name


def account_id(value: object) -> int:
    """A number that the map may have."""
    if isinstance(value, bool) or not isinstance(value, int):
        raise ValueError(f"must be a whole number without quotes, {IDS}")
    if value == 0:
        raise ValueError(f"is root, and never mapped; ids are {IDS}")
    if value < LOWEST:
        raise ValueError(f"is an id of the system, which differs between hosts; ids are {IDS}")
    if value in NOBODY:
        raise ValueError("means nobody; take another id")
    if value > HIGHEST:
        raise ValueError(f"is no id; ids are {IDS}")
    return value


def source_id(value: object) -> int:
    """An old id: the key of a remap, which YAML may have as a number or as text."""
    if not isinstance(value, str) or not _DIGITS.fullmatch(value):
        raise ValueError(f"must be an old id, a number, {IDS}")
    return account_id(int(value))


def account(value: object) -> Account:
    """Who owns something: `root`, a name, or a number. Whether the map has it, others check."""
    match value:
        case "root":
            return ROOT
        case str() if _DIGITS.fullmatch(value):
            raise ValueError("is a number: write it without quotes")
        case str():
            return account_name(value)
        case bool() | Ambiguous():
            raise ValueError("is not text to YAML: quote it")
        case int():
            return _number(value)
    raise ValueError("must be root, a name of identities, or a number")


def account_in_text(text: str) -> Account:
    """The same where numbers stand inside text, as in an ACL entry."""
    return _number(int(text)) if _DIGITS.fullmatch(text) else account(text)


def _number(value: int) -> int:
    if value == 0:
        raise ValueError("is root: write root")
    return account_id(value)


def number(who: Account, known: Mapping[str, int]) -> int:
    """The id of an account of a valid configuration; known: the ids of the map, by name."""
    if isinstance(who, int):
        return who
    return 0 if who == ROOT else known[who]
