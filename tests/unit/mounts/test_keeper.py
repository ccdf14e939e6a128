"""The keeper in a world of plain values: what it must not do, above all."""

import asyncio
import contextlib
import os
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import pytest

from agent.errors import MountFailed
from agent.events import Event
from agent.model.mount import Client, ClientState, ProcessId
from agent.model.verdict import Verdict
from agent.mounts.edges import Settings
from agent.mounts.keeper import Keeper
from agent.mounts.records import Record
from agent.system import proc
from tests.unit.mounts.world import ALIEN, FINE, OURS, PATH, World, settings, until

MOMENT = 0.4
"""Seconds in which a loop without a pause would act many times."""


@contextlib.asynccontextmanager
async def keeping(world: World, given: Settings) -> AsyncIterator[Keeper]:
    keeper = Keeper(given, world.edges(), paused=False)
    task = asyncio.get_running_loop().create_task(keeper.run())
    try:
        yield keeper
    finally:
        task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await task


def living() -> ProcessId:
    found = proc.process_id(os.getpid())
    assert found is not None
    return found


def own(world: World, *, client: ProcessId | None, options: str = "") -> Record:
    """The record of a mount that the agent made as the lowest layer."""
    record = replace(
        world.records.new("a", PATH, "vol"),
        fingerprint=options or settings().wanted.fingerprint,
        device=OURS.device,
        client=client,
        guarded=True,
    )
    world.records.save(record)
    return record


@pytest.mark.parametrize("new_options", ["when-idle", "now"])
@pytest.mark.parametrize("error", [MountFailed("PID 1 is busy"), OSError(24, "no descriptor")])
def test_an_unmount_that_fails_is_not_tried_again_at_once(
    tmp_path: Path, error: Exception, new_options: str
) -> None:
    async def run() -> None:
        world = World(tmp_path, layers=[OURS], answer=FINE, refuse=error)
        own(world, client=living(), options="others")
        async with keeping(world, settings(recovery={"new_options": new_options})) as keeper:
            await until(lambda: world.done, "it tries")
            await asyncio.sleep(MOMENT)
            assert len(world.done) == 1
            keeper.change(settings().retired(), paused=False)
            await until(lambda: len(world.done) == 2, "it tries to remove it")
            await asyncio.sleep(MOMENT)
            assert world.done[1:] == ["unmount"]

    asyncio.run(run())


def test_a_removal_that_fails_is_no_recovery(tmp_path: Path) -> None:
    async def run() -> None:
        world = World(tmp_path, layers=[OURS], answer=FINE, refuse=MountFailed("PID 1 is busy"))
        own(world, client=living())
        async with keeping(world, settings().retired()) as keeper:
            await until(lambda: world.done, "it tries")
            keeper.wake()
            await asyncio.sleep(MOMENT)
        assert not world.report.told(Event.RECOVERED)
        assert world.report.status["a"].recoveries == 0

    asyncio.run(run())


def test_a_mount_by_hand_under_the_old_number_is_not_unmounted(tmp_path: Path) -> None:
    """The agent's own mount was replaced while no agent ran, and the kernel gave it its number."""

    async def run() -> None:
        world = World(tmp_path, layers=[OURS], answer=FINE)
        own(world, client=ProcessId(living().pid, 1))
        async with keeping(world, settings().retired()):
            await until(lambda: "a" in world.report.status, "it has judged")
            await asyncio.sleep(MOMENT)
        assert world.done == []
        assert world.layers == [OURS]

    asyncio.run(run())


def test_what_came_to_lie_on_top_meanwhile_is_not_detached(tmp_path: Path) -> None:
    async def run() -> None:
        dead = {**FINE, "statvfs": {"name": "statvfs", "errno": 107}}
        twice = [OURS, replace(OURS, mount_id=52)]
        world = World(tmp_path, layers=twice, answer=dead)
        world.client = Client(ClientState.GONE)
        # Seen before the second of the two goes: somebody mounts over it.
        world.before["detach"] = lambda: world.layers.insert(1, ALIEN)
        async with keeping(world, settings()):
            await until(lambda: world.report.told(Event.ACTION_FAILED), "it stops")
        assert world.done == ["detach"]
        assert world.layers == [OURS, ALIEN]

    asyncio.run(run())


def test_a_mount_is_remembered_with_the_options_it_was_made_with(tmp_path: Path) -> None:
    async def run() -> None:
        world = World(tmp_path, answer=FINE)
        before, after = settings(), settings(options={"acl": True})
        async with keeping(world, before) as keeper:

            def change() -> None:
                world.before.clear()
                keeper.change(after, paused=False)

            world.before["race"] = change
            await until(lambda: world.done.count("mount") == 2, "the new options are applied")
            assert world.done == ["guard", "mount", "unmount", "mount"]

    asyncio.run(run())


def test_the_guard_goes_with_the_mount_though_an_attempt_to_mount_had_failed(
    tmp_path: Path,
) -> None:
    async def run() -> None:
        world = World(tmp_path)
        async with keeping(world, settings()) as keeper:

            def fail() -> None:
                raise MountFailed("refused")

            world.before["mount"] = fail
            await until(lambda: "mount" in world.done, "it tries")
            await until(lambda: world.report.told(Event.MOUNT_ATTEMPT_FAILED), "it says so")
            keeper.change(settings().retired(), paused=False)
            await until(lambda: world.report.told(Event.FORGOTTEN), "it is forgotten")
        assert world.done == ["guard", "mount", "unguard"]

    asyncio.run(run())


def test_a_guard_is_on_record_before_any_server_answers(tmp_path: Path) -> None:
    async def run() -> None:
        world = World(tmp_path)

        def fail() -> None:
            raise MountFailed("no server answers")

        world.before["race"] = fail
        async with keeping(world, settings()):
            await until(lambda: world.report.told(Event.MOUNT_ATTEMPT_FAILED), "it tries")
        assert world.done == ["guard"]
        assert (tmp_path / "guarded").read_text() == f"{PATH}\n"

    asyncio.run(run())


def test_healthy_means_looked_at(tmp_path: Path) -> None:
    async def run() -> None:
        world = World(tmp_path, layers=[OURS], answer=FINE)
        world.client = Client(ClientState.ALIVE, living())
        async with keeping(world, settings()):
            await until(
                lambda: (
                    "a" in world.report.status
                    and world.report.status["a"].verdict is Verdict.HEALTHY
                ),
                "healthy",
            )

    asyncio.run(run())
