"""One keeper per mount, through changes of the file that come at a bad moment."""

import asyncio
import contextlib
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from agent.config.schema import Config, MountConfig
from agent.daemon.keepers import Keepers, Moves
from agent.daemon.whoami import write_name
from agent.events import Event
from agent.model.mount import Client, ClientState, ProcessId
from agent.model.verdict import Verdict
from tests.unit.mounts.world import FINE, OURS, PATH, World, config, until

NOBODY: frozenset[str] = frozenset()


def named(**mounts: MountConfig) -> Config:
    return Config(mounts=mounts)


@contextlib.asynccontextmanager
async def keepers(world: World, moves: Moves) -> AsyncIterator[Keepers]:
    made = Keepers(world.edges(), moves.extend)
    try:
        yield made
    finally:
        await made.close()


def test_a_mount_that_returns_to_the_file_while_it_is_forgotten_is_kept(tmp_path: Path) -> None:
    async def run() -> None:
        world = World(tmp_path, answer=FINE)
        async with keepers(world, []) as kept:
            kept.apply(named(a=config()), NOBODY)
            await until(lambda: "mount" in world.done, "it is mounted")
            await until(lambda: world.report.status["a"].verdict is Verdict.HEALTHY, "healthy")
            world.before["unguard"] = lambda: kept.apply(named(a=config()), NOBODY)
            kept.apply(named(), NOBODY)
            await until(lambda: world.done.count("mount") == 2, "it is mounted again")

    asyncio.run(run())


def test_a_pause_goes_along_with_a_new_name(tmp_path: Path) -> None:
    async def run() -> None:
        world = World(tmp_path)
        moves: Moves = []
        async with keepers(world, moves) as kept:
            kept.apply(named(a=config()), frozenset({"a"}))
            await until(lambda: "a" in world.report.status, "it is judged")
            kept.apply(named(b=config()), frozenset({"a"}))
            await until(lambda: "b" in world.report.status, "it is judged by its new name")
            assert world.report.status["b"].verdict is Verdict.PAUSED
            assert moves == [("a", "b")]
        assert world.done == []

    asyncio.run(run())


def test_a_pause_goes_along_with_a_name_that_changed_while_no_agent_ran(tmp_path: Path) -> None:
    async def run() -> None:
        world = World(tmp_path)
        world.records.save(world.records.new("a", PATH, "vol"))
        moves: Moves = []
        async with keepers(world, moves) as kept:
            kept.apply(named(b=config()), frozenset({"a"}))
            await until(lambda: "b" in world.report.status, "it is judged")
        assert moves == [("a", "b")]
        assert world.done == []

    asyncio.run(run())


def test_a_paused_mount_that_another_takes_the_name_of_stays_untouched(tmp_path: Path) -> None:
    async def run() -> None:
        world = World(tmp_path, answer=FINE)
        world.client = Client(ClientState.UNKNOWN)
        async with keepers(world, []) as kept:
            kept.apply(named(a=config()), NOBODY)
            await until(lambda: world.report.status.get("a") and world.layers, "it is mounted")
            kept.pause(frozenset({"a"}))
            kept.apply(named(a=config(path="/mnt/other")), frozenset({"a"}))
            await until(lambda: "a.removed" in world.report.status, "the old one is going")
            assert world.report.status["a.removed"].verdict is Verdict.PAUSED
            await asyncio.sleep(0.2)
        assert "unmount" not in world.done

    asyncio.run(run())


def test_a_state_directory_that_can_not_be_written_stops_no_agent(tmp_path: Path) -> None:
    assert write_name(tmp_path / "missing")
    first = write_name(tmp_path)
    assert write_name(tmp_path) == first


def test_the_guard_stays_where_another_volume_takes_the_path(tmp_path: Path) -> None:
    async def run() -> None:
        world = World(tmp_path, answer=FINE)
        async with keepers(world, []) as kept:
            kept.apply(named(a=config()), NOBODY)
            await until(lambda: world.layers, "it is mounted")
            kept.apply(named(a=config(volume="other")), NOBODY)
            await until(lambda: world.report.told(Event.FORGOTTEN), "the old one is forgotten")
            await until(lambda: world.done.count("mount") == 2, "the other one is mounted")
        assert "unguard" not in world.done

    asyncio.run(run())


@pytest.mark.parametrize("made", [True, False])
def test_another_volume_waits_for_the_agents_own_mount_of_before(
    tmp_path: Path, *, made: bool
) -> None:
    """made: by the agent; else somebody else mounted there, which is foreign and stays."""

    async def run() -> World:
        world = World(tmp_path, answer=FINE, busy=made)
        world.client = Client(ClientState.ALIVE, ProcessId(1, 1))
        status = world.report.status

        def verdict() -> Verdict | None:
            return status["a"].verdict if "a" in status else None

        if not made:
            world.layers.append(OURS)
        async with keepers(world, []) as kept:
            kept.apply(named(a=config()), NOBODY)
            await until(lambda: verdict() is Verdict.HEALTHY, "it is healthy")
            kept.apply(named(a=config(volume="other")), NOBODY)
            judged = (Verdict.ABSENT, Verdict.FOREIGN)
            await until(lambda: verdict() in judged, "the other volume is judged")
            assert (verdict() is Verdict.ABSENT) == made
            if made:
                assert status["a"].evidence.startswith("other is not mounted yet: vol still is")
                await until(lambda: world.report.told(Event.REMOVAL_PENDING), "it is in use")
                assert world.done.count("mount") == 1
                world.busy = False
                kept.apply(named(), NOBODY)  # and back: tried again at once
                kept.apply(named(a=config(volume="other")), NOBODY)
                await until(lambda: world.asked[-1].source == "node1:/other", "it is mounted")
        return world

    world = asyncio.run(run())
    if made:
        assert world.report.told(Event.UNMOUNTED) == [
            f"unmounted {PATH}: another volume takes its place"
        ]
        assert world.report.told(Event.FORGOTTEN) == [f"vol at {PATH} is no longer looked after"]
        assert not any("foreign" in said for said in world.report.told(Event.VERDICT))
    else:
        assert world.done == []
