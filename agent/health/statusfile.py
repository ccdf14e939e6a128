"""status.json: all that the agent knows, written whole, read back with suspicion.

The schema is part of the product's contract: names are added, never renamed.
"""

import contextlib
import json
import os
from dataclasses import asdict
from pathlib import Path
from typing import Any

from agent.errors import AgentError
from agent.health.decode import from_dict
from agent.health.text import iso
from agent.model import (
    AgentStatus,
    Brick,
    IdentitiesStatus,
    LayoutStatus,
    MountStatus,
    RemapStatus,
    RetentionStatus,
    Space,
)

NAME = "status.json"

MAX_BYTES = 8 << 20
"""A mount with 100 bricks and 64 holders takes some 20 KiB."""

MAX_AGE = 180
"""Seconds; the agent writes at least each minute."""


def write(runtime_dir: Path, status: AgentStatus) -> None:
    """Replace status.json in one step; readers see the old one or the new one. Raises OSError."""
    temporary = runtime_dir / f".{NAME}.{os.getpid()}"
    data = json.dumps(to_dict(status), indent=1).encode() + b"\n"
    with contextlib.suppress(FileNotFoundError):
        temporary.unlink()
    descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o644)
    with os.fdopen(descriptor, "wb") as file:
        os.fchmod(descriptor, 0o644)  # whatever the umask is
        file.write(data)
    temporary.replace(runtime_dir / NAME)


def read(runtime_dir: Path) -> AgentStatus:
    """What the agent wrote last, however old.

    Raises AgentError: "not-running" where there is no file, "bad-status" where it isn't one.
    """
    path = runtime_dir / NAME
    try:
        with path.open("rb") as file:
            data = file.read(MAX_BYTES + 1)
    except FileNotFoundError:
        raise _not_running(f"there is no {path}") from None
    except OSError as error:
        raise AgentError("bad-status", f"{path}: {error.strerror}") from error
    if len(data) > MAX_BYTES:
        raise AgentError("bad-status", f"{path} is larger than {MAX_BYTES} bytes")
    try:
        return from_dict(json.loads(data))
    except (ValueError, RecursionError) as error:
        raise AgentError("bad-status", f"{path} is not the agent's: {error}") from error


def version(runtime_dir: Path) -> tuple[int, int] | None:
    """Changes with each write; None where there is no file."""
    try:
        found = (runtime_dir / NAME).stat()
    except OSError:
        return None
    return (found.st_ino, found.st_mtime_ns)


def check_current(status: AgentStatus, now: float) -> None:
    """Raises AgentError "not-running" where the writer is gone or has been silent for 3 minutes."""
    if not process_lives(status.pid.pid, status.pid.start_time):
        raise _not_running(f"the agent that wrote the status at {iso(status.time)} is gone")
    if abs(now - status.time) > MAX_AGE:  # also after the clock was set back
        raise _not_running(f"its last status is from {iso(status.time)}, now is {iso(now)}")


def process_lives(pid: int, start_time: int) -> bool:
    """Whether that very process lives; start_time: field 22 of /proc/PID/stat.

    Where /proc hides the processes of others (hidepid), kill(2) still tells whether there is one.
    """
    try:
        stat = Path(f"/proc/{pid}/stat").read_bytes()
    except OSError:
        return _exists(pid)
    # The comm in parentheses may hold anything, also spaces and parentheses.
    return int(stat[stat.rindex(b")") + 2 :].split()[19]) == start_time


def _exists(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except PermissionError:
        return True
    except (ProcessLookupError, OverflowError):
        return False
    return True


def _not_running(reason: str) -> AgentError:
    return AgentError(
        "not-running",
        f"the agent isn't running: {reason}",
        "systemctl status gluster-ml-agent",
    )


def to_dict(status: AgentStatus) -> dict[str, object]:
    """Schema 1 of status.json."""
    return {
        "schema": 1,
        "host": status.host,
        "time": iso(status.time),
        "version": status.version,
        "agent": {"pid": status.pid.pid, "start_time": status.pid.start_time},
        "config": {
            "state": status.config.state.value,
            "path": status.config.path,
            "errors": list(status.config.errors),
            "warnings": list(status.config.warnings),
            "fingerprint": status.config.fingerprint,
            "seen": status.config.seen,
        },
        "mounts": {mount.name: _mount(mount) for mount in status.mounts},
        "unjudged": list(status.unjudged),
        "identities": _identities(status.identities),
    }


def _mount(mount: MountStatus) -> dict[str, object]:
    client = mount.client
    return {
        "verdict": mount.verdict.value,
        "since": iso(mount.since),
        "evidence": mount.evidence,
        "advice": mount.advice,
        "observed": mount.observed.value if mount.observed else None,
        "path": mount.path,
        "volume": mount.volume,
        "server": mount.server,
        "client_pid": client.pid if client else None,
        "client_start_time": client.start_time if client else None,
        "adopted": mount.adopted,
        "bricks": _bricks(mount.bricks),
        "space": _space(mount.space),
        "findings": list(mount.findings),
        "pending": mount.pending,
        "holders": [
            {"pid": h.pid, "comm": h.comm, "uid": h.uid, "where": h.where, "how": h.how}
            for h in mount.holders
        ],
        "recoveries": mount.recoveries,
        "last_recovery": mount.last_recovery,
        "probe_seconds": mount.probe_seconds,
        "attempts": mount.attempts,
        "removing": mount.removing,
        "client_log": mount.client_log,
        "layout": _layout(mount.layout),
        "remap": _remap(mount.remap),
        "retention": _retention(mount.retention),
    }


def _identities(found: IdentitiesStatus | None) -> dict[str, object]:
    if found is None:
        return {}
    return {
        "state": found.state.value,
        "error": found.error,
        "checked": iso(found.checked) if found.checked else None,
        "missing": list(found.missing),
        "failed": list(found.failed),
        "conflicts": list(found.conflicts),
        "crowded": list(found.crowded),
    }


def _remap(remap: RemapStatus | None) -> dict[str, Any]:
    if remap is None:
        return {}
    return {
        "state": remap.state.value,
        "mode": remap.mode,
        "looked": remap.looked,
        "matched": remap.matched,
        "changed": remap.changed,
        "failed": remap.failed,
        "ended": None if remap.ended is None else iso(remap.ended),
        "host": remap.host,
        "problems": list(remap.problems),
    }


def _retention(found: RetentionStatus | None) -> dict[str, Any]:
    if found is None:
        return {}
    return {
        **asdict(found),
        "state": found.state.value,
        "ended": None if found.ended is None else iso(found.ended),
        "findings": list(found.findings),
    }


def _layout(layout: LayoutStatus | None) -> dict[str, Any]:
    if layout is None:
        return {}
    return {
        "state": layout.state.value,
        "directories": layout.directories,
        "looked": None if layout.looked is None else iso(layout.looked),
        "made": layout.made,
        "mended": layout.mended,
        "findings": list(layout.findings),
    }


def _bricks(bricks: tuple[Brick, ...] | None) -> dict[str, Any] | None:
    if bricks is None:
        return None
    return {
        "connected": sum(brick.connected for brick in bricks),
        "total": len(bricks),
        "down": [brick.label for brick in bricks if not brick.connected],
        "all": [
            {"name": b.name, "host": b.host, "path": b.path, "connected": b.connected}
            for b in bricks
        ],
    }


def _space(space: Space | None) -> dict[str, int] | None:
    return None if space is None else {"total": space.total, "free": space.free}
