"""`pause` and `resume`: the agent only watches a mount while a person works on it."""

import argparse
import contextlib
import time
from pathlib import Path

from agent.errors import AgentError
from agent.health import pausefile, statusfile
from agent.model.verdict import Verdict

TAKEN_UP = 15.0
"""Seconds for the agent to take it up; a probe that is late at that moment may cost it 10."""
POLL = 0.05
"""Seconds between looks at its status."""


def execute(args: argparse.Namespace) -> int:
    """0 once it is in force, also where nothing was to be done.

    Whoever unmounts right after a pause must not find it mounted again.
    """
    try:
        done = _pause(args) if args.command == "pause" else _resume(args)
    except OSError as error:
        hint = "run it as root" if isinstance(error, PermissionError) else ""
        raise AgentError(
            "state-directory", f"cannot {args.command} {args.mount}: {error.strerror}", hint
        ) from error
    late = _await_agent(args.runtime_dir, args.mount, paused=args.command == "pause")
    print(done + late)
    return 0


def _pause(args: argparse.Namespace) -> str:
    name = args.mount
    known = _known(args.runtime_dir, args.config, name)
    if name not in known:
        names = ", ".join(sorted(known)) or "none"
        raise AgentError("unknown-mount", f"no mount is named {name}; there is: {names}")
    if not pausefile.pause(args.state_dir, name):
        return f"{name} was paused before"
    return f"{name} is paused; to end that: gluster-ml-agent resume {name}"


def _resume(args: argparse.Namespace) -> str:
    """Also for a name that nothing knows any more: its file must be able to go."""
    name = args.mount
    if pausefile.valid_name(name) and pausefile.resume(args.state_dir, name):
        return f"{name} is resumed"
    known = _known(args.runtime_dir, args.config, name)
    if name not in known:
        raise AgentError("unknown-mount", f"no mount is named {name}, and none is paused as that")
    return f"{name} was not paused"


def _known(runtime_dir: Path, config: Path, name: str) -> set[str]:
    """The agent's mounts, and where the name isn't among them those of the file."""
    known: set[str] = set()
    with contextlib.suppress(AgentError):
        known |= {mount.name for mount in statusfile.read(runtime_dir).mounts}
    if name not in known:
        with contextlib.suppress(AgentError):
            known |= _configured(str(config))
    return known


def _configured(file: str) -> set[str]:
    """Raises AgentError where the file isn't valid."""
    from agent.config import files, load  # noqa: PLC0415 - slow, and seldom needed

    return set(load.load(files.read_file(file), file).config.mounts)


def _await_agent(runtime_dir: Path, name: str, *, paused: bool) -> str:
    """Return when the running agent says so too; what to add where there is none.

    Raises AgentError where it doesn't in time.
    """
    deadline = time.monotonic() + TAKEN_UP
    while True:
        try:
            status = statusfile.read(runtime_dir)
            statusfile.check_current(status, time.time())
        except AgentError:
            return " (the agent isn't running now; it will see to it when it starts)"
        mount = next((mount for mount in status.mounts if mount.name == name), None)
        if mount is None or (mount.verdict is Verdict.PAUSED) == paused:
            return ""
        if time.monotonic() >= deadline:
            word = "paused" if paused else "resumed"
            raise AgentError(
                "not-taken-up",
                f"the agent has not {word} {name} within {TAKEN_UP:.0f} s, but will",
                f"see: gluster-ml-agent status {name}",
            )
        time.sleep(POLL)
