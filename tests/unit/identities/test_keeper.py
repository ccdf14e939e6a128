"""Rounds over a real worker and this machine's own name service; only the tools are recorded."""

import asyncio
import grp
import os
import pwd
import signal
from collections.abc import Sequence

import pytest

from agent.config.identities_schema import IdentitiesConfig, RemapConfig
from agent.events import Event
from agent.identities import lookup
from agent.identities.facts import Group, User
from agent.identities.keeper import Edges, IdentitiesKeeper
from agent.identities.lookup import look_up
from agent.model.status import IdentitiesState, IdentitiesStatus
from agent.model.verdict import Verdict
from agent.system.children import Children
from agent.system.tools import DirectTools, ToolFailed
from tests.unit.identities.hosts import a_map

HERE = pwd.getpwnam("nobody")
HERE_GROUP = grp.getgrgid(HERE.pw_gid).gr_name
NEW = a_map({"gml-test": 59990}, {"gml-user": (59991, "gml-test", [])})
AS_HERE = IdentitiesConfig.model_construct(
    missing="create",
    groups={HERE_GROUP: HERE.pw_gid},
    users={},
    remap=RemapConfig(),
)


class Told:
    """What a keeper says."""

    def __init__(self) -> None:
        self.events: list[tuple[Event, str]] = []
        self.fields: list[dict[str, object]] = []
        self.statuses: list[IdentitiesStatus | None] = []
        self.news = asyncio.Event()

    def emit(
        self,
        event: Event,
        message: str,
        *,
        mount: str | None = None,
        verdict: Verdict | None = None,
        error: BaseException | None = None,
        **fields: object,
    ) -> None:
        assert error is None, error
        self.events.append((event, message))
        self.fields.append(fields)

    def identities(self, status: IdentitiesStatus | None) -> None:
        self.statuses.append(status)
        self.news.set()

    async def next(self) -> IdentitiesStatus | None:
        async with asyncio.timeout(60):
            await self.news.wait()
        self.news.clear()
        return self.statuses[-1]


class NoTools:
    """Takes orders and does nothing, or fails."""

    def __init__(self, failure: str = "") -> None:
        self.orders: list[Sequence[str]] = []
        self._failure = failure

    async def run(self, argv: Sequence[str], timeout: float) -> None:
        self.orders.append(argv)
        if self._failure:
            raise ToolFailed(argv[0], self._failure)

    async def close(self) -> None:
        pass


async def one_round(wanted: IdentitiesConfig, tools: NoTools) -> Told:
    told, children = Told(), Children()
    looking = IdentitiesKeeper(Edges(children, tools, told, lambda: 1000.0))
    looking.change(wanted)
    task = asyncio.create_task(looking.run())
    await told.next()
    task.cancel()
    await children.close()
    return told


def test_what_lacks_is_ordered_and_looked_at_again() -> None:
    tools = NoTools()
    told = asyncio.run(one_round(NEW, tools))
    assert [order[0] for order in tools.orders] == ["/usr/sbin/groupadd", "/usr/sbin/useradd"]
    status = told.statuses[-1]
    assert status is not None
    assert status.state is IdentitiesState.DIFFERS
    assert len(status.missing) == 2, "the orders came to nothing, and it says so"
    assert {event for event, _ in told.events} == {Event.IDENTITY_CREATED, Event.IDENTITY_MISSING}
    created = [
        told.fields[n] for n, (e, _) in enumerate(told.events) if e is Event.IDENTITY_CREATED
    ]
    assert created == [
        {"group": "gml-test", "number": 59990},
        {"user": "gml-user", "number": 59991},
    ]


def test_with_report_nothing_is_ordered() -> None:
    tools = NoTools()
    told = asyncio.run(one_round(NEW.model_copy(update={"missing": "report"}), tools))
    assert tools.orders == []
    assert told.statuses[-1] == IdentitiesStatus(
        IdentitiesState.DIFFERS,
        checked=1000.0,
        missing=(
            "group gml-test with number 59990",
            "user gml-user with number 59991 and group 59990",
        ),
    )


def test_a_tool_that_fails_is_told_in_its_words() -> None:
    told = asyncio.run(one_round(NEW, NoTools("cannot lock /etc/group; try again later.")))
    status = told.statuses[-1]
    assert status is not None
    assert len(status.failed) == 2
    assert status.failed[0].endswith("groupadd failed: cannot lock /etc/group; try again later.")


def test_all_there_is_said_once() -> None:
    told = asyncio.run(one_round(AS_HERE, NoTools()))
    assert [event for event, _ in told.events] == [Event.IDENTITIES_SETTLED]
    status = told.statuses[-1]
    assert status is not None
    assert status.state is IdentitiesState.SETTLED


def test_no_map_no_look() -> None:
    told = asyncio.run(one_round(a_map({}, {}), NoTools()))
    assert told.statuses == [None]
    assert told.events == []


async def _stopped_worker(monkeypatch: pytest.MonkeyPatch) -> Told:
    """The worker is stopped as it starts, as a name service that never answers would hold it."""
    children, told, tools = Children(), Told(), NoTools()
    spawn = children.spawn

    def stopped(kind: str, mount: str) -> object:
        child = spawn(kind, mount)
        os.kill(child.process.pid, signal.SIGSTOP)
        return child

    monkeypatch.setattr(children, "spawn", stopped)
    monkeypatch.setattr(lookup, "PATIENCE", 0.5)
    looking = IdentitiesKeeper(Edges(children, tools, told, lambda: 1000.0))
    looking.change(NEW)
    task = asyncio.create_task(looking.run())
    await told.next()
    assert tools.orders == [], "who isn't known is not created"
    async with asyncio.timeout(60):
        await asyncio.wait([child.exited for child in children.living])
    monkeypatch.setattr(children, "spawn", spawn)
    monkeypatch.setattr(lookup, "PATIENCE", 30.0)
    looking.change(AS_HERE)
    await told.next()
    task.cancel()
    await children.close()
    return told


def test_a_name_service_that_hangs_holds_nothing_up(monkeypatch: pytest.MonkeyPatch) -> None:
    told = asyncio.run(_stopped_worker(monkeypatch))
    first, second = told.statuses
    assert first is not None
    assert second is not None
    assert first.state is IdentitiesState.UNKNOWN
    assert "no answer within 0.5 s" in first.error
    assert second.state is IdentitiesState.SETTLED
    assert [event for event, _ in told.events] == [
        Event.IDENTITY_UNKNOWN,
        Event.IDENTITIES_SETTLED,
    ]


def test_the_worker_says_what_the_name_service_says() -> None:
    async def look() -> None:
        children = Children()
        known = await look_up(
            children,
            "test",
            users=["root", "gml-user"],
            uids=[0, 59991],
            groups=["root"],
            gids=[0, 59990],
        )
        assert known.users["root"].uid == 0
        assert known.groups["root"].gid == 0
        assert known.memberships["root"] == {0, *os.getgrouplist("root", 0)}
        assert known.uids == {0: User("root", 0, 0)}
        assert known.gids == {0: Group("root", 0)}
        assert set(known.users) == {"root"}
        await children.close()

    asyncio.run(look())


def test_tools_as_children_say_what_failed() -> None:
    async def run() -> None:
        await DirectTools().run(("/bin/true",), 10)
        with pytest.raises(ToolFailed, match=r"ls failed: .*No such file"):
            await DirectTools().run(("/bin/ls", "/nowhere"), 10)
        with pytest.raises(ToolFailed, match="sleep failed: it did not end within"):
            await DirectTools().run(("/bin/sleep", "60"), 0.2)
        async with asyncio.timeout(30):
            while _has_children():  # noqa: ASYNC110  their end is told nowhere else
                await asyncio.sleep(0.01)
        with pytest.raises(ToolFailed, match="none failed: No such file"):
            await DirectTools().run(("/none",), 1)

    asyncio.run(run())


def _has_children() -> bool:
    try:
        os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)
    except ChildProcessError:
        return False
    return True
