"""When a layout is looked after, and what is told of it; the worker is played."""

import asyncio
import contextlib
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import pytest

from agent.config.schema import Config, MountConfig
from agent.daemon import layoutkeeper
from agent.errors import ChildGone, MountFailed
from agent.events import Event
from agent.model.mount import MountEntry
from agent.model.status import LayoutState, LayoutStatus
from agent.model.verdict import Verdict
from agent.system.workmount import WorkMounts
from tests.unit.health.samples import HEALTHY
from tests.unit.mounts.world import OURS, PATH, World, config, until

LAYOUT: dict[str, Any] = {"directories": {"cache": {}, "cache/hub": {}}}
ENTRY = MountEntry(9, 1, 0, 77, "/", "/run/work", "rw", "fuse.glusterfs", "node1:/vol", "")
Rows = Callable[[dict[str, Any]], Iterable[dict[str, Any]]]


def seen(path: str, **other: Any) -> dict[str, Any]:
    numbers = {"inode": 1, "uid": 0, "gid": 0, "mode": 0o755, "errno": 0}
    row = {"row": "seen", "path": path, "kind": "directory", "access": None, "default": None}
    return {**row, **numbers, "mark": None, "empty": False, "detail": "", **other}


def done(path: str, **other: Any) -> dict[str, Any]:
    row = {"row": "done", "path": path, "result": "ok", "uid": 0, "gid": 0, "mode": 0o755}
    return {**row, "errno": 0, "doing": "", **other}


def failed(doing: str, number: int, *, held: bool = False) -> dict[str, Any]:
    return {"row": "failure", "doing": doing, "errno": number, "held": held}


def all_well(request: dict[str, Any]) -> list[dict[str, Any]]:
    return [seen(each["path"]) for each in request["directories"]]


class Played:
    """A host with one mount that has a layout. answers: what the worker says to a request."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.answers: Rows = all_well
        self.asked: list[str] = []
        self.mounts: list[tuple[str, str, str]] = []
        self.cannot_mount = False
        self.word = {"turn": "", "layout": ""}
        self.taken = 0
        self.told: dict[str, LayoutStatus | None] = {}
        edges = replace(world.edges(), children=cast("Any", self))
        self.layouts = layoutkeeper.layouts(edges, cast("WorkMounts", self), self.told.__setitem__)

    @contextlib.asynccontextmanager
    async def mounted(self, name: str, source: str, options: str) -> AsyncIterator[MountEntry]:
        self.mounts.append((name, source, options))
        if self.cannot_mount:
            raise MountFailed("no way")
        yield ENTRY

    async def stream(
        self, kind: str, mount: str, request: Any, patience: float
    ) -> AsyncGenerator[dict[str, Any], None]:
        if request["do"] == "turn":
            self.word = request["take"] or self.word
            self.taken += bool(request["take"])
            yield {"row": "turn", **self.word}
            return
        assert (kind, mount, request["device"]) == ("layout", ENTRY.path, [0, 77])
        self.asked.append(request["do"])
        for row in self.answers(request):
            yield row

    def state(self) -> LayoutState | None:
        status = self.told.get("a")
        return status.state if status else None

    def messages(self, event: Event) -> list[str]:
        return [text for each, text in self.world.report.events if each is event]

    def apply(self, config: Config) -> None:
        self.layouts.apply(layoutkeeper.subjects(config))

    def judge(self, verdict: Verdict) -> None:
        self.layouts.judged(replace(HEALTHY, name="a", verdict=verdict))


def play(tmp_path: Path, body: Callable[[Played], Awaitable[None]]) -> None:
    async def run() -> None:
        played = Played(World(tmp_path))
        try:
            await body(played)
        finally:
            await played.layouts.close()

    asyncio.run(run())


async def looked_after(played: Played) -> None:
    """Once a first pass over a healthy mount's layout has found all as declared."""
    played.judge(Verdict.HEALTHY)
    played.apply(with_layout())
    await until(lambda: played.state() is LayoutState.APPLIED, "all is as declared")


def with_layout(**keys: Any) -> Config:
    settings: MountConfig = config(layout=LAYOUT, **keys)
    return Config(mounts={"a": settings})


def test_nothing_is_done_before_the_verdict_allows_it(tmp_path: Path) -> None:
    async def body(played: Played) -> None:
        played.apply(with_layout())
        for verdict in Verdict:
            if not verdict.usable:
                played.judge(verdict)
                await asyncio.sleep(0.01)
        assert (played.state(), played.mounts) == (LayoutState.PENDING, [])
        played.judge(Verdict.HEALTHY)
        await until(lambda: played.state() is LayoutState.APPLIED, "it is looked after")
        assert played.asked == ["look"]

    play(tmp_path, body)


def test_the_work_mount_sees_what_is_there(tmp_path: Path) -> None:
    async def body(played: Played) -> None:
        played.judge(Verdict.DEGRADED)
        options = {"entry-timeout": 120, "attribute-timeout": 120.0, "dump-fuse": "/x", "acl": True}
        played.apply(with_layout(options=options))
        await until(lambda: played.state() is LayoutState.APPLIED, "it is looked after")
        ((name, source, told),) = played.mounts
        assert (name, source) == ("layout-a", "node1:/vol")
        timeouts = {"entry-timeout=0", "attribute-timeout=0", "negative-timeout=0"}
        assert timeouts | {"acl"} <= set(told.split(","))
        assert "xlator-option=vol-md-cache.md-cache-timeout=0" in told.split(",")
        assert "dump-fuse" not in told

    play(tmp_path, body)


def test_what_is_made_and_found_is_told_once(tmp_path: Path) -> None:
    async def body(played: Played) -> None:
        def answers(request: dict[str, Any]) -> list[dict[str, Any]]:
            if request["do"] == "act":
                return [done(each["path"]) for each in request["actions"]]
            missing = {"kind": "missing"} if len(played.asked) == 1 else {}
            return [seen("cache", **missing), seen("cache/hub", kind="symlink", detail="/etc")]

        played.answers = answers
        played.judge(Verdict.HEALTHY)
        played.apply(with_layout())
        await until(lambda: played.state() is LayoutState.FINDINGS, "it is looked after")
        assert played.messages(Event.LAYOUT_MADE) == [f"{PATH}: made 1 directory: cache"]
        (finding,) = played.messages(Event.LAYOUT_FINDING)
        assert finding.startswith(f"{PATH}: cache/hub: a symbolic link to /etc")
        played.apply(with_layout(probe={"interval": "7s"}))
        await until(lambda: len(played.mounts) == 2, "the change is heard")
        await until(lambda: played.state() is LayoutState.FINDINGS, "it is looked after")

    play(tmp_path, body)


def test_a_change_of_something_else_does_not_disturb(tmp_path: Path) -> None:
    async def body(played: Played) -> None:
        await looked_after(played)
        other = config(path="/mnt/b")
        played.apply(Config(mounts={**with_layout().mounts, "b": other}))
        await asyncio.sleep(0.05)
        assert len(played.mounts) == 1
        played.apply(Config(mounts={"b": other}))
        assert played.told["a"] is None

    play(tmp_path, body)


@pytest.mark.parametrize("how", ["mount", "late", "worker"])
def test_a_failure_is_one_finding_and_no_storm(tmp_path: Path, how: str) -> None:
    async def body(played: Played) -> None:
        played.cannot_mount = how == "mount"
        played.answers = lambda _: [failed("looking at cache", 107)] if how == "late" else [{}]
        played.judge(Verdict.HEALTHY)
        played.apply(with_layout())
        await until(lambda: played.state() is LayoutState.FAILED, "it failed")
        played.judge(Verdict.NO_QUORUM)
        played.judge(Verdict.HEALTHY)
        await asyncio.sleep(0.05)
        status = played.told["a"]
        assert status is not None
        assert (len(status.findings), status.looked) == (1, None)
        assert len(played.messages(Event.LAYOUT_FINDING)) == 1
        assert len(played.mounts) == 1

    play(tmp_path, body)


def test_a_lock_that_another_host_has_is_waited_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(layoutkeeper, "HELD", 0.01)

    async def body(played: Played) -> None:
        def answers(request: dict[str, Any]) -> list[dict[str, Any]]:
            if request["do"] == "act":
                return [failed("taking the volume's lock", 0, held=True)]
            missing = {} if len(played.asked) > 4 else {"kind": "missing"}
            return [seen(each["path"], **missing) for each in request["directories"]]

        played.answers = answers
        await looked_after(played)
        assert played.asked == ["look", "act", "look", "act", "look"]
        assert len(played.mounts) == 1
        assert played.messages(Event.LAYOUT_FINDING) == []
        assert played.messages(Event.LAYOUT_MADE) == []

    play(tmp_path, body)


def test_a_verdict_that_turns_bad_stops_it(tmp_path: Path) -> None:
    async def body(played: Played) -> None:
        def answers(request: dict[str, Any]) -> list[dict[str, Any]]:
            played.judge(Verdict.HUNG)
            return [seen(each["path"], kind="missing") for each in request["directories"]]

        played.answers = answers
        played.judge(Verdict.HEALTHY)
        played.apply(with_layout())
        await until(lambda: played.state() is LayoutState.FAILED, "it is given up")
        assert played.asked == ["look"]

    play(tmp_path, body)


@pytest.fixture(name="often")
def _often(monkeypatch: pytest.MonkeyPatch) -> None:
    """A routine pass is due every moment."""
    monkeypatch.setattr(layoutkeeper, "EVERY", 0.05)


@pytest.mark.usefixtures("often")
def test_a_routine_pass_is_made_and_word_of_it_left(tmp_path: Path) -> None:
    async def body(played: Played) -> None:
        played.world.layers.append(OURS)
        played.judge(Verdict.HEALTHY)
        played.apply(with_layout())
        await until(lambda: played.taken > 2, "routine passes are made")
        assert len(played.asked) >= 3

    play(tmp_path, body)


@pytest.mark.usefixtures("often")
def test_a_routine_pass_is_left_to_the_host_that_made_it(tmp_path: Path) -> None:
    async def body(played: Played) -> None:
        played.world.layers.append(OURS)
        await looked_after(played)
        passes = len(played.asked)
        for number in range(8):
            await asyncio.sleep(0.03)
            played.word = {**played.word, "turn": f"theirs {number}"}
        assert len(played.asked) <= passes + 1  # one may have slipped in between two of theirs
        await until(lambda: len(played.asked) > passes + 1, "nobody does it any more")

    play(tmp_path, body)


@pytest.mark.usefixtures("often")
def test_a_host_with_another_layout_is_told_of_and_not_fought(tmp_path: Path) -> None:
    async def body(played: Played) -> None:
        played.world.layers.append(OURS)
        await looked_after(played)
        played.word = {"turn": "theirs", "layout": "another"}
        await until(lambda: played.state() is LayoutState.FINDINGS, "it is told")
        (finding,) = played.messages(Event.LAYOUT_FINDING)
        assert finding.startswith(f"{PATH}: another host keeps another layout")
        await until(lambda: played.state() is LayoutState.APPLIED, "theirs came no more")

    play(tmp_path, body)


def many(count: int) -> Config:
    layout = {"repair": True, "directories": {f"d{number}": {} for number in range(count)}}
    return Config(mounts={"a": config(layout=layout)})


def test_what_was_mended_is_told_though_the_worker_dies_over_it(tmp_path: Path) -> None:
    """Its old owner and mode are nowhere else. Not of what the worker had not come to."""

    async def body(played: Played) -> None:
        def answers(request: dict[str, Any]) -> Iterator[dict[str, Any]]:
            if request["do"] == "look":
                yield from (seen(each["path"], uid=1001, mode=0o700) for each in all_of(request))
                return
            yield done("d0")
            yield done("d1")
            raise ChildGone("it was killed")

        played.answers = answers
        played.judge(Verdict.HEALTHY)
        played.apply(many(4))
        await until(lambda: played.state() is LayoutState.FAILED, "it failed")
        told = played.messages(Event.LAYOUT_MENDED)
        assert [text.split(" (")[0] for text in told] == [f"{PATH}: mend d{n}" for n in range(3)]
        assert all("owner 1001, declared root; mode 0700, declared 0755" in text for text in told)
        unknown = "; whether it came to its end is not known"
        assert [text.endswith(unknown) for text in told] == [False, False, True]

    play(tmp_path, body)


def all_of(request: dict[str, Any]) -> list[dict[str, Any]]:
    return [*request["directories"], *request.get("actions", [])]


def test_more_findings_than_are_told_are_counted(tmp_path: Path) -> None:
    async def body(played: Played) -> None:
        played.answers = lambda request: [
            seen(each["path"], kind="other", detail="a file") for each in all_of(request)
        ]
        played.judge(Verdict.HEALTHY)
        played.apply(many(250))
        await until(lambda: played.state() is LayoutState.FINDINGS, "it is looked after")
        status = played.told["a"]
        assert status is not None
        assert len(status.findings) == layoutkeeper.MOST + 1
        assert status.findings[-1] == "and 150 more that are not told one by one"

    play(tmp_path, body)
