"""`status`: what is wrong, since when, what to do."""

import argparse
import dataclasses
import json
import os
import platform
import sys
import time

from agent.errors import AgentError
from agent.health import report, statusfile
from agent.health.schema import to_dict
from agent.health.text import clean
from agent.model.status import AgentStatus
from agent.model.verdict import UNKNOWN


def execute(args: argparse.Namespace) -> int:
    """0 healthy, 1 warning, 2 critical; 3 where nobody can tell."""
    now = time.time()
    try:
        status = _current(args, now)
    except AgentError as error:
        # On stdout, as monitoring shows only that; but never where JSON is expected.
        stream = sys.stderr if args.json else sys.stdout
        print(f"{platform.node()}: UNKNOWN: {clean(error, 1000)}", file=stream)
        return UNKNOWN
    if args.json:
        print(json.dumps(to_dict(status), indent=1))
    else:
        if args.mount is not None:
            status = dataclasses.replace(status, identities=None)  # they are the host's
        sys.stdout.write(report.status_text(status, now, colour=_colour()))
    return report.exit_code(status)


def _current(args: argparse.Namespace, now: float) -> AgentStatus:
    """What the running agent says, of the one mount if one is named. Raises AgentError."""
    status = statusfile.read(args.runtime_dir)
    statusfile.check_current(status, now)
    if args.mount is None:
        return status
    chosen = tuple(mount for mount in status.mounts if mount.name == args.mount)
    unjudged = tuple(name for name in status.unjudged if name == args.mount)
    if not chosen and not unjudged:
        names = ", ".join(mount.name for mount in status.mounts) or "none"
        raise AgentError("unknown-mount", f"no mount is named {args.mount}; there is: {names}")
    return dataclasses.replace(status, mounts=chosen, unjudged=unjudged)


def _colour() -> bool:
    """For a terminal only, and not against the user's will (no-color.org)."""
    return sys.stdout.isatty() and not os.environ.get("NO_COLOR")
