"""One-shot: one pass of the cleaner over a volume: what may go is moved to the trash.

Request: that of agent/worker/survey.py, and {"memory", "host", "version", "wants", "move", "turn",
"idle"}. memory: a local file, in which is kept what was planned before (agent/retention/looks.py);
wants: a fingerprint of what this host wants; move: the paths of the rules by which something is
moved; what others plan is remembered; turn: the word that is left at the end (cleaners.py), "" for
none; idle: whether to run only when nothing else wants the processor.

Rows: {"row": "held"}: another host is at it; {"row": "differing", "hosts"}: they want something
else, so nothing is moved; those of agent/worker/trashmend.py for what broke off
before; those of the survey; {"row": "ripe", "count", "bytes", "waiting"}: so many may go, and
others wait for their second look; those of agent/worker/trashmove.py; {"row": "failure", "what",
"errno"}. It can be killed at any time.
"""

import errno
import os
import sys
from collections.abc import Iterator, Sequence
from functools import partial

from agent.retention import looks
from agent.retention.looks import Ripe
from agent.retention.planned import RulePlan
from agent.worker import (
    channel,
    cleaners,
    hosts,
    memory,
    own,
    trashbin,
    trashmend,
    trashmove,
    whole,
)
from agent.worker.again import Again
from agent.worker.clock import HOST, Clock
from agent.worker.descent import GivenUpError
from agent.worker.survey import Survey, open_root, raise_limit
from agent.worker.trashmove import Row, Volume

_TOLD = 100
"""Hosts that are named."""


def main() -> int:
    """Answer the one request."""
    request = channel.request()
    if request["idle"]:
        os.sched_setscheduler(0, os.SCHED_IDLE, os.sched_param(0))
    os.umask(0)
    sys.path.append(str(request["libraries"]))
    raise_limit()
    try:
        for row in clean(request):
            channel.emit(row)
    except GivenUpError as error:
        channel.emit({"row": "failure", "what": f"{error.doing} failed", "errno": error.errno})
    except own.RefusedError as error:
        channel.emit({"row": "failure", "what": f"can't {error.doing}", "errno": error.errno})
    channel.done()
    return 0


def clean(request: Row, clock: Clock = HOST) -> Iterator[Row]:
    """One pass: its rows. Raises GivenUpError, own.RefusedError."""
    try:
        root = open_root(str(request["path"]), request["device"])
    except OSError as error:
        raise GivenUpError("opening the volume's root", error.errno or errno.EIO) from None
    volume = Volume(root.descriptor, request["device"], -1)
    volume.require_whole()
    volume.trash = trashbin.open_bin(root.descriptor, make=True)
    if own.lock(volume.trash, trashbin.OURS) is None:
        yield {"row": "held"}
        return
    differing = _differing(request, root.descriptor, clock.now())
    if differing:
        yield {"row": "differing", "hosts": differing[:_TOLD]}
    yield from trashmend.mend(volume)
    survey = Survey(request, root, clock)
    planned = survey.plan()
    volume.require_whole()
    yield from survey.rows(planned)
    ripe = _ripe(request, survey, planned, clock.monotonic())
    basis = survey.basis()
    yield {
        "row": "ripe",
        "count": len(ripe),
        "bytes": sum(each.doomed.size or 0 for each in ripe),
        "waiting": sum(len(run.delete) for rule in planned for run in rule.runs) - len(ripe),
    }
    again = Again(basis)
    move = [] if differing else _texts(request["move"])
    for each in ripe:
        if each.rule in move:
            yield _moved(volume, request, again, each, clock.now())
    _leave_word(volume, request)


def _leave_word(volume: Volume, request: Row) -> None:
    """Raises GivenUpError."""
    if not request["turn"]:
        return
    try:
        cleaners.passed(volume.trash, str(request["host"]), str(request["turn"]))
    except (FileNotFoundError, FileExistsError):
        return  # a second cleaner leaves word just now
    except OSError as error:
        raise GivenUpError("leaving word of the pass", error.errno or errno.EIO) from None


def _differing(request: Row, root: int, now: float) -> list[str]:
    """The hosts that want something else. Raises GivenUpError, own.RefusedError."""
    host, wants = str(request["host"]), str(request["wants"])
    try:
        hosts.publish(root, host, wants, now)
        return hosts.differing(root, host, wants, now)
    except OSError as error:
        number = error.errno or errno.EIO
        raise GivenUpError(f"looking at {own.BASE}/hosts", number) from None


def _ripe(
    request: Row, survey: Survey, planned: Sequence[RulePlan], now: float
) -> tuple[Ripe, ...]:
    """What an earlier pass planned too. now: monotonic seconds. Raises GivenUpError."""
    path = str(request["memory"])
    rules = list(zip(survey.rules, planned, strict=True))
    ripe, after = looks.look(memory.load(path), rules, now)
    try:
        memory.save(path, after)
    except OSError as error:
        raise GivenUpError(f"writing {path}", error.errno or errno.EIO) from None
    return ripe


def _moved(volume: Volume, request: Row, again: Again, ripe: Ripe, now: float) -> Row:
    """Raises GivenUpError."""
    path, doomed = ripe.run.path, ripe.doomed

    def still(run: int, here: int, names: list[str]) -> str:
        why = again.speaks_against(path, run, here, names)
        volume.require_whole()  # or what speaks against it may lie on a brick that is down
        return why

    order: Row = {
        "run": path,
        "names": list(doomed.names),
        "fingerprint": doomed.fingerprint,
        "time": now,
        "rule": ripe.rule,
        "reasons": list(doomed.reasons),
        "size": doomed.size,
        "host": request["host"],
        "version": request["version"],
    }
    look = partial(whole.fingerprints, tick=lambda more: again.looked(more, path))
    row = trashmove.move(volume, order, look, still)
    return {**row, "rule": ripe.rule, "reasons": list(doomed.reasons), "size": doomed.size}


def _texts(given: object) -> list[str]:
    if not isinstance(given, list):
        raise TypeError("no list")
    return [str(each) for each in given]
