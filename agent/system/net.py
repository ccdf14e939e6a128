"""Races TCP connections to volfile servers: whoever answers may be mounted from.

A silent first server costs mount.glusterfs about 50 s; finding out which server answers costs
milliseconds.
"""

import asyncio
import contextlib
import socket
import time
from collections.abc import Collection
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from agent.system.resolver import Address, Resolver

_GRACE = 0.05
"""Seconds that the preferred server may answer later than another and still be preferred."""
_ADDRESSES = 8
"""Addresses of one name that are tried."""


class Outcome(StrEnum):
    """What came of one server."""

    ANSWERED = "answered"
    LATE = "late"  # another one answered, and this one had not by then
    SILENT = "silent"
    REFUSED = "refused"
    UNREACHABLE = "unreachable"
    UNRESOLVABLE = "unresolvable"


@dataclass(frozen=True, slots=True)
class Contact:
    """How one server took it; seconds: until it answered, None unless it did."""

    server: str
    outcome: Outcome
    seconds: float | None = None


class ServerRace:
    """Tries servers, remembering their addresses. Needs the running loop."""

    def __init__(self) -> None:
        self._resolver = Resolver()

    async def race(
        self, servers: tuple[str, ...], port: int, deadline: float = 2.0
    ) -> dict[str, Contact]:
        """What each server did, in the order given.

        Ends when the first of the servers answered, a moment after any other did, when all have
        failed, or after `deadline` seconds.
        """
        started = time.monotonic()
        tasks = {
            server: asyncio.create_task(self._contact(server, port, deadline)) for server in servers
        }
        end = started + deadline
        try:
            while pending := [task for task in tasks.values() if not task.done()]:
                await asyncio.wait(
                    pending,
                    timeout=max(0.0, end - time.monotonic()),
                    return_when=asyncio.FIRST_COMPLETED,
                )
                answered = [server for server, task in tasks.items() if _answered(task)]
                if time.monotonic() >= end or servers[0] in answered:
                    break
                if answered:
                    end = min(end, time.monotonic() + _GRACE)
        finally:
            await _cancel(tasks.values())
        in_time = time.monotonic() - started < deadline
        unheard = Outcome.LATE if in_time else Outcome.SILENT
        return {
            server: task.result() if _finished(task) else Contact(server, unheard)
            for server, task in tasks.items()
        }

    async def _contact(self, server: str, port: int, deadline: float) -> Contact:
        started = time.monotonic()
        # Half of the time is left for connecting to addresses known from before.
        addresses = await self._resolver.resolve(server, port, deadline / 2)
        if not addresses:
            return Contact(server, Outcome.UNRESOLVABLE)
        attempts = [asyncio.create_task(_connect(each)) for each in addresses[:_ADDRESSES]]
        outcomes = set()
        try:
            for attempt in asyncio.as_completed(attempts):
                outcome = await attempt
                if outcome is Outcome.ANSWERED:
                    return Contact(server, outcome, time.monotonic() - started)
                outcomes.add(outcome)
        finally:
            await _cancel(attempts)
        refused = Outcome.REFUSED in outcomes
        return Contact(server, Outcome.REFUSED if refused else Outcome.UNREACHABLE)


async def _connect(address: Address) -> Outcome:
    try:
        made = socket.socket(address.family, socket.SOCK_STREAM)
    except OSError:  # a kernel without IPv6, whose names have such addresses all the same
        return Outcome.UNREACHABLE
    with contextlib.closing(made) as connection:
        connection.setblocking(False)  # noqa: FBT003
        try:
            await asyncio.get_running_loop().sock_connect(connection, address.sockaddr)
        except ConnectionRefusedError:
            return Outcome.REFUSED
        except OSError:
            return Outcome.UNREACHABLE
        return Outcome.ANSWERED


async def _cancel(tasks: Collection[asyncio.Task[Any]]) -> None:
    """Ends them now, so that no socket is left behind."""
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)


def _finished(task: asyncio.Task[Contact]) -> bool:
    return task.done() and not task.cancelled()


def _answered(task: asyncio.Task[Contact]) -> bool:
    return _finished(task) and task.result().outcome is Outcome.ANSWERED
