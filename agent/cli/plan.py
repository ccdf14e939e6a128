"""`plan`: what retention would keep and delete, each with its reason. It only reads."""

import argparse
import json
import os
import shutil
import sys
from collections.abc import Iterator

from agent.cli.exits import PLANNED
from agent.cli.runs import skipped, table, unread
from agent.cli.surveying import Host, Mount, looked_at
from agent.health.text import clean, plural, size
from agent.retention.planned import RulePlan, Skipped
from agent.retention.survey import Surveyed


def execute(args: argparse.Namespace) -> int:
    """0; raises AgentError where the root can't be read."""
    host = Host(args)
    mount = host.chosen(args.mount)
    if args.root is None:
        wanted = host.wanted(mount)
    else:
        wanted = host.elsewhere(os.path.abspath(args.root), mount)
    found = looked_at(wanted)
    if args.json:
        json.dump(_document(found, mount, wanted.root), sys.stdout, indent=1)
        print()
        return PLANNED
    width = shutil.get_terminal_size().columns if sys.stdout.isatty() else 0
    for line in _lines(found, mount, width):
        print(line)
    return PLANNED


def _document(found: Surveyed, mount: Mount, root: str) -> dict[str, object]:
    rules = []
    for number, rule in enumerate(found.rules):
        row = rule.to_row()
        row["runs"] += [unread(each) for each in _failed(found, number)]
        rules.append(row)
    return {
        "schema": 1,
        "mount": mount.name,
        "root": root,
        "mode": mount.policy.mode,
        "rules": rules,
    }


def _failed(found: Surveyed, rule: int) -> list[Skipped]:
    return [skipped for number, skipped in found.failed if number == rule]


def _lines(found: Surveyed, mount: Mount, width: int) -> Iterator[str]:
    goes = "goes" if mount.policy.mode == "enforce" else "would go"
    for number, rule in enumerate(found.rules):
        yield f"rule {clean(rule.path)}: {_summary(rule, goes)}"
        yield from (f"  note: {clean(finding, 1000)}" for finding in rule.findings)
        yield from skipped("", _failed(found, number))
        for run in rule.runs:
            yield ""
            yield from table(run, goes, width)
        yield ""
    yield f"{_goes(found.rules, goes)}, mode is {mount.policy.mode}"


def _summary(rule: RulePlan, goes: str) -> str:
    stay = sum(len(run.keep) for run in rule.runs)
    return f"{plural(len(rule.runs), 'run')}, {stay} stay, {_goes([rule], goes)}"


def _goes(rules: list[RulePlan] | tuple[RulePlan, ...], goes: str) -> str:
    doomed = [each for rule in rules for run in rule.runs for each in run.delete]
    total = sum(each.size or 0 for each in doomed)
    word = "go" if goes == "goes" else goes
    return f"{plural(len(doomed), 'checkpoint')} {word}" + (f" ({size(total)})" if doomed else "")
