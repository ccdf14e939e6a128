"""Who is said to hold a mount that was replaced."""

import asyncio
from dataclasses import replace
from pathlib import Path

import pytest

from agent.events import Event
from agent.model.mount import Client, ClientState, Holder
from agent.mounts import holders
from agent.mounts.chronicle import Chronicle
from agent.mounts.facts import Facts
from agent.mounts.holders import HolderSearch
from tests.unit.mounts.world import OURS, PATH, World, until

SOMEBODY = Holder(1, "python3", 0, "", "open file")
REPLACED = Facts(layers=(OURS,), client=Client(ClientState.UNKNOWN))


def search(world: World) -> HolderSearch:
    edges = world.edges()
    return HolderSearch(edges, Chronicle("a", PATH, edges))


def test_users_of_the_new_mount_are_not_taken_for_holders_of_the_old(tmp_path: Path) -> None:
    """Nobody held the old one, so the kernel gave its number to the new one during the search."""

    async def run() -> None:
        searched = asyncio.Event()

        def mount() -> None:
            world.layers.append(replace(OURS, mount_id=52))
            searched.set()

        world = World(tmp_path, held_by=[SOMEBODY], before={"holders": mount})
        looking = search(world)
        looking.follow("a", REPLACED)
        await searched.wait()
        await asyncio.sleep(0.05)
        assert looking.found == ()
        assert not world.report.told(Event.HOLDERS)
        looking.close()

    asyncio.run(run())


def test_a_search_that_fails_is_made_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(holders, "AGAIN", 0.01)

    async def run() -> None:
        tries = []

        def fail() -> None:
            tries.append(1)
            if len(tries) < 3:
                raise OSError(11, "no process to be had")

        world = World(tmp_path, held_by=[SOMEBODY], before={"holders": fail})
        looking = search(world)
        looking.follow("a", REPLACED)
        await until(lambda: looking.found == (SOMEBODY,), "it is found")
        assert len(world.report.told(Event.FINDING)) == 1
        looking.close()

    asyncio.run(run())
