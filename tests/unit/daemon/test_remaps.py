"""When a volume is walked for old ids, and what is told of it; the workers are played."""

import asyncio
import contextlib
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import pytest

from agent.config.identities_schema import RemapConfig
from agent.config.schema import Config
from agent.daemon import remapkeeper
from agent.events import Event
from agent.identities.bookmark import Bookmarks
from agent.model.mount import MountEntry
from agent.model.status import RemapState, RemapStatus
from agent.model.verdict import Verdict
from agent.system.children import Answer
from agent.system.workmount import WorkMounts
from tests.unit.health.samples import HEALTHY
from tests.unit.identities.hosts import a_map
from tests.unit.mounts.world import PATH, World, config, until

ENTRY = MountEntry(9, 1, 0, 77, "/", "/run/work", "rw", "fuse.glusterfs", "node1:/vol", "")
MAP = a_map({"ml": 20000}, {"alice": (20001, "ml", [])})


def progress(looked: int, *, whole: bool = False, at: str = "a") -> dict[str, Any]:
    counts = {"looked": looked, "matched": 2, "changed": 1, "failed": 1}
    return {**counts, "at": at, "whole": whole}


class Played:
    """A host with one mount. rows: what the worker says, walk by walk; the last again and again."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.rows: list[list[dict[str, Any]]] = [[progress(7, whole=True)]]
        self.between: Callable[[], None] = lambda: None
        self.known: list[dict[str, Any]] = []
        self.asked: list[dict[str, Any]] = []
        self.told: dict[str, RemapStatus | None] = {}
        self.states: list[RemapState] = []
        edges = replace(world.edges(), children=cast("Any", self))
        marks = Bookmarks(world.directory / "remap")
        self.remaps = remapkeeper.remaps(
            remapkeeper.Means(edges, cast("WorkMounts", self), marks, "host-1", self._take)
        )

    def _take(self, name: str, status: RemapStatus | None) -> None:
        self.told[name] = status
        if status is not None:
            self.states.append(status.state)

    @contextlib.asynccontextmanager
    async def mounted(self, *_: str) -> AsyncIterator[MountEntry]:
        yield ENTRY

    async def run_once(self, kind: str, *_: object) -> Answer:
        assert kind == "names"
        return Answer(tuple(self.known), done=True)

    async def stream(
        self, kind: str, mount: str, request: dict[str, Any], patience: float
    ) -> AsyncGenerator[dict[str, Any], None]:
        assert (kind, mount) == ("remap", ENTRY.path)
        self.asked.append(request)
        for row in self.rows.pop(0) if len(self.rows) > 1 else self.rows[0]:
            yield row
            self.between()

    def apply(self, *, mode: str = "report", enforce: bool = True, **keys: Any) -> None:
        remap = RemapConfig.model_validate({"mode": mode, "uids": {"1001": "alice"}})
        who = MAP.model_copy(update={"remap": remap})
        wanted = Config(mounts={"a": config(**keys)}, identities=who)
        self.remaps.apply(remapkeeper.subjects(wanted, enforce=enforce))

    def judge(self, verdict: Verdict, *, whole: bool = True) -> None:
        self.remaps.judged(replace(HEALTHY, name="a", verdict=verdict, whole=whole))

    @property
    def status(self) -> RemapStatus:
        found = self.told["a"]
        assert found is not None
        return found

    async def until(self, state: RemapState) -> None:
        await until(lambda: self.status.state is state, f"it is {state}")


@pytest.fixture(autouse=True)
def _each_place_is_marked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(remapkeeper, "MARKED", 0.0)


def play(tmp_path: Path, body: Callable[[Played], Awaitable[None]]) -> None:
    async def run() -> None:
        played = Played(World(tmp_path))
        try:
            await body(played)
        finally:
            await played.remaps.close()

    asyncio.run(run())


@pytest.mark.parametrize(
    ("mode", "enforce", "dry", "said"),
    [
        ("report", True, True, "7 files looked at, 2 have an old id, 1 were left"),
        (
            "enforce",
            True,
            False,
            "7 files looked at, 1 with an old id got the new one, 1 were left",
        ),
        ("enforce", False, True, "7 files looked at, 2 have an old id, 1 were left"),
    ],
)
def test_a_walk_to_its_end(tmp_path: Path, mode: str, enforce: bool, dry: bool, said: str) -> None:
    async def body(played: Played) -> None:
        played.rows = [[progress(3), {"path": "x", "problem": "is odd"}, progress(7, whole=True)]]
        played.apply(mode=mode, enforce=enforce)
        played.judge(Verdict.HEALTHY)
        await played.until(RemapState.DONE)
        (request,) = played.asked
        assert (request["uids"], request["dry"]) == ({1001: 20001}, dry)
        assert played.states == [RemapState.PENDING, RemapState.WALKING, RemapState.DONE]
        assert played.status.problems == ("x: is odd",)
        report = played.world.report
        assert report.told(Event.REMAP_DONE) == [f"{PATH}: {said}"]
        assert report.told(Event.REMAP_LEFT) == [f"{PATH}: x: is odd"]

    play(tmp_path, body)


@pytest.mark.parametrize(
    ("verdict", "whole"),
    [
        (Verdict.STALE_OPTIONS, True),
        (Verdict.NO_QUORUM, True),
        (Verdict.PAUSED, True),
        (Verdict.DEGRADED, False),
    ],
)
def test_only_a_whole_volume_is_walked(tmp_path: Path, verdict: Verdict, whole: bool) -> None:
    async def body(played: Played) -> None:
        played.apply()
        played.judge(verdict, whole=whole)
        await asyncio.sleep(0.02)
        assert (played.asked, played.status.state) == ([], RemapState.PENDING)
        played.judge(Verdict.DEGRADED)
        await played.until(RemapState.DONE)

    play(tmp_path, body)


def test_nothing_is_walked_that_nobody_may_write_to(tmp_path: Path) -> None:
    async def body(played: Played) -> None:
        played.judge(Verdict.HEALTHY)
        played.apply(options={"ro": True})
        await asyncio.sleep(0.02)
        assert (played.asked, played.told) == ([], {})

    play(tmp_path, body)


def test_an_old_id_that_is_somebody_here_is_left(tmp_path: Path) -> None:
    async def body(played: Played) -> None:
        played.known = [{"kind": "uids", "asked": 1001, "name": "bob", "uid": 1001, "gid": 100}]
        played.apply(mode="enforce")
        played.judge(Verdict.HEALTHY)
        await played.until(RemapState.DONE)
        assert played.asked == []
        left = "user 1001 is bob here: its files are left as they are"
        assert played.world.report.told(Event.REMAP_LEFT) == [f"{PATH}: {left}"]

    play(tmp_path, body)


@pytest.mark.parametrize(
    ("row", "state", "looked"),
    [
        ({"held": True}, RemapState.ELSEWHERE, 0),
        (
            {"counts": progress(9, whole=True), "host": "host-2", "time": 1000.0},
            RemapState.DONE,
            9,
        ),
    ],
)
def test_another_hosts_turn(
    tmp_path: Path, row: dict[str, Any], state: RemapState, looked: int
) -> None:
    async def body(played: Played) -> None:
        played.rows = [[row]]
        played.apply()
        played.judge(Verdict.HEALTHY)
        await played.until(state)
        assert (played.status.looked, played.status.host) == (looked, row.get("host", ""))
        assert played.world.report.told(Event.REMAP_DONE) == []

    play(tmp_path, body)


def test_a_verdict_that_turns_bad_stops_it_and_it_goes_on_from_there(tmp_path: Path) -> None:
    async def body(played: Played) -> None:
        played.rows = [
            [progress(3, at="b"), progress(4, at="c"), progress(5)],
            [progress(2, whole=True)],
        ]
        played.between = lambda: played.judge(Verdict.HUNG)
        played.apply()
        played.judge(Verdict.HEALTHY)
        await until(lambda: RemapState.WALKING in played.states, "it begins")
        await played.until(RemapState.PENDING)
        played.between = lambda: None
        played.judge(Verdict.HEALTHY)
        await played.until(RemapState.DONE)
        assert [request["after"] for request in played.asked] == ["", "c"]
        assert played.status.looked == 4 + 2

    play(tmp_path, body)


def test_a_walk_that_breaks_off_is_told_and_made_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(remapkeeper, "RETRY", 0.01)

    async def body(played: Played) -> None:
        played.rows = [
            [progress(3), {"path": "", "problem": "Transport endpoint is not connected"}],
            [progress(7, whole=True)],
        ]
        played.apply()
        played.judge(Verdict.HEALTHY)
        await played.until(RemapState.DONE)
        assert RemapState.FAILED in played.states
        (told,) = played.world.report.told(Event.REMAP_FAILED)
        assert told.endswith("the walk broke off: /: Transport endpoint is not connected")

    play(tmp_path, body)
