"""Who holds mounts that were replaced: of more than one, and for as long as they do."""

import asyncio
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import pytest

from agent.events import Event
from agent.model.mount import Client, ClientState, Holder
from agent.mounts import holders
from agent.mounts.chronicle import Chronicle
from agent.mounts.facts import Facts
from agent.mounts.holders import MOST, HolderSearch
from agent.system.workers import Holders
from tests.unit.mounts.world import OURS, PATH, World, until

SLEEPER = Holder(393, "sleep", 0, "", "open file")
TRAINER = Holder(501, "python", 1000, "", "cwd")


class Workers:
    """Answers with what holds each device number of a minor."""

    def __init__(self) -> None:
        self.holding: dict[int, tuple[Holder, ...]] = {}
        self.asked: list[int] = []
        self.at_work = 0

    async def holders(self, _mount: str, device: tuple[int, int], _deadline: float) -> Holders:
        assert self.at_work == 0, "a second worker of that kind would be refused"
        self.at_work += 1
        await asyncio.sleep(0.001)
        self.at_work -= 1
        self.asked.append(device[1])
        return Holders(self.holding.get(device[1], ()), complete=True)


def searching(world: World, workers: Workers) -> HolderSearch:
    edges = replace(world.edges(), workers=cast("Any", workers))
    return HolderSearch(edges, Chronicle("a", PATH, edges))


def replaced(minor: int) -> Facts:
    return Facts(layers=(replace(OURS, minor=minor),), client=Client(ClientState.GONE))


def test_a_second_replacement_does_not_forget_who_holds_the_first(tmp_path: Path) -> None:
    async def run() -> None:
        world, workers = World(tmp_path), Workers()
        workers.holding = {60: (SLEEPER,), 61: (SLEEPER, TRAINER)}
        search = searching(world, workers)
        search.follow("a", replaced(60))
        await until(lambda: search.found == (SLEEPER,), "the first")
        search.follow("a", replaced(61))
        search.follow("a", replaced(62))
        await until(lambda: len(set(workers.asked)) == 3, "each is searched")
        assert search.found == (SLEEPER, TRAINER)
        assert len(world.report.told(Event.HOLDERS)) == 3
        search.close()
        assert not search.found

    asyncio.run(run())


def test_who_lets_go_is_named_no_longer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(holders, "EVERY", 0.01)

    async def run() -> None:
        workers = Workers()
        workers.holding = {60: (SLEEPER,), 61: (TRAINER,)}
        search = searching(World(tmp_path), workers)
        search.follow("a", replaced(60))
        search.follow("a", replaced(61))
        await until(lambda: search.found == (SLEEPER, TRAINER), "both")
        del workers.holding[60]
        await until(lambda: search.found == (TRAINER,), "the one that is left")
        search.close()

    asyncio.run(run())


def test_a_flapping_mount_has_a_bounded_number_of_searches(tmp_path: Path) -> None:
    async def run() -> None:
        workers = Workers()
        workers.holding = {n: (replace(SLEEPER, pid=n),) for n in range(100, 100 + MOST + 3)}
        search = searching(World(tmp_path), workers)
        for minor in workers.holding:
            search.follow("a", replaced(minor))
        await until(lambda: len(search.found) == MOST, "as many as are followed")
        assert [holder.pid for holder in search.found] == list(workers.holding)[-MOST:]
        search.close()

    asyncio.run(run())
