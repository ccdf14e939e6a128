"""What tells this agent from others: on this host, and on the volume."""

import contextlib
import fcntl
import os
import secrets
import socket
from collections.abc import Iterator
from pathlib import Path

import agent
from agent.errors import AgentError
from agent.files import replace_file
from agent.model.mount import ProcessId
from agent.system import proc


@contextlib.contextmanager
def only_one(runtime_dir: Path) -> Iterator[None]:
    """Hold the runtime directory. Raises AgentError where another agent has it."""
    descriptor = os.open(runtime_dir / "lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise AgentError(
                "already-running",
                f"another agent runs with the runtime directory {runtime_dir}",
                "stop it, or set RUNTIME_DIRECTORY and STATE_DIRECTORY to others",
            ) from None
        yield
    finally:
        os.close(descriptor)


def identity() -> tuple[str, str, ProcessId]:
    """The host's name, the agent's version, its process."""
    me = proc.process_id(os.getpid())
    return socket.gethostname(), agent.__version__, me or ProcessId(os.getpid(), 0)


def write_name(state_dir: Path) -> str:
    """A file name of this agent alone: two hosts, or two agents, may bear one host name."""
    file = state_dir / "agent-id"
    try:
        suffix = file.read_text(encoding="ascii").strip()
    except (OSError, ValueError):
        suffix = ""
    if len(suffix) != 8 or not suffix.isalnum():
        suffix = secrets.token_hex(4)
        with contextlib.suppress(OSError):  # a disk that is full or read-only stops no agent
            replace_file(file, suffix.encode(), 0o644)
    return f"{socket.gethostname()[:64]}-{suffix}"
