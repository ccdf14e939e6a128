"""One-shot: asks the name service who has these names and numbers, and which groups they are in.

Request: {"users": [name], "uids": [number], "groups": [name], "gids": [number]}. Answer: a row
{"kind": "users" | "uids", "asked", "name", "uid", "gid"} or {"kind": "groups" | "gids", "asked",
"name", "gid"} for each that there is, and {"kind": "memberships", "asked", "gids"} for each user
found by name. LDAP and SSSD can keep a caller waiting for minutes, so nobody but a worker asks.
"""

import grp
import os
import pwd
from collections.abc import Callable, Iterable, Iterator

from agent.worker import channel

Row = dict[str, object]


def main() -> int:
    """Answer the one request."""
    request = channel.request()
    for row in look_up(request):
        channel.emit(row)
    channel.done()
    return 0


def look_up(request: dict[str, object]) -> Iterator[Row]:
    """A row for each name and number that is known."""
    for name in _texts(request["users"]):
        found = _found(pwd.getpwnam, name)
        if found is not None:
            yield _user("users", name, found)
            yield {"kind": "memberships", "asked": name, "gids": _gids(name, found.pw_gid)}
    for uid in _numbers(request["uids"]):
        found = _found(pwd.getpwuid, uid)
        if found is not None:
            yield _user("uids", uid, found)
    for name in _texts(request["groups"]):
        group = _found(grp.getgrnam, name)
        if group is not None:
            yield _group("groups", name, group)
    for gid in _numbers(request["gids"]):
        group = _found(grp.getgrgid, gid)
        if group is not None:
            yield _group("gids", gid, group)


def _found(ask: Callable, key: object):  # type: ignore[no-untyped-def, type-arg]
    try:
        return ask(key)
    except KeyError:
        return None


def _gids(name: str, gid: int) -> list[int]:
    return sorted({gid, *os.getgrouplist(name, gid)})


def _user(kind: str, asked: object, found: pwd.struct_passwd) -> Row:
    return {
        "kind": kind,
        "asked": asked,
        "name": found.pw_name,
        "uid": found.pw_uid,
        "gid": found.pw_gid,
    }


def _group(kind: str, asked: object, found: grp.struct_group) -> Row:
    return {"kind": kind, "asked": asked, "name": found.gr_name, "gid": found.gr_gid}


def _texts(values: object) -> list[str]:
    if not isinstance(values, Iterable):
        raise TypeError("not a list")
    return [str(value) for value in values]


def _numbers(values: object) -> list[int]:
    return [int(value) for value in _texts(values)]
