"""`trash list`, `trash restore`, `trash purge`."""

import argparse
import asyncio
import contextlib
import json
import os
import sys
import time
from collections.abc import Sequence

from agent.cli import onmount
from agent.cli.exits import DONE, FAILED
from agent.cli.onmount import OnMount, say
from agent.cli.progress import CounterLine
from agent.codec import iso
from agent.errors import AgentError
from agent.health.text import clean, clock, plural, size
from agent.model.mount import MountEntry
from agent.retention import trash
from agent.retention.policy import KEEP_FOR
from agent.retention.trash import Entry, Held, Purged, Refused, Removing, Restored, Returned
from agent.system.children import Children


def execute(args: argparse.Namespace) -> int:
    """0 done, 1 something was left."""
    if args.command == "trash purge":
        onmount.require_root("remove what others have in the trash")
    where = onmount.find(args.config, args.mount)
    if args.command == "trash purge":
        onmount.require_verdict(args.runtime_dir, where.name)
    return asyncio.run(_execute(args, where))


async def _execute(args: argparse.Namespace, where: OnMount) -> int:
    if os.geteuid() != 0:
        return await _work(args, where, where.entry)
    async with onmount.true_view(args.runtime_dir, where) as entry:
        return await _work(args, where, entry)


async def _work(args: argparse.Namespace, where: OnMount, entry: MountEntry) -> int:
    children = Children()
    place = trash.Place(entry.path, entry.device)
    try:
        found = (await trash.look(children, place)).entries
        if args.command == "trash list":
            _print(found, where, as_json=args.json)
            return DONE
        if args.command == "trash restore":
            wanted = [_named(text, found, where) for text in args.entries]
            return await _restore(children, place, where, wanted)
        wanted = _to_be_purged(args, found, where)
        return await _purge(children, place, wanted, yes=args.yes)
    finally:
        await children.close()


def _print(found: Sequence[Entry], where: OnMount, *, as_json: bool) -> None:
    if as_json:
        rows = [_row(entry) for entry in found]
        told = {"schema": 1, "mount": where.name, "root": where.mount.path, "entries": rows}
        print(json.dumps(told, indent=1))
        return
    names = {user.uid: name for name, user in where.config.identities.users.items()}
    now = time.time()
    for entry in found:
        owner = names.get(entry.owner, str(entry.owner))
        held = "?" if entry.size is None else size(entry.size)
        print(f"{entry.id}  {clock(entry.time, now)}  {held:>9}  {clean(owner)}  {_shown(entry)}")
        for reason in entry.reasons:
            print(f"    {clean(reason)}")


def _row(entry: Entry) -> dict[str, object]:
    return {
        "id": entry.id,
        "path": entry.path,
        "names": entry.names,
        "owner": entry.owner,
        "bytes": entry.size,
        "time": iso(entry.time),
        "host": entry.host,
        "rule": entry.rule,
        "reasons": entry.reasons,
        "restorable": entry.whole,
    }


def _shown(entry: Entry) -> str:
    if not entry.path:
        return "(nothing says where it came from)"
    more = f" and {', '.join(entry.names[1:])}" if len(entry.names) > 1 else ""
    gone = "" if entry.whole else " (not whole any more)"
    return clean(f"{entry.path}{more}{gone}", 2000)


def _named(text: str, found: Sequence[Entry], where: OnMount) -> Entry:
    """The entry of that id, or the newest that came from that path. Raises AgentError."""
    path = text.removeprefix(f"{where.mount.path}/").rstrip("/")
    for entry in reversed(found):
        if text == entry.id or path in [f"{entry.run}/{name}" for name in entry.names]:
            return entry
    raise AgentError(
        "no-such-entry",
        f"{text} is not in the trash of {where.name}, or it is another user's",
        f"see: gluster-ml-agent trash list --mount {where.name}",
    )


def _to_be_purged(args: argparse.Namespace, found: Sequence[Entry], where: OnMount) -> list[Entry]:
    """Raises AgentError."""
    if args.entries:
        return [_named(text, found, where) for text in args.entries]
    retention = where.mount.retention
    keep_for = retention.trash.keep_for if retention else KEEP_FOR
    until = time.time() - keep_for
    return [entry for entry in found if args.all or entry.time <= until]


async def _restore(
    children: Children, place: trash.Place, where: OnMount, wanted: Sequence[Entry]
) -> int:
    code = DONE
    for entry in wanted:
        match await trash.restore(children, place, entry.id):
            case Restored(run=run, names=names):
                for name in names:
                    print(clean(f"{where.mount.path}/{run}/{name} is back", 2000))
                say(f"{entry.path} is pinned now; checkpoints unpin lets it go by the rules again")
            case Refused(why=why):
                say(f"{entry.path or entry.id}: {why}")
                code = FAILED
    return code


async def _purge(
    children: Children, place: trash.Place, wanted: Sequence[Entry], *, yes: bool
) -> int:
    """All of them, and what an earlier purge left."""
    known = sum(entry.size or 0 for entry in wanted)
    question = f"remove {plural(len(wanted), 'entry', 'entries')} ({size(known)}) for good?"
    if wanted and not onmount.confirmed(question, yes=yes):
        return FAILED
    line, purged, code = CounterLine(sys.stderr), 0, DONE
    rows = trash.purge(children, place, wanted, threads=trash.THREADS, rest=0.0)
    async with contextlib.aclosing(rows):
        async for row in rows:
            match row:
                case Removing(removed=removed):
                    line.show(removed, f"{purged} of {len(wanted)} entries removed", "")
                case Purged():
                    purged += 1
                case Held():
                    line.clear()
                    say(f"{place.path}: another host is at work in the trash; try again later")
                    return FAILED
                case Refused(id=id_, why=why):
                    line.clear()
                    say(f"{id_}: {why}")
                    code = FAILED
                case Returned(run=run, names=names):
                    line.clear()
                    say(f"{run}: {', '.join(names.values())} is back, as a move broke off")
    line.clear()
    print(f"{plural(purged, 'entry', 'entries')} removed")
    return code
