"""The program `gluster-ml-agent`: arguments in, one command run, errors as one line."""

import argparse
import importlib
import os
import sys
import traceback
from collections.abc import Mapping, Sequence
from pathlib import Path

from agent.cli import exits
from agent.cli.arguments import parser
from agent.errors import AgentError
from agent.health.text import clean

_STDOUT, _STDERR = 1, 2


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code."""
    _open_streams()
    try:
        args = _parsed(argv)
        args.runtime_dir = _directory(os.environ, "RUNTIME_DIRECTORY", "/run/gluster-ml")
        args.state_dir = _directory(os.environ, "STATE_DIRECTORY", "/var/lib/gluster-ml")
        # Each command is imported on its own: `status` must not wait for what `run` needs.
        command = importlib.import_module(f"agent.cli.{args.module}")
        code: int = command.execute(args)
        sys.stdout.flush()
    except AgentError as error:
        return _fail(str(error), exits.FAILED)
    except BrokenPipeError:
        _drop_output()  # the reader (`| head`) has enough
        return 0
    except OSError as error:
        _drop_output()
        what = f"{error.filename}: " if error.filename else "can't write the output: "
        hint = "; run it as root" if isinstance(error, PermissionError) else ""
        return _fail(f"{what}{error.strerror}{hint}", exits.FAILED)
    except KeyboardInterrupt:
        return exits.INTERRUPTED
    except Exception as error:  # noqa: BLE001 - the last resort: a bug never shows as a traceback
        if os.environ.get("GLUSTER_ML_DEBUG") == "1":
            traceback.print_exc()
        return _fail(
            f"internal error, a bug of the agent: {type(error).__name__}: {error}; "
            "GLUSTER_ML_DEBUG=1 in the environment shows the traceback to report it with",
            exits.INTERNAL,
        )
    return code


def _open_streams() -> None:
    """Make those standard streams that the caller has closed lead nowhere.

    Or what is opened next would get their numbers, and the exit code would tell of them.
    """
    while (number := os.open(os.devnull, os.O_RDWR)) <= _STDERR:
        pass
    os.close(number)
    for name, number in (("stdout", _STDOUT), ("stderr", _STDERR)):
        stream = getattr(sys, name) or os.fdopen(number, "w", closefd=False)
        stream.reconfigure(errors="backslashreplace")
        setattr(sys, name, stream)


def _parsed(argv: Sequence[str] | None) -> argparse.Namespace:
    try:
        return parser().parse_args(argv)
    finally:
        sys.stdout.flush()  # of --help: what can't be written is told as with any other output


def _drop_output() -> None:
    """Keep the interpreter from flushing at exit into what takes nothing any more."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _fail(message: str, code: int) -> int:
    print(f"gluster-ml-agent: {clean(message, 2000)}", file=sys.stderr)
    return code


def _directory(environ: Mapping[str, str], name: str, default: str) -> Path:
    """Of several, separated by colons as systemd does it, the first: the agent's own."""
    return Path(environ.get(name, "").partition(":")[0] or default)
