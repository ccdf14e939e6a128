"""`pause` and `resume`: the agent only watches a mount while a person works on it."""

import argparse
import contextlib
import time
from pathlib import Path

from agent.errors import AgentError
from agent.health import pausefile, statusfile


def execute(args: argparse.Namespace) -> int:
    """0 also where nothing was to be done."""
    try:
        done = _pause(args) if args.command == "pause" else _resume(args)
    except OSError as error:
        hint = "run it as root" if isinstance(error, PermissionError) else ""
        raise AgentError(
            "state-directory", f"cannot {args.command} {args.mount}: {error.strerror}", hint
        ) from error
    print(done + _unless_running(args.runtime_dir))
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


def _unless_running(runtime_dir: Path) -> str:
    try:
        statusfile.check_current(statusfile.read(runtime_dir), time.time())
    except AgentError:
        return " (the agent isn't running now; it will see to it when it starts)"
    return ""
