"""What the agents of all hosts want of a volume: `.gluster-ml/hosts`, a small file a host.

One that was left behind with other rules must not clean for all: so nothing is moved while hosts
that were seen lately differ. Root in any container can forge these files; a forged one only keeps
things from being moved.
"""

import os
import re

from agent.worker import own

OURS = "hosts"
"""Of the agent's own directories on a volume."""
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
_ENDING = ".json"
LATELY = 86400.0
"""Seconds since a host was seen for the last time, until it does not count any more."""
_MOST = 100_000
"""Files that are read."""


def publish(root: int, host: str, wanted: str, now: float) -> None:
    """Leave word of what this host wants. Raises own.RefusedError, OSError."""
    where = own.directory(root, OURS, make=True)
    try:
        own.write(where, _file(host), {"wants": wanted, "time": now})
    finally:
        os.close(where)


def differing(root: int, host: str, wanted: str, now: float) -> list[str]:
    """The hosts that were seen lately and want something else, sorted.

    Their clocks may go wrong: one that is ahead counts, too. Raises own.RefusedError, OSError.
    """
    where = own.directory(root, OURS, make=False)
    if where < 0:
        return []
    try:
        with os.scandir(where) as entries:
            names = [entry.name for _, entry in zip(range(_MOST), entries, strict=False)]
        return sorted(
            name.removesuffix(_ENDING)
            for name in names
            if name != _file(host) and _differs(where, name, wanted, now)
        )
    finally:
        os.close(where)


def _differs(where: int, name: str, wanted: str, now: float) -> bool:
    if not name.endswith(_ENDING) or not _NAME.fullmatch(name.removesuffix(_ENDING)):
        return False
    found = own.read(where, name) or {}
    time = found.get("time")
    if not isinstance(time, int | float) or not time > now - LATELY:  # so no number is too large
        return False
    return found.get("wants") != wanted


def _file(host: str) -> str:
    name = host if _NAME.fullmatch(host) else f"host-{os.fsencode(host).hex()[:56]}"
    return f"{name}{_ENDING}"
