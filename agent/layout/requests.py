"""What a pass asks of the layout's worker, request by request, and its rows as they come."""

import errno
import hashlib
import json
from collections.abc import AsyncGenerator, Iterable, Iterator
from contextlib import aclosing

from agent.codec import encode
from agent.errors import ChildGone
from agent.layout import acl
from agent.layout.acl import Acl
from agent.layout.declared import Declared
from agent.layout.plan import Action, Mend
from agent.layout.seen import Failure, Row, Turn, row
from agent.model.mount import MountEntry
from agent.system.children import Children

PATIENCE = 60.0
"""Seconds from one row of the worker's to the next."""
PORTION = 200
"""Directories in one request; before each that changes something the verdict is asked."""
WEIGHT = 256 * 1024
"""Bytes of one request, which is one line on the channel: an ACL alone may have 128 KiB there."""

_KIND = "layout"

Order = dict[str, object]
"""What is asked about one directory."""


async def turn(children: Children, entry: MountEntry, take: Turn | None = None) -> Turn | Failure:
    """Word of the last pass on a mounted volume; take: leave this first.

    To ask, any mount will do: what is known late there costs a pass at most. Raises ChildGone,
    Busy, OSError.
    """
    request: Order = {"do": "turn", "take": None if take is None else encode(take)}
    async with aclosing(ask(children, entry, request)) as rows:
        async for found in rows:
            if isinstance(found, Turn | Failure):
                return found
    return Turn()


async def ask(children: Children, entry: MountEntry, request: Order) -> AsyncGenerator[Row, None]:
    """Have a worker do it on that mount; rows as they come. Raises ChildGone, Busy, OSError."""
    whole = {**request, "path": entry.path, "device": list(entry.device)}
    try:
        async with aclosing(children.stream(_KIND, entry.path, whole, PATIENCE)) as values:
            async for value in values:
                yield row(value)
    except TimeoutError:
        yield Failure("waiting for the volume", errno.ETIMEDOUT)
    except ValueError as error:
        raise ChildGone(f"the layout worker's answer is wrong: {error}") from error


def asked(want: Declared) -> Order:
    """To look at a directory: how it is to be, so that the worker sees what differs."""
    return {
        "path": want.path,
        "uid": want.uid,
        "gid": want.gid,
        "mode": want.mode,
        "access": _hex(want.access),
        "default": _hex(want.default),
        "mark": _mark_name(want.path),
    }


def order(action: Action) -> Order:
    """To make or mend one: with what it must still be like, if it was there."""
    seen, made = None, True
    if isinstance(action, Mend):
        found, made = action.seen, action.made
        seen = [found.inode, found.uid, found.gid, found.mode]
    return {**asked(action.want), "seen": seen, "made": made}


def _hex(value: Acl | None) -> str | None:
    return None if value is None else acl.encode(value).hex()


def _mark_name(path: str) -> str:
    """A path may be longer than a file name can be."""
    return hashlib.sha256(path.encode(errors="surrogateescape")).hexdigest()[:32]


def portions(orders: Iterable[Order]) -> Iterator[list[Order]]:
    """In their order, as many together as one request may have."""
    portion: list[Order] = []
    weight = 0
    for each in orders:
        more = len(json.dumps(each))
        if portion and (len(portion) == PORTION or weight + more > WEIGHT):
            yield portion
            portion, weight = [], 0
        portion.append(each)
        weight += more
    if portion:
        yield portion
