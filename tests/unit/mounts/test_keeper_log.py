"""The keeper and the log of its mount's client."""

import asyncio
from dataclasses import replace
from pathlib import Path

import pytest

from agent.errors import MountFailed
from agent.events import Event
from agent.model.mount import Client, ClientState, ProcessId
from agent.model.verdict import Verdict
from agent.mounts import clientlog
from agent.mounts.keeper import Keeper
from tests.unit.mounts.world import FINE, OURS, PATH, World, settings, until

ALIVE = Client(ClientState.ALIVE, ProcessId(1, 1))


def named(world: World, name: str) -> str:
    """The log that the status names."""
    return world.report.status[name].client_log if name in world.report.status else ""


def test_a_renamed_mount_logs_under_its_old_name_until_it_is_mounted_anew(tmp_path: Path) -> None:
    first, second = (str(tmp_path / f"logs/{name}.log") for name in ("a", "b"))

    async def run() -> None:
        world = World(tmp_path, answer=FINE)
        world.client = ALIVE
        keeper = Keeper(settings("a"), world.edges(), paused=False)
        life = asyncio.create_task(keeper.run())
        await until(lambda: named(world, "a"), "a verdict")
        assert named(world, "a") == first
        await until(lambda: world.report.status["a"].verdict is Verdict.HEALTHY, "healthy")
        keeper.change(settings("b"), paused=False)
        await until(lambda: named(world, "b"), "a verdict under the new name")
        assert world.report.status["b"].verdict is Verdict.HEALTHY
        assert named(world, "b") == first
        assert world.done == ["guard", "mount"]
        world.layers.clear()
        keeper.wake()
        await until(lambda: named(world, "b") == second, "mounted anew")
        assert [request.options for request in world.asked] == [
            f"log-file={first}",
            f"log-file={second}",
        ]
        life.cancel()
        await asyncio.wait([life])

    asyncio.run(run())


def test_a_log_that_can_not_be_written_is_told_once_and_keeps_no_mount_from_being_made(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(clientlog, "GLUSTER_DIR", tmp_path)
    (tmp_path / "logs").write_text("no directory")

    async def run() -> None:
        world = World(tmp_path, answer=FINE)
        world.client = ALIVE

        def fail() -> None:
            if len(world.asked) < 3:
                raise MountFailed("refused")

        world.before["mount"] = fail
        keeper = Keeper(settings("a"), world.edges(), paused=False)
        life = asyncio.create_task(keeper.run())
        await until(lambda: world.layers, "it is mounted")
        await until(lambda: named(world, "a"), "a verdict")
        life.cancel()
        await asyncio.wait([life])
        assert named(world, "a") == str(tmp_path / "mnt-a.log")
        assert [request.options for request in world.asked] == [""] * 3
        (told,) = [said for said in world.report.told(Event.FINDING) if "log" in said]
        assert str(tmp_path / "logs/a.log") in told

    asyncio.run(run())


def test_of_somebody_elses_mount_the_log_is_the_one_of_an_untold_client(tmp_path: Path) -> None:
    async def run() -> None:
        world = World(tmp_path, layers=[OURS], answer=FINE)
        world.client = ALIVE
        # Of a mount that the agent once made there.
        world.records.save(replace(world.records.new("a", PATH, "vol"), client_log="/var/log/x"))
        keeper = Keeper(settings("a"), world.edges(), paused=False)
        life = asyncio.create_task(keeper.run())
        await until(lambda: named(world, "a"), "a verdict")
        life.cancel()
        await asyncio.wait([life])
        assert world.report.status["a"].adopted
        assert named(world, "a") == "/var/log/glusterfs/mnt-a.log"

    asyncio.run(run())
