"""`ids remap`: gives files that have an old id the new one, or counts them."""

import argparse
import asyncio
import os
import sys
import time
from pathlib import Path

from agent.cli.exits import FAILED, REMAPPED
from agent.cli.progress import CounterLine
from agent.config.files import load_file
from agent.config.places import can_hang, inside
from agent.config.schema import Config
from agent.errors import AgentError
from agent.health import statusfile
from agent.health.text import clean, plural
from agent.identities.exchange import Exchange, allowed, parse, told
from agent.identities.lookup import look_up
from agent.identities.remap import THREADS, Problem, Progress, Tree, remap
from agent.model.mount import MountEntry
from agent.model.verdict import Verdict
from agent.system import mountinfo
from agent.system.children import Children

_REMAP_ON = frozenset({Verdict.HEALTHY, Verdict.DEGRADED})


def execute(args: argparse.Namespace) -> int:
    """0 all done (or counted), 1 something was left."""
    if os.geteuid() != 0 and not args.dry_run:
        raise AgentError("not-root", "only root can give files to others", "run it as root")
    table = mountinfo.parse(Path("/proc/self/mountinfo").read_bytes())
    config = load_file(str(args.config), mount_table=table).config
    wanted = parse(args.old, args.new, config.identities)
    path = os.path.abspath(args.path)
    tree = _tree(path, config, table)
    _check_verdict(args.runtime_dir, path, config)
    return asyncio.run(_remap(tree, wanted, dry=args.dry_run))


async def _remap(tree: Tree, wanted: Exchange, *, dry: bool) -> int:
    children = Children()
    try:
        known = await look_up(children, "old ids", uids=wanted.uids, gids=wanted.gids)
        ids, kept = allowed(wanted, known)
        for line in kept:
            _say(line)
        if not ids:
            return FAILED
        found = await _walk(children, tree, ids, dry=dry)
    finally:
        await children.close()
    if found is None:
        return FAILED
    print(_summary(found, ids, dry=dry))
    return FAILED if kept or found.failed else REMAPPED


async def _walk(children: Children, tree: Tree, ids: Exchange, *, dry: bool) -> Progress | None:
    """The last count; None where nothing was walked."""
    line = CounterLine(sys.stderr)
    last: Progress | None = None
    try:
        async for row in remap(children, tree, ids, dry=dry):
            if isinstance(row, Problem):
                line.clear()
                _say(f"{os.path.join(tree.path, row.path)}: {row.why}")
            elif isinstance(row, Progress):
                last = row
                word = "found" if dry else "changed"
                count = row.matched if dry else row.changed
                line.show(row.looked, f"{count:,} {word}", row.at)
    finally:
        line.clear()
    return last if last is not None and last.whole else None


def _summary(found: Progress, ids: Exchange, *, dry: bool) -> str:
    looked = f"{plural(found.looked, 'file')} looked at"
    said = f"{found.matched} to change" if dry else f"{found.changed} changed"
    left = f", {found.failed} left" if found.failed else ""
    return f"{', '.join(told(ids))}: {looked}, {said}{left}"


def _tree(path: str, config: Config, table: tuple[MountEntry, ...]) -> Tree:
    """Where the file has a mount there, that mount must be what the walk is on."""
    around = next((m for m in config.mounts.values() if inside(path, m.path)), None)
    if around is not None:
        layers = mountinfo.layers_at(table, around.path)
        if not layers or layers[-1].fstype != mountinfo.GLUSTER_FSTYPE:
            raise AgentError(
                "not-mounted",
                f"{around.path}: {around.volume} is not mounted there",
                "see: gluster-ml-agent status",
            )
        return Tree(path, layers[-1].device, THREADS)
    over = [entry for entry in table if inside(path, entry.path)]
    remote = bool(over) and can_hang(max(over, key=lambda entry: len(entry.path)).fstype)
    return Tree(path, None, THREADS if remote else 0)


def _check_verdict(runtime_dir: Path, path: str, config: Config) -> None:
    """Half a volume lists half its files: the agent's word counts, where there is an agent."""
    name = next((n for n, m in config.mounts.items() if inside(path, m.path)), None)
    if name is None:
        return
    try:
        status = statusfile.read(runtime_dir)
        statusfile.check_current(status, time.time())
    except AgentError:
        _say(f"no agent runs here, so nobody can say how {name} is; going on")
        return
    verdict = next((mount.verdict for mount in status.mounts if mount.name == name), None)
    if verdict is not None and verdict not in _REMAP_ON:
        raise AgentError(
            "not-now",
            f"{name} is {verdict.value}, so nothing was changed",
            f"see: gluster-ml-agent status {name}",
        )


def _say(line: str) -> None:
    print(f"gluster-ml-agent: {clean(line, 1000)}", file=sys.stderr)
