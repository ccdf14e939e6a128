"""What the keeper says of its attempts to mount."""

import asyncio
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from agent.errors import MountFailed
from agent.events import Event
from agent.model.mount import Client, ClientState, Obstacle, ObstacleKind, ProcessId
from agent.model.verdict import Verdict
from agent.mounts.keeper import Keeper
from tests.unit.mounts.world import FINE, PATH, World, settings, until

NO_VOLUME = """\
[2026-11-30 21:02:11.867335 +0000] E [glusterfsd-mgmt.c:2170:mgmt_getspec_cbk] 0-glusterfs: \
failed to get the 'volume file' from server
[2026-11-30 21:02:11.867344 +0000] E [glusterfsd-mgmt.c:2371:mgmt_getspec_cbk] 0-mgmt: \
failed to fetch volume file (key:/vol)
"""
NOT_STARTED = """\
[2026-11-30 21:02:16.255993 +0000] E [MSGID: 114058] \
[client-handshake.c:1193:client_query_portmap_cbk] 0-vol-client-1: failed to get the port number \
for remote subvolume. Please run gluster volume status on server to see if brick process is \
running []
"""
REFUSED = """\
[2026-11-30 21:02:27.299875 +0000] E [MSGID: 114044] \
[client-handshake.c:756:client_setvolume_cbk] 0-vol-client-0: SETVOLUME on remote-host failed \
[{remote-error=Authentication failed}, {errno=13}, {error=Permission denied}]
"""
"""As a client of GlusterFS 10.3 logged it."""

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
    assert world.report.told(Event.GUARD_CHANGED) == [
        f"{PATH}: the bare directory is guarded: it refuses writes (chattr +i)",
        f"{PATH}: the bare directory takes writes again",
    ]


@pytest.mark.parametrize(
    ("logged", "kind", "words"),
    [
        (NO_VOLUME, ObstacleKind.NO_VOLUME, "node1 answers but gives no volume vol"),
        (NOT_STARTED, ObstacleKind.NO_BRICK, "node1 answers, but bricks of vol don't run"),
        (NOT_STARTED + REFUSED, ObstacleKind.NOT_ALLOWED, "{error=Permission denied}]"),
    ],
)
def test_what_the_server_did_instead_is_told(
    tmp_path: Path, logged: str, kind: ObstacleKind, words: str
) -> None:
    world = World(tmp_path)

    def refuse() -> None:
        world.refuse = MountFailed("mount.glusterfs exited with status 1")
        with (tmp_path / "logs/a.log").open("a") as file:
            file.write(logged)

    world.before["mount"] = refuse
    [message] = told(world, Event.MOUNT_ATTEMPT_FAILED)
    assert message.endswith(words)
    status = world.report.status["a"]
    assert "where the bare directory refuses writes (guarded); the last attempt" in status.evidence
    assert status.evidence.endswith(words)
    assert status.obstacles == (Obstacle(kind, "node1"),)
