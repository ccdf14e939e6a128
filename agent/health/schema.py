"""Schema 1 of status.json: AgentStatus as plain values, and back with each value checked.

Keys have the names of the model's fields, but for what stands here. The schema is part of the
product's contract: names are added, never renamed.
"""

from typing import Any

from agent.codec import decode, encode, typed
from agent.model.status import AgentStatus, MountStatus


def to_dict(status: AgentStatus) -> dict[str, Any]:
    """Everything that status.json holds."""
    told = encode(status)
    return {
        "schema": 1,
        "host": told.pop("host"),
        "time": told.pop("time"),
        "version": told.pop("version"),
        "agent": told.pop("pid"),
        **told,
        "mounts": {mount.name: _from_mount(mount) for mount in status.mounts},
        "identities": told["identities"] or {},
    }


def from_dict(value: object) -> AgentStatus:
    """Raises ValueError for what isn't schema 1; keys that it doesn't know are left aside."""
    top = typed(value, dict, "status")
    if top.get("schema") != 1:
        raise ValueError(f"schema {top.get('schema')!r} is not 1")
    try:
        mounts = typed(top["mounts"], dict, "mounts")
        plain = {
            **top,
            "pid": top["agent"],
            "mounts": [_to_mount(name, mount) for name, mount in mounts.items()],
            "identities": _or_none(top, "identities"),
        }
    except KeyError as error:
        raise ValueError(f"{error.args[0]} is missing") from error
    return decode(AgentStatus, plain)


def _from_mount(mount: MountStatus) -> dict[str, Any]:
    told = encode(mount)
    del told["name"], told["obstacles"]
    client = told.pop("client") or {"pid": None, "start_time": None}
    return {
        **told,
        "client_pid": client["pid"],
        "client_start_time": client["start_time"],
        "bricks": _from_bricks(mount, told["bricks"]),
        "layout": told["layout"] or {},
        "remap": told["remap"] or {},
        "retention": told["retention"] or {},
    }


def _to_mount(name: str, value: object) -> dict[str, Any]:
    """The plain values of a MountStatus. Raises KeyError for what is missing, ValueError."""
    told = typed(value, dict, name)
    pid, start_time, bricks = told["client_pid"], told["client_start_time"], told["bricks"]
    return {
        **told,
        "name": name,
        "client": None if pid is None else {"pid": pid, "start_time": start_time},
        "bricks": None if bricks is None else typed(bricks, dict, "bricks")["all"],
        "layout": _or_none(told, "layout"),
        "remap": _or_none(told, "remap"),
        "retention": _or_none(told, "retention"),
        "obstacles": [],
    }


def _from_bricks(mount: MountStatus, told: list[Any] | None) -> dict[str, Any] | None:
    if mount.bricks is None:
        return None
    return {
        "connected": sum(brick.connected for brick in mount.bricks),
        "total": len(mount.bricks),
        "down": [brick.label for brick in mount.bricks if not brick.connected],
        "all": told,
    }


def _or_none(told: dict[str, Any], key: str) -> dict[str, Any] | None:
    """What is not there is an empty object, so that a script can look into it."""
    return typed(told[key], dict, key) or None
