"""status.json, the file: written whole, read back with suspicion."""

import json
import os
from pathlib import Path

from agent.codec import iso
from agent.errors import AgentError
from agent.files import replace_file
from agent.health.schema import from_dict, to_dict
from agent.model.status import AgentStatus

NAME = "status.json"

MAX_BYTES = 8 << 20
"""A mount with 100 bricks and 64 holders takes some 20 KiB."""

MAX_AGE = 180
"""Seconds; the agent writes at least each minute."""


def write(runtime_dir: Path, status: AgentStatus) -> None:
    """Replace status.json in one step; readers see the old one or the new one. Raises OSError."""
    data = json.dumps(to_dict(status), indent=1).encode() + b"\n"
    replace_file(runtime_dir / NAME, data, 0o644, durable=False)


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
