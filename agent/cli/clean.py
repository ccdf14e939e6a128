"""`clean`: one pass of the cleaner, now."""

import argparse
import asyncio
import contextlib
import socket
import sys
from pathlib import Path

import agent
from agent.cli import onmount
from agent.cli.exits import DONE, FAILED
from agent.cli.onmount import OnMount, say
from agent.cli.progress import CounterLine
from agent.config import durations
from agent.errors import AgentError
from agent.health.text import clean as harmless
from agent.health.text import plural, size
from agent.model.mount import MountEntry
from agent.retention import trash
from agent.retention.clean import Differing, Left, Moved, Pass, Ripe, Row, clean
from agent.retention.declared import policy
from agent.retention.passes import memory_file, wants
from agent.retention.policy import Policy
from agent.retention.survey import THREADS, Progress, Wanted
from agent.retention.trash import Held, Refused, Returned
from agent.system.children import Children


def execute(args: argparse.Namespace) -> int:
    """0 all that may go now is gone, 1 something was left."""
    onmount.require_root("clean")
    where = onmount.find(args.config, args.mount)
    if where.mount.retention is None:
        raise AgentError(
            "no-retention", f"the mount {where.name} has no retention", "see man agent.yaml"
        )
    wanted = policy(where.mount.retention)
    paths = tuple(rule.path for rule in wanted.rules)
    if args.rule is not None and args.rule not in paths:
        raise AgentError("no-such-rule", f"{args.rule}: no such rule; there is: {', '.join(paths)}")
    onmount.require_verdict(args.runtime_dir, where.name)
    rules = paths if args.rule is None else (args.rule,)
    return asyncio.run(_execute(args, where, wanted, rules))


async def _execute(
    args: argparse.Namespace, where: OnMount, wanted: Policy, rules: tuple[str, ...]
) -> int:
    children = Children()
    try:
        async with onmount.true_view(args.runtime_dir, where) as entry:
            cleaning = _Cleaning(
                children, where, wanted, entry, memory_file(args.state_dir, where.mount)
            )
            if not args.yes:
                await cleaning.run(())
                ripe = cleaning.ripe
                question = (
                    f"move {plural(ripe.count, 'checkpoint')} ({size(ripe.size)}) to the trash?"
                )
                if cleaning.code != DONE or not ripe.count:
                    return cleaning.told()
                if not onmount.confirmed(question, yes=False):
                    return FAILED
            await cleaning.run(rules)
            return cleaning.told()
    finally:
        await children.close()


class _Cleaning:
    """A pass or two, and what is told of them. code: the exit code so far."""

    def __init__(
        self, children: Children, where: OnMount, wanted: Policy, entry: MountEntry, memory: Path
    ) -> None:
        self._children = children
        self._where = where
        self._policy = wanted
        self._entry = entry
        self._memory = memory
        self._line = CounterLine(sys.stderr)
        self.ripe = Ripe(0, 0, 0)
        self.code = DONE
        self._moved: list[Moved] = []

    async def run(self, rules: tuple[str, ...]) -> None:
        """rules: those by which something is moved. Raises AgentError."""
        place = trash.Place(self._entry.path, self._entry.device)
        held = (await trash.look(self._children, place)).entries
        wanted = Wanted(
            root=self._entry.path,
            device=self._entry.device,
            mounted_at=self._where.mount.path,
            rules=self._policy.rules,
            threads=THREADS,
            with_space=True,
            in_trash=sum(entry.size or 0 for entry in held),
        )
        how = Pass(
            memory=self._memory,
            host=socket.gethostname(),
            version=agent.__version__,
            wants=wants(self._where.config, self._where.mount),
            move=rules,
        )
        try:
            async with contextlib.aclosing(clean(self._children, wanted, how)) as rows:
                async for row in rows:
                    self._take(row)
        finally:
            self._line.clear()

    def _take(self, row: Row) -> None:
        match row:
            case Progress(looked=looked, at=at):
                self._line.show(looked, f"{len(self._moved)} moved", at)
            case Ripe():
                self.ripe = row
            case Moved():
                self._moved.append(row)
                why = "; ".join(row.reasons)
                self._print(f"{row.path}: {why}")
            case Left(path=path, why=why):
                if why != "vanished":
                    self._say(f"{path} stays: {why}")
                    self.code = FAILED
            case Returned(run=run, names=names):
                self._say(f"{run}: {', '.join(names.values())} is back, as a move broke off")
            case Refused(id=id_, why=why):
                self._say(f"trash: {id_}: {why}")
            case Differing(hosts=hosts):
                self._say(
                    f"nothing is moved: the files of {', '.join(hosts)} want something else of"
                    f" {self._where.name}; bring them up to date, or wait 24 h after they are gone"
                )
                self.code = FAILED
            case Held():
                self._say(f"{self._where.name}: another host is cleaning; try again later")
                self.code = FAILED

    def told(self) -> int:
        """Print what came of it; the exit code."""
        moved = sum(each.size or 0 for each in self._moved)
        keep_for = durations.text(self._policy.keep_for)
        if self._moved:
            count = plural(len(self._moved), "checkpoint")
            print(f"{count} ({size(moved)}) moved to the trash, for {keep_for}")
        elif self.code == DONE:
            print("nothing to clean now")
        if self.ripe.waiting:
            print(
                f"still to be looked at a second time: {self.ripe.waiting}; quiet_for after the"
                " first look at the earliest, by the agent or by this command again"
            )
        return self.code

    def _print(self, line: str) -> None:
        self._line.clear()
        print(harmless(line, 2000))

    def _say(self, line: str) -> None:
        self._line.clear()
        say(line)
