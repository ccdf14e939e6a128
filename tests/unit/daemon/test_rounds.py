"""When passes over a volume are made, and for which mounts; the work itself is played."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import replace
from pathlib import Path

import pytest

from agent.daemon.permount import PerMount
from agent.daemon.rounds import Rhythm, Rounds
from agent.errors import AgentError
from agent.events import Event
from agent.model.status import MountStatus
from agent.model.verdict import Verdict
from tests.unit.health.samples import HEALTHY
from tests.unit.mounts.world import World, until

LONG = 3600.0
"""Seconds that no test waits for."""
BROKEN = AgentError("broken", "the volume is away")


class Played:
    """Passes that come to what `ends` says, one after the other; the last one again and again."""

    title = "the pass"

    def __init__(self, *ends: float | Exception | None, rhythm: Rhythm | None = None) -> None:
        self.rhythm = rhythm or Rhythm(retry=0.001, most=0.001)
        self.ends = list(ends)
        self.begun: list[float] = []
        self.during: Callable[[Callable[[], bool]], Awaitable[None]] | None = None
        self.why: list[str] = []
        self.told = 0

    async def once(self, allowed: Callable[[], bool]) -> float | None:
        self.begun.append(asyncio.get_running_loop().time())
        if self.during is not None:
            await self.during(allowed)
        end = self.ends.pop(0) if len(self.ends) > 1 else self.ends[0]
        if isinstance(end, Exception):
            raise end
        return end

    def failed(self, why: str) -> None:
        self.why.append(why)

    def tell(self) -> None:
        self.told += 1


def play(
    tmp_path: Path, work: Played, body: Callable[[Rounds], Awaitable[None]], jitter: float = 0.0
) -> World:
    """Have the passes of a work made while the body runs."""
    world = World(tmp_path)

    async def run() -> None:
        rounds = Rounds("a", work, replace(world.edges(), jitter=lambda: jitter))
        async with asyncio.TaskGroup() as tasks:
            task = tasks.create_task(rounds.run())
            await body(rounds)
            task.cancel()

    asyncio.run(run())
    return world


def test_passes_are_made_while_the_verdict_allows_it(tmp_path: Path) -> None:
    work = Played(0.001)

    async def body(rounds: Rounds) -> None:
        await asyncio.sleep(0.02)
        assert work.begun == []
        rounds.judged(usable=True)
        await until(lambda: len(work.begun) > 2, "pass after pass")
        rounds.judged(usable=False)
        made = len(work.begun)
        await asyncio.sleep(0.02)
        assert len(work.begun) == made
        assert work.told == made

    play(tmp_path, work, body)


def test_a_pass_that_is_at_work_hears_of_the_verdict(tmp_path: Path) -> None:
    work = Played(LONG)
    heard: list[bool] = []

    async def body(rounds: Rounds) -> None:
        async def during(allowed: Callable[[], bool]) -> None:
            heard.append(allowed())
            rounds.judged(usable=False)
            heard.append(allowed())

        work.during = during
        rounds.judged(usable=True)
        await until(lambda: work.told, "the pass ends")
        assert heard == [True, False]

    play(tmp_path, work, body)


def test_what_fails_is_tried_again_later_each_time(tmp_path: Path) -> None:
    work = Played(BROKEN, None, BROKEN, LONG, rhythm=Rhythm(retry=0.02, most=LONG))

    async def body(rounds: Rounds) -> None:
        rounds.judged(usable=True)
        await until(lambda: work.told == 4, "it works again")

    play(tmp_path, work, body)
    pauses = [later - one for one, later in zip(work.begun, work.begun[1:], strict=False)]
    assert all(pause >= least for pause, least in zip(pauses, (0.015, 0.03, 0.06), strict=True))
    assert work.why == [str(BROKEN)] * 2


def test_the_pauses_after_failures_have_a_bound_and_begin_anew(tmp_path: Path) -> None:
    ends: list[float | None] = [None] * 40
    work = Played(*ends, 0.0, None, LONG, rhythm=Rhythm(retry=0.001, most=0.002))

    async def body(rounds: Rounds) -> None:
        rounds.judged(usable=True)
        await until(lambda: work.told == 43, "40 failures take 0.1 s")

    play(tmp_path, work, body)


def test_a_bug_costs_one_pass(tmp_path: Path) -> None:
    work = Played(KeyError("oops"), LONG)

    async def body(rounds: Rounds) -> None:
        rounds.judged(usable=True)
        await until(lambda: work.told == 2, "the next one is made")

    world = play(tmp_path, work, body)
    assert world.report.told(Event.INTERNAL_ERROR) == ["the pass failed: KeyError('oops')"]
    assert work.why == ["a bug of the agent: KeyError('oops')"]


@pytest.mark.parametrize(("back", "passes"), [(None, 1), (0.01, 2)])
def test_a_mount_that_is_back(tmp_path: Path, back: float | None, passes: int) -> None:
    """What is due in an hour is looked at soon where the rhythm says so."""
    work = Played(LONG, rhythm=Rhythm(retry=LONG, most=LONG, back=back))

    async def body(rounds: Rounds) -> None:
        rounds.judged(usable=True)
        await until(lambda: work.told == 1, "the first pass")
        rounds.judged(usable=True)
        rounds.judged(usable=False)
        rounds.judged(usable=True)
        if passes > 1:
            await until(lambda: work.told == passes, "the mount is back")
        await asyncio.sleep(0.05)
        assert work.told == passes

    play(tmp_path, work, body, jitter=1.0)


def test_not_all_hosts_begin_at_once(tmp_path: Path) -> None:
    work = Played(LONG, rhythm=Rhythm(retry=LONG, most=LONG, first=0.1))
    began: list[float] = []

    async def body(rounds: Rounds) -> None:
        began.append(asyncio.get_running_loop().time())
        rounds.judged(usable=True)
        await until(lambda: work.begun, "it begins")

    play(tmp_path, work, body, jitter=0.5)
    assert work.begun[0] - began[0] > 0.04


class Mounts:
    """Works for several mounts. made: in the order in which they began."""

    def __init__(self, world: World) -> None:
        self.made: list[tuple[str, str, Played]] = []
        self.gone: list[str] = []
        self.ended: list[str] = []
        self.stubborn = False
        self.kept = PerMount[str](
            world.edges(), self.make, lambda status: status.verdict.usable, self.gone.append
        )

    def make(self, name: str, subject: str) -> Played:
        work = Played(LONG)

        async def during(_: Callable[[], bool]) -> None:
            try:
                await asyncio.sleep(LONG)
            finally:
                if self.stubborn:
                    await asyncio.sleep(LONG)
                self.ended.append(subject)

        work.during = during
        self.made.append((name, subject, work))
        return work

    def begun(self) -> list[str]:
        return [subject for _, subject, work in self.made if work.begun]


def judged(name: str, **keys: object) -> MountStatus:
    return replace(HEALTHY, **{"name": name, **keys})  # type: ignore[arg-type]


def keep(tmp_path: Path, body: Callable[[Mounts], Awaitable[None]]) -> None:
    async def run() -> None:
        mounts = Mounts(World(tmp_path))
        try:
            await body(mounts)
        finally:
            await mounts.kept.close()

    asyncio.run(run())


def test_only_the_work_of_the_mount_that_changed_begins_anew(tmp_path: Path) -> None:
    async def body(mounts: Mounts) -> None:
        mounts.kept.judged(judged("a"))
        mounts.kept.judged(judged("b"))
        mounts.kept.apply({"a": "first", "b": "other"})
        await until(lambda: mounts.begun() == ["first", "other"], "both begin")
        assert [work.told for *_, work in mounts.made] == [1, 1]
        mounts.kept.apply({"a": "second", "b": "other"})
        await until(lambda: mounts.begun() == ["first", "other", "second"], "anew")
        assert (mounts.ended, mounts.gone) == (["first"], [])
        mounts.kept.apply({"b": "other"})
        await until(lambda: mounts.ended == ["first", "second"], "it is over")
        assert mounts.gone == ["a"]

    keep(tmp_path, body)


@pytest.mark.parametrize("keys", [{"verdict": Verdict.HUNG}, {"removing": True}])
def test_nothing_is_done_on_a_mount_that_does_not_allow_it(
    tmp_path: Path, keys: dict[str, object]
) -> None:
    async def body(mounts: Mounts) -> None:
        mounts.kept.apply({"a": "first"})
        mounts.kept.judged(judged("a", **keys))
        mounts.kept.judged(judged("b"))
        await asyncio.sleep(0.02)
        assert mounts.begun() == []
        mounts.kept.judged(judged("a"))
        await until(lambda: mounts.begun() == ["first"], "it begins")

    keep(tmp_path, body)


def test_the_end_waits_for_nobody_for_ever(tmp_path: Path) -> None:
    async def body(mounts: Mounts) -> None:
        mounts.kept.judged(judged("a"))
        mounts.kept.apply({"a": "first"})
        await until(lambda: mounts.begun() == ["first"], "it begins")
        mounts.stubborn = True
        async with asyncio.timeout(20):
            await mounts.kept.close(grace=0.02)
        assert mounts.ended == []
        mounts.stubborn = False

    keep(tmp_path, body)
