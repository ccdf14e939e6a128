import asyncio
import contextlib
import os
import socket
import subprocess
import sys
import textwrap
import threading
import time
from collections.abc import Awaitable, Callable, Iterator

import pytest

from agent.system.net import Contact, Outcome, ServerRace

PATIENCE = 60


def run(body: Callable[[ServerRace], Awaitable[None]]) -> None:
    async def main() -> None:
        before = len(os.listdir("/proc/self/fd"))
        await asyncio.wait_for(body(ServerRace()), PATIENCE)
        assert len(os.listdir("/proc/self/fd")) == before

    asyncio.run(main())


@contextlib.contextmanager
def listening(address: str, port: int = 0, *, silent: bool = False) -> Iterator[int]:
    """A server on a loopback address; silent: its queue is full, so the kernel drops a SYN."""
    with contextlib.ExitStack() as stack:
        family = socket.AF_INET6 if ":" in address else socket.AF_INET
        server = stack.enter_context(socket.socket(family))
        server.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        server.bind((address, port))
        server.listen(0 if silent else 16)
        port = server.getsockname()[1]
        if silent:
            filler = stack.enter_context(socket.socket(family))
            filler.connect((address, port))
        yield port


def outcomes(found: dict[str, Contact]) -> dict[str, Outcome]:
    return {server: contact.outcome for server, contact in found.items()}


async def ended_early(race: ServerRace, servers: tuple[str, ...], port: int) -> dict[str, Outcome]:
    """The outcomes of a race that did not last until its deadline."""
    started = time.monotonic()
    found = await race.race(servers, port, PATIENCE)
    assert time.monotonic() - started < PATIENCE / 2
    return outcomes(found)


def test_the_preferred_one_that_answers_ends_the_race() -> None:
    async def body(race: ServerRace) -> None:
        with listening("127.0.0.1") as port, listening("127.0.0.2", port, silent=True):
            found = await race.race(("127.0.0.1", "127.0.0.2"), port, PATIENCE)
            assert outcomes(found) == {
                "127.0.0.1": Outcome.ANSWERED,
                "127.0.0.2": Outcome.LATE,
            }
            assert found["127.0.0.1"].seconds is not None

    run(body)


def test_a_silent_preferred_one_is_waited_for_only_a_moment() -> None:
    async def body(race: ServerRace) -> None:
        with listening("127.0.0.1") as port, listening("127.0.0.2", port, silent=True):
            servers = ("127.0.0.2", "127.0.0.3", "127.0.0.1")
            assert await ended_early(race, servers, port) == {
                "127.0.0.2": Outcome.LATE,
                "127.0.0.3": Outcome.REFUSED,
                "127.0.0.1": Outcome.ANSWERED,
            }

    run(body)


def test_the_deadline_ends_it_when_none_answers() -> None:
    async def body(race: ServerRace) -> None:
        with listening("127.0.0.2", silent=True) as port:
            found = await race.race(("127.0.0.2", "127.0.0.3"), port, 0.2)
            assert outcomes(found) == {
                "127.0.0.2": Outcome.SILENT,
                "127.0.0.3": Outcome.REFUSED,
            }

    run(body)


def test_all_that_fail_end_it_before_the_deadline() -> None:
    async def body(race: ServerRace) -> None:
        with listening("127.0.0.1") as port:
            pass
        servers = ("127.0.0.2", "::1", "fe80::1%nosuch")
        assert await ended_early(race, servers, port) == {
            "127.0.0.2": Outcome.REFUSED,
            "::1": Outcome.REFUSED,
            "fe80::1%nosuch": Outcome.UNRESOLVABLE,
        }

    run(body)


def test_ipv6_answers() -> None:
    async def body(race: ServerRace) -> None:
        with listening("::1") as port:
            assert outcomes(await race.race(("::1",), port)) == {"::1": Outcome.ANSWERED}

    run(body)


def test_a_kernel_without_ipv6_does_not_stop_the_race(monkeypatch: pytest.MonkeyPatch) -> None:
    real = socket.socket

    def without_ipv6(family: int = -1, *rest: int, **more: int) -> socket.socket:
        if family == socket.AF_INET6:
            raise OSError(97, "Address family not supported by protocol")
        return real(family, *rest, **more)

    async def body(race: ServerRace) -> None:
        with listening("127.0.0.1") as port:
            monkeypatch.setattr("agent.system.net.socket.socket", without_ipv6)
            found = await race.race(("::1", "127.0.0.1"), port, PATIENCE)
            assert outcomes(found) == {"::1": Outcome.UNREACHABLE, "127.0.0.1": Outcome.ANSWERED}

    run(body)


def resolvers() -> list[threading.Thread]:
    return [thread for thread in threading.enumerate() if thread.name == "resolver"]


class NameService:
    """Stands in for the system's: it can't be made to hang on demand."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.answers = threading.Event()
        self.answers.set()
        self.fails = False
        self.asked: list[str] = []
        self._real = socket.getaddrinfo
        monkeypatch.setattr(socket, "getaddrinfo", self._getaddrinfo)

    def _getaddrinfo(self, host: str, port: int, **more: int) -> object:
        if more.get("flags"):
            return self._real(host, port, **more)
        self.asked.append(host)
        self.answers.wait()
        if self.fails:
            raise socket.gaierror(socket.EAI_AGAIN, "try again")
        return self._real("127.0.0.1", port, **more)


@pytest.fixture
def names(monkeypatch: pytest.MonkeyPatch) -> Iterator[NameService]:
    service = NameService(monkeypatch)
    yield service
    service.answers.set()
    for thread in resolvers():
        thread.join(PATIENCE)


def test_a_name_that_hangs_or_fails_later_is_served_from_memory(names: NameService) -> None:
    async def body(race: ServerRace) -> None:
        with listening("127.0.0.1") as port:
            assert outcomes(await race.race(("a",), port)) == {"a": Outcome.ANSWERED}
            names.fails = True
            assert outcomes(await race.race(("a",), port)) == {"a": Outcome.ANSWERED}
            names.answers.clear()
            assert outcomes(await race.race(("a",), port, 1.0)) == {"a": Outcome.ANSWERED}

    run(body)


def test_hung_names_cost_few_threads_and_are_asked_once(names: NameService) -> None:
    async def body(race: ServerRace) -> None:
        names.answers.clear()
        hung = tuple(f"name{number}" for number in range(10))
        for _ in range(3):
            found = await race.race(hung, 1, 0.1)
            assert set(outcomes(found).values()) == {Outcome.UNRESOLVABLE}
        assert len(resolvers()) == 4
        names.answers.set()
        names.fails = True
        while set(names.asked) != set(hung) or resolvers():
            await race.race(("name0",), 1, 1.0)
        assert names.asked.count("name9") == 1

    run(body)


def test_without_a_thread_to_be_had_a_name_is_looked_up_again_later(
    names: NameService,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def refuse(_: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    async def body(race: ServerRace) -> None:
        with listening("127.0.0.1") as port:
            with monkeypatch.context() as patch:
                patch.setattr(threading.Thread, "start", refuse)
                for _ in range(5):
                    found = await race.race(("node1",), port, PATIENCE)
                    assert outcomes(found) == {"node1": Outcome.UNRESOLVABLE}
            found = await race.race(("node1",), port, PATIENCE)
            assert outcomes(found) == {"node1": Outcome.ANSWERED}

    run(body)


def test_a_hung_name_does_not_hold_up_a_number(names: NameService) -> None:
    async def body(race: ServerRace) -> None:
        names.answers.clear()
        with listening("127.0.0.1") as port:
            found = await race.race(("hung", "127.0.0.1"), port, PATIENCE)
            assert outcomes(found) == {"hung": Outcome.LATE, "127.0.0.1": Outcome.ANSWERED}

    run(body)


def test_the_process_can_exit_while_a_name_hangs() -> None:
    program = textwrap.dedent("""
        import asyncio, socket, threading
        from agent.system.net import ServerRace

        real = socket.getaddrinfo
        def hang(host, port, **more):
            if more.get("flags"):
                return real(host, port, **more)
            threading.Event().wait()
        socket.getaddrinfo = hang

        async def main():
            print(await ServerRace().race(("name",), 1, 0.1))
        asyncio.run(main())
    """)
    done = subprocess.run(
        [sys.executable, "-c", program], timeout=PATIENCE, check=True, capture_output=True
    )
    assert b"unresolvable" in done.stdout
