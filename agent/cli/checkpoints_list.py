"""`checkpoints list`: what is there, and why it stays."""

import argparse
import json
import os
import shutil
import sys
from collections.abc import Iterator

from agent.cli.exits import LISTED
from agent.cli.runs import skipped, table, unread
from agent.cli.surveying import Host, looked_at
from agent.config.places import inside
from agent.retention.planned import RunPlan, Skipped
from agent.retention.survey import Surveyed, Wanted


def execute(args: argparse.Namespace) -> int:
    """0; raises AgentError where nothing can be looked at."""
    host = Host(args)
    if args.path is None:
        mount = host.chosen(args.mount)
        wanted, below = host.wanted(mount), ""
    else:
        wanted, below = _asked(host, os.path.abspath(args.path))
    found = looked_at(wanted)
    runs = [run for run in _runs(found) if inside(f"/{run.path}", f"/{below}")]
    failed = [each for _, each in found.failed if inside(f"/{each.path}", f"/{below}")]
    if args.json:
        rows = [run.to_row() for run in runs]
        rows += [unread(each) for each in failed]
        json.dump({"schema": 1, "root": wanted.root, "runs": rows}, sys.stdout, indent=1)
        print()
        return LISTED
    width = shutil.get_terminal_size().columns if sys.stdout.isatty() else 0
    for line in _lines(runs, failed, width):
        print(line)
    return LISTED


def _asked(host: Host, path: str) -> tuple[Wanted, str]:
    """What is to be looked at, and where in it."""
    mount = host.around(path)
    if mount is None:
        return host.elsewhere(path, None, ""), ""
    below = os.path.relpath(path, mount.path)
    below = "" if below == "." else below
    return host.wanted(mount, below), below


def _runs(found: Surveyed) -> Iterator[RunPlan]:
    for rule in found.rules:
        yield from rule.runs
    yield from found.unruled


def _lines(runs: list[RunPlan], failed: list[Skipped], width: int) -> Iterator[str]:
    if not runs and not failed:
        yield "no checkpoints are there"
    for count, run in enumerate(runs):
        if count:
            yield ""
        yield from table(run, "would go", width)
    yield from skipped("", failed)
