"""What is noted of an entry of the trash: whence, whose, why.

Root in any container with the volume can write what it likes there: so a note is never believed in
what it says of owners, and the places it names are entered as any others, no link being followed.
"""

import json

from agent.worker import own

NOTE = ".gluster-ml.json"
"""In the entry itself: the same once more, for its owner, who can't read root's manifest."""
LIMIT = 256 << 10
"""Bytes of a manifest that are read."""
_NAMES = 1000
_TEXT = 4096
"""Characters of a text in it."""
_TEXTS = 20
_LATEST = 1 << 37
"""Epoch seconds, in the year 6325: what is shown as a date must be one."""

Row = dict[str, object]


class Manifest:
    """run: the directory it came from, relative to the volume's root; place: that one's inode.

    inodes: those of the unit, by name. told: "owner", "group" as they were, "rule", "reasons",
    "size" (allocated bytes, None where it was not asked for), "time" (epoch seconds by the clock of
    "host"), "version": for people.
    """

    __slots__ = ("inodes", "place", "run", "told")

    def __init__(self, run: str, place: int, inodes: dict[str, int], told: Row) -> None:
        self.run = run
        self.place = place
        self.inodes = inodes
        self.told = told

    @property
    def names(self) -> list[str]:
        """Of the unit, in the order in which they are moved."""
        return sorted(self.inodes)

    def row(self) -> Row:
        """As it is written."""
        return {
            "schema": 1,
            "run": self.run,
            "place": self.place,
            "inodes": self.inodes,
            **self.told,
        }


def fits(what: Manifest) -> bool:
    """Whether load() will read it: names in no encoding take six characters a byte."""
    return len(json.dumps(what.row())) <= LIMIT


def load(where: int, name: str) -> Manifest | None:
    """The manifest in a file of root's; None where there is none that makes sense."""
    found = own.read(where, name, LIMIT)
    if found is None:
        return None
    run, place, inodes = found.get("run"), found.get("place"), found.get("inodes")
    if not is_run(run) or not _is_number(place) or not isinstance(inodes, dict):
        return None
    if not 0 < len(inodes) <= _NAMES or not all(map(is_name, inodes)):
        return None
    if not all(map(_is_number, inodes.values())):
        return None
    return Manifest(str(run), int(str(place)), inodes, told(found))


def is_run(path: object) -> bool:
    """Whether it can be a run's path: relative, without a step up, and not the agent's own."""
    if not isinstance(path, str) or len(path) > _TEXT or "\0" in path:
        return False
    parts = path.split("/")
    return parts[0] != own.BASE and not any(part in ("", ".", "..") for part in parts)


def is_name(name: object) -> bool:
    """Whether it can be the name of something that goes to the trash."""
    return is_run(name) and "/" not in str(name) and not str(name).startswith(NOTE)


def told(found: Row) -> Row:
    """Of what somebody wrote, what Manifest.told has, each of its kind."""
    size, time = found.get("size"), found.get("time")
    reasons = found.get("reasons")
    sound = isinstance(time, int | float) and 0 <= time < _LATEST  # NaN is neither
    return {
        **{key: found.get(key) if _is_number(found.get(key)) else 0 for key in ("owner", "group")},
        **{key: _text(found.get(key)) for key in ("rule", "host", "version")},
        "reasons": [_text(each) for each in reasons[:_TEXTS]] if isinstance(reasons, list) else [],
        "size": size if _is_number(size) else None,
        "time": time if sound else 0.0,
    }


def _is_number(value: object) -> bool:
    return type(value) is int and 0 <= value < 1 << 64


def _text(value: object) -> str:
    return value[:_TEXT] if isinstance(value, str) else ""
