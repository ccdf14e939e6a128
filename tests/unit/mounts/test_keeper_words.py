"""What the keeper says of its attempts to mount."""

import asyncio
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from agent.errors import MountFailed
from agent.events import Event
from agent.model import Client, ClientState, ProcessId, Verdict
from agent.mounts.keeper import Keeper
from tests.unit.mounts.world import FINE, PATH, World, settings, until

ALIVE = Client(ClientState.ALIVE, ProcessId(1, 1))


def told(world: World, event: Event, then: Callable[[Keeper], None] | None = None) -> list[str]:
    """What a keeper of that world has said of the event, once it did; then: what is done next."""

    async def run() -> None:
        keeper = Keeper(settings(), world.edges(), paused=False)
        life = asyncio.create_task(keeper.run())
        await until(lambda: world.report.told(event), event.name)
        if then is not None:
            then(keeper)
            await until(life.done, "its end")
        life.cancel()
        await asyncio.wait([life])

    asyncio.run(run())
    return world.report.told(event)


def test_the_path_is_named_once_where_an_attempt_fails(tmp_path: Path) -> None:
    world = World(tmp_path, refuse=MountFailed(f"{PATH}: mounting node1:/vol failed: no"))
    [message] = told(world, Event.MOUNT_ATTEMPT_FAILED)
    assert message == f"{PATH}: mounting node1:/vol failed: no"
    evidence = world.report.status["a"].evidence
    assert world.report.status["a"].verdict is Verdict.ABSENT
    assert evidence.count(PATH) == 1


def test_attempts_that_go_round_the_servers_say_each_failure_once(tmp_path: Path) -> None:
    world = World(tmp_path)

    def refuse() -> None:
        server = world.done.count("mount") % 2 + 1
        world.refuse = MountFailed(f"{PATH}: mounting node{server}:/vol failed: no")

    def let() -> None:
        world.refuse = None

    async def run() -> None:
        world.before |= {"guard": let, "mount": refuse}
        keeper = Keeper(settings(), world.edges(), paused=False)
        life = asyncio.create_task(keeper.run())
        await until(lambda: world.done.count("mount") == 4, "four attempts")
        life.cancel()
        await asyncio.wait([life])

    asyncio.run(run())
    assert sorted(world.report.told(Event.MOUNT_ATTEMPT_FAILED)) == [
        f"{PATH}: mounting node1:/vol failed: no",
        f"{PATH}: mounting node2:/vol failed: no",
    ]


def test_files_below_the_mount_are_told_when_it_is_made_and_not_when_it_goes(
    tmp_path: Path,
) -> None:
    def take_out(keeper: Keeper) -> None:
        keeper.change(replace(settings(), config=None), paused=False)

    world = World(tmp_path, strays=1, answer=FINE, client=ALIVE)
    told(world, Event.MOUNTED, take_out)
    assert world.done[-1] == "unguard"
    [message] = world.report.told(Event.GUARD)
    assert message == f"{PATH}: entries in the bare directory, hidden by the mount: 1"
