"""POSIX ACL entries of a directory as setfacl(1) takes them: `default:group:ml:rwx`. Pure."""

import re
from typing import Literal, NamedTuple

from agent.config.accounts import Account, account_in_text
from agent.config.problems import Place, Several

Tag = Literal["user", "group", "mask", "other"]

_TAGS: dict[str, Tag] = {
    "u": "user",
    "user": "user",
    "g": "group",
    "group": "group",
    "m": "mask",
    "mask": "mask",
    "o": "other",
    "other": "other",
}
_LETTERS = re.compile(r"[rwxX-]{1,3}", re.ASCII)
_BITS = {"r": 4, "w": 2, "x": 1, "X": 1}
_EXAMPLE = "e.g. default:group::rwx or group:ml:rwx"


class AclEntry(NamedTuple):
    """default: of the default ACL, which new files and directories inside get.

    who: None is the owner, the owning group, mask or others. permissions: 4 read, 2 write, 1 enter.
    """

    default: bool
    tag: Tag
    who: Account | None
    permissions: int

    def __str__(self) -> str:
        letters = "".join(
            letter if self.permissions & _BITS[letter] else "-" for letter in ("r", "w", "x")
        )
        who = "" if self.who is None else self.who
        return f"{'default:' if self.default else ''}{self.tag}:{who}:{letters}"


def entries(value: object) -> tuple[AclEntry, ...]:
    """The entries of an `acl:` list. Raises Several, or ValueError if it is no list."""
    if isinstance(value, tuple) and all(isinstance(entry, AclEntry) for entry in value):
        return value
    if not isinstance(value, list):
        raise ValueError('must be a list, e.g. ["default:group::rwx"]')
    good: dict[tuple[object, ...], AclEntry] = {}
    bad: list[tuple[Place, str]] = []
    for place, item in enumerate(value):
        try:
            entry = parse(item)
        except ValueError as error:
            bad.append(((place,), str(error)))
            continue
        if entry[:3] in good:
            bad.append(((place,), f"speaks of the same as {good[entry[:3]]}; remove one of them"))
        good[entry[:3]] = entry
    if bad:
        raise Several(bad)
    return tuple(good.values())


def parse(value: object) -> AclEntry:
    """One entry. Raises ValueError with a sentence for the user."""
    if not isinstance(value, str):
        raise ValueError(f"must be text, {_EXAMPLE}")
    if "," in value:
        raise ValueError("holds several entries; make each an item of the list")
    fields = value.split(":")
    default = fields[0] in {"d", "default"}
    if default:
        fields = fields[1:]
    if fields and fields[0] in {"o", "other", "m", "mask"} and len(fields) == 2:
        fields.insert(1, "")  # setfacl takes other:rx too
    if len(fields) != 3 or fields[0] not in _TAGS:
        raise ValueError(f"is no ACL entry with its permissions, {_EXAMPLE}")
    tag, name = _TAGS[fields[0]], fields[1]
    if tag in {"mask", "other"} and name:
        raise ValueError(f"names somebody, which {tag} can't")
    if not default and not name:
        raise ValueError("is what mode says already; write it there, or as default: entry")
    who = _who(name) if name else None
    return AclEntry(default, tag, who, _permissions(fields[2]))


def _who(name: str) -> Account:
    try:
        return account_in_text(name)
    except ValueError as error:
        raise ValueError(f"is for somebody whose name {error}") from None


def _permissions(text: str) -> int:
    if re.fullmatch("[0-7]", text, re.ASCII):
        return int(text)
    letters = text.replace("-", "").lower()
    if not _LETTERS.fullmatch(text) or len(set(letters)) != len(letters):
        raise ValueError("has no permissions at its end: rwx, r-x, ---")
    return sum(_BITS[letter] for letter in letters)
