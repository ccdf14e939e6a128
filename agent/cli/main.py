"""The program `gluster-ml-agent`: arguments in, one command run, errors as one line.

Exit codes beside the commands' own: 64 wrong usage, 70 a bug of the agent, 130 interrupted. They
are none of the 0 to 3 that monitoring reads as a verdict.
"""

import argparse
import importlib
import os
import sys
import traceback
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NoReturn

from agent import __version__
from agent.config import durations
from agent.errors import AgentError
from agent.health.text import clean

USAGE = 64
INTERNAL = 70
INTERRUPTED = 130

DEFAULT_CONFIG = Path("/etc/gluster-ml/agent.yaml")


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        self.exit(USAGE, f"{self.prog}: {message}; try: {self.prog} --help\n")


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code."""
    for stream in (sys.stdout, sys.stderr):
        stream.reconfigure(errors="backslashreplace")  # type: ignore[union-attr]
    args = parser().parse_args(argv)
    args.runtime_dir = _directory(os.environ, "RUNTIME_DIRECTORY", "/run/gluster-ml")
    args.state_dir = _directory(os.environ, "STATE_DIRECTORY", "/var/lib/gluster-ml")
    try:
        # Each command is imported on its own: `status` must not wait for what `run` needs.
        command = importlib.import_module(f"agent.cli.{args.module}")
        code: int = command.execute(args)
        sys.stdout.flush()
    except AgentError as error:
        return _fail(str(error), 1)
    except BrokenPipeError:
        _drop_output()  # the reader (`| head`) has enough
        return 0
    except OSError as error:
        _drop_output()
        what = f"{error.filename}: " if error.filename else "can't write the output: "
        hint = "; run it as root" if isinstance(error, PermissionError) else ""
        return _fail(f"{what}{error.strerror}{hint}", 1)
    except KeyboardInterrupt:
        return INTERRUPTED
    except Exception as error:  # noqa: BLE001 - the last resort: a bug never shows as a traceback
        if os.environ.get("GLUSTER_ML_DEBUG") == "1":
            traceback.print_exc()
        return _fail(
            f"internal error, a bug of the agent: {type(error).__name__}: {error}; "
            "GLUSTER_ML_DEBUG=1 in the environment shows the traceback to report it with",
            INTERNAL,
        )
    return code


def _drop_output() -> None:
    """Keep the interpreter from flushing at exit into what takes nothing any more."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _fail(message: str, code: int) -> int:
    print(f"gluster-ml-agent: {clean(message, 2000)}", file=sys.stderr)
    return code


def _directory(environ: Mapping[str, str], name: str, default: str) -> Path:
    """Of several, separated by colons as systemd does it, the first: the agent's own."""
    return Path(environ.get(name, "").partition(":")[0] or default)


def parser() -> argparse.ArgumentParser:
    """The command line's grammar."""
    top = _Parser(
        prog="gluster-ml-agent",
        description="Keeps the GlusterFS mounts of this host alive, and says how they are.",
    )
    top.add_argument("--version", action="version", version=f"%(prog)s {__version__}")
    _add_config(top, DEFAULT_CONFIG)
    commands = top.add_subparsers(metavar="COMMAND", required=True)

    def command(name: str, module: str, text: str) -> argparse.ArgumentParser:
        added = commands.add_parser(name, help=text, description=text)
        added.set_defaults(module=module, command=name)
        _add_config(added, argparse.SUPPRESS)
        return added

    command("run", "run", "the daemon, as systemd starts it")
    check = command("check", "check", "validate a configuration file; exit 0 valid, 1 invalid")
    check.add_argument("file", metavar="FILE", nargs="?", type=Path, help="default: --config")
    status = command(
        "status",
        "status",
        "what is wrong, since when, what to do; exit 0 healthy, 1 warning, 2 critical, 3 unknown",
    )
    status.add_argument("mount", metavar="MOUNT", nargs="?", help="only this one")
    status.add_argument("--json", action="store_true", help="as in status.json")
    wait = command(
        "wait",
        "wait",
        "block until a mount is usable; exit 0 usable, 1 not in time, 3 no agent",
    )
    wait.add_argument("mount", metavar="MOUNT")
    wait.add_argument(
        "--timeout", metavar="DURATION", type=_duration, help="90s, 15m; default: no limit"
    )
    for name, text in (
        ("pause", "let the agent only watch a mount, for maintenance"),
        ("resume", "end a pause"),
    ):
        command(name, "pause", text).add_argument("mount", metavar="MOUNT")
    return top


def _duration(text: str) -> float:
    try:
        return durations.parse(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(f"{clean(text, 40)} {error}") from error


def _add_config(to: argparse.ArgumentParser, default: Path | str) -> None:
    to.add_argument(
        "--config", metavar="FILE", type=Path, default=default, help=f"default: {DEFAULT_CONFIG}"
    )
