"""`checkpoints latest`: the newest complete checkpoint of a run, to resume from."""

import argparse
import asyncio
import os
import sys
from collections.abc import Mapping
from typing import Any

from agent.cli.asked import ask
from agent.cli.exits import FOUND
from agent.errors import AgentError
from agent.health.text import clean, plural
from agent.retention.survey import LIBRARIES, THREADS


def execute(args: argparse.Namespace) -> int:
    """0; raises AgentError where there is none. Prints one path, and nothing else to stdout."""
    path = os.path.abspath(args.run)
    row = asyncio.run(ask("latest", path, _request(path)))
    if "several" in row:
        names = ", ".join(clean(name, 80) for name in row["several"])
        raise AgentError(
            "which-run", f"{path}: several runs are there: {names}", f"name one, as in {path}/NAME"
        )
    if "none" in row:
        raise AgentError("no-checkpoint", f"{path}: {row['none']}{_passed(row)}")
    found = str(row["latest"])
    if clean(found, len(found)) != found:
        raise AgentError(
            "no-checkpoint", f"{clean(found)}: a path with such characters is not printed"
        )
    if row["note"]:
        _say(f"{path}: {row['note']}; going on without it")
    for name, why in row["passed"]:
        _say(f"passed over {name}: {why}")
    print(found)
    return FOUND


def _request(path: str) -> dict[str, object]:
    return {"path": path, "threads": THREADS, "libraries": LIBRARIES}


def _passed(row: Mapping[str, Any]) -> str:
    passed = row["passed"]
    if not passed:
        return ""
    name, why = passed[0]
    return f"; {plural(len(passed), 'name')} passed over, the newest is {name}: {why}"


def _say(line: str) -> None:
    print(f"gluster-ml-agent: {clean(line, 1000)}", file=sys.stderr)
