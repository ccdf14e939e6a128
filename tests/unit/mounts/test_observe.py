"""What the observer makes of workers that are stuck or broken, and when it looks again."""

import asyncio
from dataclasses import replace
from pathlib import Path
from typing import Any

from agent.errors import ChildGone
from agent.events import Event
from agent.model.mount import Client, ClientState, ProcessId, Space
from agent.mounts.observe import LOOK_EVERY, Observer
from agent.mounts.verdict import decide
from agent.system.children import Busy
from tests.unit.mounts.world import FINE, OURS, World, settings, until


def observer(world: World, **keys: Any) -> Observer:
    return Observer(settings(**keys), world.edges(), lambda: None)


def test_a_rare_probe_does_not_make_the_keeper_sleep_past_the_watchdog(tmp_path: Path) -> None:
    async def run() -> None:
        looking = observer(World(tmp_path, layers=[OURS]), probe={"interval": "1h"})
        looking.look(100.0)
        assert looking.next_look(100.0) <= 100.0 + LOOK_EVERY
        looking.close()

    asyncio.run(run())


def test_no_process_to_be_had_is_the_agents_trouble(tmp_path: Path) -> None:
    async def run() -> None:
        world = World(tmp_path, layers=[OURS], answer=FINE)
        looking = observer(world)
        looking.look(100.0)
        await until(lambda: looking.look(100.0).probe, "an answer")
        for error in (OSError(11, "no process to be had"), ChildGone("worker probe ended")):
            world.spawn_error = error
            looking._prober._child = None
            facts = looking.look(1e6)
            assert facts.blind_since is not None
            assert str(error) in looking.look(1e6).blind_why
            assert facts.pending_since is None
        world.spawn_error = None
        looking._prober.next_at = 0.0
        await until(lambda: looking.look(1e6).blind_since is None, "it sees again")
        looking.close()

    asyncio.run(run())


def test_a_worker_stuck_in_a_former_mount_is_no_sign_against_the_new_one(tmp_path: Path) -> None:
    async def run() -> None:
        world = World(tmp_path, layers=[OURS])
        looking = observer(world)
        looking.look(100.0)
        world.layers = []
        looking.look(101.0)
        world.layers = [replace(OURS, mount_id=52, minor=77)]
        world.answer = FINE
        looking.look(102.0)
        await until(lambda: looking.look(102.0).probe, "the new mount answers")
        stuck, fresh = world.spawned
        assert stuck.abandoned
        assert stuck.mount != fresh.mount
        looking.close()

    asyncio.run(run())


def test_a_worker_stuck_in_this_mount_is_an_answer_that_is_late(tmp_path: Path) -> None:
    async def run() -> None:
        world = World(tmp_path, layers=[OURS])
        looking = observer(world)
        looking.look(100.0)
        (stuck,) = world.spawned
        stuck.abandon()
        world.spawn_error = Busy(stuck)  # type: ignore[arg-type]
        looking.forget()
        looking.look(200.0)
        facts = looking.look(205.0)
        assert facts.pending_since == 200.0
        await until(lambda: world.report.told(Event.WORKER_ABANDONED), "it is told")
        world.spawn_error = None
        world.answer = FINE
        stuck.exited.set_result(-9)
        await until(lambda: looking.look(206.0).probe, "the next one answers")
        looking.close()

    asyncio.run(run())


def test_a_worker_that_ends_at_once_is_not_told_of(tmp_path: Path) -> None:
    async def run() -> None:
        world = World(tmp_path, layers=[OURS])
        looking = observer(world)
        looking.look(100.0)
        (killed,) = world.spawned
        world.spawn_error = Busy(killed)  # type: ignore[arg-type]
        looking.forget()
        looking.look(200.0)
        world.spawn_error = None
        world.answer = FINE
        killed.exited.set_result(-9)
        await until(lambda: looking.look(201.0).probe, "the next one answers")
        assert not world.report.told(Event.WORKER_ABANDONED)
        looking.close()

    asyncio.run(run())


def test_time_in_which_the_agent_stood_still_is_not_held_against_the_mount(tmp_path: Path) -> None:
    async def run() -> None:
        world = World(tmp_path, layers=[OURS])
        looking = observer(world, recovery={"hung_after": "60s"})
        looking.look(100.0)
        looking.discount(300.0)
        facts = replace(looking.look(405.0), client=Client(ClientState.ALIVE, ProcessId(1, 1)))
        assert decide(settings().wanted, facts, 42, 405.0) is None
        assert facts.pending_since == 400.0
        looking.close()

    asyncio.run(run())


def test_space_is_that_of_the_newest_answer_or_not_known(tmp_path: Path) -> None:
    async def run() -> None:
        world = World(tmp_path, layers=[OURS], answer=FINE)
        looking = observer(world)
        looking.look(100.0)
        await until(lambda: looking.space == Space(FINE["total"], FINE["free"]), "it is told")
        world.answer = {**FINE, "statvfs": {"name": "statvfs", "errno": 107}}
        looking.look(1e6)
        await until(lambda: looking.space is None, "it is not known any more")
        looking.close()

    asyncio.run(run())
