"""Looks names up without ever being held up by it.

getaddrinfo may hang for minutes in the name service, and a thread in it can't be stopped: so the
threads are few, they are daemon threads, which an exit does not wait for, and they end when there
is nothing to look up. asyncio's own resolver uses an executor that is waited for at exit.
"""

import asyncio
import contextlib
import socket
import threading
from collections import deque
from dataclasses import dataclass

_THREADS = 4


@dataclass(frozen=True, slots=True)
class Address:
    """One address to connect to, as the socket module wants it."""

    family: int
    sockaddr: tuple[str, int] | tuple[str, int, int, int]


class Resolver:
    """Name lookups, and the last addresses known of each name. Needs the running loop."""

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._lock = threading.Lock()
        self._queue: deque[tuple[str, int]] = deque()
        self._threads = 0
        self._lookups: dict[tuple[str, int], asyncio.Future[tuple[Address, ...]]] = {}
        self._known: dict[tuple[str, int], tuple[Address, ...]] = {}

    async def resolve(self, name: str, port: int, patience: float) -> tuple[Address, ...]:
        """The addresses of a name or number, () if there are none.

        Where the lookup fails, or is later than `patience` seconds, the last ones known; it goes
        on then and is found by the next call.
        """
        key = (name, port)
        if numeric := _lookup(name, port, socket.AI_NUMERICHOST):
            return numeric
        lookup = self._lookups.get(key) or self._start(key)
        # Not awaited itself: others may wait for it too, and it outlives a cancelled caller.
        await asyncio.wait([lookup], timeout=patience)
        return self._known.get(key, ())

    def _start(self, key: tuple[str, int]) -> asyncio.Future[tuple[Address, ...]]:
        lookup = self._lookups[key] = self._loop.create_future()
        with self._lock:
            self._queue.append(key)
            if self._threads >= _THREADS:
                return lookup
            self._threads += 1
        try:
            threading.Thread(target=self._work, name="resolver", daemon=True).start()
        except RuntimeError:  # no thread to be had: fail now, so that the next lookup tries again
            with self._lock:
                self._threads -= 1
                taken = key not in self._queue  # by a thread that was there
                if not taken:
                    self._queue.remove(key)
            if not taken:
                self._finish(key, ())
        return lookup

    def _work(self) -> None:
        while True:
            with self._lock:
                if not self._queue:
                    self._threads -= 1
                    return
                key = self._queue.popleft()
            found = _lookup(*key, 0)
            # The loop may have been closed since: nobody is left to tell.
            with contextlib.suppress(RuntimeError):
                self._loop.call_soon_threadsafe(self._finish, key, found)

    def _finish(self, key: tuple[str, int], found: tuple[Address, ...]) -> None:
        if found:
            self._known[key] = found
        lookup = self._lookups.pop(key)
        if not lookup.done():
            lookup.set_result(found)


def _lookup(name: str, port: int, flags: int) -> tuple[Address, ...]:
    try:
        found = socket.getaddrinfo(name, port, type=socket.SOCK_STREAM, flags=flags)
    except (OSError, UnicodeError):
        return ()
    # sockaddr is (bytes) for families Python does not know.
    return tuple(
        Address(family, (str(address[0]), int(address[1]), *address[2:]))
        for family, _, _, _, address in found
        if family in (socket.AF_INET, socket.AF_INET6)
    )
