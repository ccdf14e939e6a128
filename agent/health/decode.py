"""status.json back into AgentStatus, every value checked for its type.

By hand and not by pydantic: `status` and `wait` run in every job's prolog and by monitoring, and
must start in a fraction of pydantic's import time.
"""

from typing import Any, TypeVar

from agent.health.text import parse_iso
from agent.model import (
    AgentStatus,
    Brick,
    ConfigState,
    ConfigStatus,
    Holder,
    IdentitiesState,
    IdentitiesStatus,
    LayoutState,
    LayoutStatus,
    MountStatus,
    ProcessId,
    RemapState,
    RemapStatus,
    RetentionState,
    RetentionStatus,
    Space,
    Verdict,
)

T = TypeVar("T")


def from_dict(value: object) -> AgentStatus:
    """Raises ValueError for what isn't schema 1; keys that it doesn't know are left aside."""
    top = _typed(value, dict, "status")
    if top.get("schema") != 1:
        raise ValueError(f"schema {top.get('schema')!r} is not 1")
    try:
        return AgentStatus(
            host=_get(top, "host", str),
            version=_get(top, "version", str),
            time=parse_iso(_get(top, "time", str)),
            pid=_process(_get(top, "agent", dict)),
            config=_config(_get(top, "config", dict)),
            mounts=tuple(_mount(name, m) for name, m in _get(top, "mounts", dict).items()),
            unjudged=_strings(top, "unjudged"),
            identities=_identities(_get(top, "identities", dict)),
        )
    except KeyError as error:
        raise ValueError(f"{error.args[0]} is missing") from error


def _process(value: dict[str, Any]) -> ProcessId:
    return ProcessId(_get(value, "pid", int), _get(value, "start_time", int))


def _config(value: dict[str, Any]) -> ConfigStatus:
    return ConfigStatus(
        state=ConfigState(_get(value, "state", str)),
        path=_get(value, "path", str),
        errors=_strings(value, "errors"),
        warnings=_strings(value, "warnings"),
        fingerprint=_get(value, "fingerprint", str),
        seen=_get(value, "seen", str),
    )


def _mount(name: str, value: object) -> MountStatus:
    m = _typed(value, dict, name)
    observed = _optional(m, "observed", str)
    seconds = m["probe_seconds"]
    return MountStatus(
        name=name,
        path=_get(m, "path", str),
        volume=_get(m, "volume", str),
        verdict=Verdict(_get(m, "verdict", str)),
        since=parse_iso(_get(m, "since", str)),
        evidence=_get(m, "evidence", str),
        advice=_get(m, "advice", str),
        observed=None if observed is None else Verdict(observed),
        server=_optional(m, "server", str),
        client=_client(m),
        adopted=_get(m, "adopted", bool),
        bricks=_bricks(_optional(m, "bricks", dict)),
        space=_space(_optional(m, "space", dict)),
        findings=_strings(m, "findings"),
        pending=_get(m, "pending", str),
        holders=tuple(_holder(_typed(h, dict, "holder")) for h in _get(m, "holders", list)),
        recoveries=_get(m, "recoveries", int),
        last_recovery=_get(m, "last_recovery", str),
        probe_seconds=None if seconds is None else float(_typed(seconds, (int, float), name)),
        attempts=_get(m, "attempts", int),
        removing=_get(m, "removing", bool),
        client_log=_get(m, "client_log", str),
        layout=_layout(_get(m, "layout", dict)),
        remap=_remap(_get(m, "remap", dict)),
        retention=_retention(_get(m, "retention", dict)),
    )


def _remap(value: dict[str, Any]) -> RemapStatus | None:
    if not value:
        return None
    ended = _optional(value, "ended", str)
    return RemapStatus(
        state=RemapState(_get(value, "state", str)),
        mode=_get(value, "mode", str),
        looked=_get(value, "looked", int),
        matched=_get(value, "matched", int),
        changed=_get(value, "changed", int),
        failed=_get(value, "failed", int),
        ended=None if ended is None else parse_iso(ended),
        host=_get(value, "host", str),
        problems=_strings(value, "problems"),
    )


def _retention(value: dict[str, Any]) -> RetentionStatus | None:
    if not value:
        return None
    ended = _optional(value, "ended", str)
    return RetentionStatus(
        state=RetentionState(_get(value, "state", str)),
        mode=_get(value, "mode", str),
        kept=_get(value, "kept", int),
        planned=_get(value, "planned", int),
        planned_bytes=_get(value, "planned_bytes", int),
        waiting=_get(value, "waiting", int),
        moved=_get(value, "moved", int),
        moved_bytes=_get(value, "moved_bytes", int),
        trashed=_get(value, "trashed", int),
        trashed_bytes=_get(value, "trashed_bytes", int),
        ended=None if ended is None else parse_iso(ended),
        host=_get(value, "host", str),
        findings=_strings(value, "findings"),
    )


def _layout(value: dict[str, Any]) -> LayoutStatus | None:
    if not value:
        return None
    looked = _optional(value, "looked", str)
    return LayoutStatus(
        state=LayoutState(_get(value, "state", str)),
        directories=_get(value, "directories", int),
        looked=None if looked is None else parse_iso(looked),
        made=_get(value, "made", int),
        mended=_get(value, "mended", int),
        findings=_strings(value, "findings"),
    )


def _identities(value: dict[str, Any]) -> IdentitiesStatus | None:
    if not value:
        return None
    checked = _optional(value, "checked", str)
    return IdentitiesStatus(
        state=IdentitiesState(_get(value, "state", str)),
        error=_get(value, "error", str),
        checked=0.0 if checked is None else parse_iso(checked),
        missing=_strings(value, "missing"),
        failed=_strings(value, "failed"),
        conflicts=_strings(value, "conflicts"),
        crowded=_strings(value, "crowded"),
    )


def _client(value: dict[str, Any]) -> ProcessId | None:
    pid = _optional(value, "client_pid", int)
    return None if pid is None else ProcessId(pid, _get(value, "client_start_time", int))


def _bricks(value: dict[str, Any] | None) -> tuple[Brick, ...] | None:
    if value is None:
        return None
    return tuple(
        Brick(
            name=_get(brick, "name", str),
            host=_get(brick, "host", str),
            path=_get(brick, "path", str),
            connected=_get(brick, "connected", bool),
        )
        for brick in (_typed(item, dict, "brick") for item in _get(value, "all", list))
    )


def _space(value: dict[str, Any] | None) -> Space | None:
    return None if value is None else Space(_get(value, "total", int), _get(value, "free", int))


def _holder(value: dict[str, Any]) -> Holder:
    return Holder(
        pid=_get(value, "pid", int),
        comm=_get(value, "comm", str),
        uid=_get(value, "uid", int),
        where=_get(value, "where", str),
        how=_get(value, "how", str),
    )


def _strings(value: dict[str, Any], key: str) -> tuple[str, ...]:
    return tuple(_typed(item, str, key) for item in _get(value, key, list))


def _get(value: dict[str, Any], key: str, kind: type[T]) -> T:
    return _typed(value[key], kind, key)


def _optional(value: dict[str, Any], key: str, kind: type[T]) -> T | None:
    return None if value[key] is None else _typed(value[key], kind, key)


def _typed(value: object, kind: type[T] | tuple[type[T], ...], name: str) -> T:
    if not isinstance(value, kind) or (isinstance(value, bool) and kind is not bool):
        raise ValueError(f"{name} has the wrong type")
    return value
