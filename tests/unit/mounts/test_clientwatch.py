"""Which process serves a mount, and that knowing it costs nothing that grows."""

import asyncio
import os
import signal
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from agent.model.mount import ClientState, ProcessId
from agent.mounts import clientwatch
from agent.mounts.clientwatch import ClientWatch
from agent.system import proc
from tests.unit.mounts.world import OURS, World, until


def me() -> ProcessId:
    found = proc.process_id(os.getpid())
    assert found is not None
    return found


def test_being_told_again_whom_to_expect_opens_nothing_more(tmp_path: Path) -> None:
    async def run() -> None:
        watch = ClientWatch("a", OURS, World(tmp_path).edges(), lambda: None)
        watch.expect(me())
        before = len(os.listdir("/proc/self/fd"))
        for _ in range(5):
            watch.expect(me())
        assert len(os.listdir("/proc/self/fd")) == before
        watch.close()
        assert len(os.listdir("/proc/self/fd")) == before - 1

    asyncio.run(run())


def test_a_search_that_can_not_be_started_leaves_the_client_unknown(tmp_path: Path) -> None:
    def fail() -> None:
        raise OSError(11, "no process to be had")

    async def run() -> None:
        woken = asyncio.Event()
        world = World(tmp_path, before={"find_client": fail})
        watch = ClientWatch("a", OURS, world.edges(), woken.set)
        watch.look((OURS,), 100.0)
        await asyncio.wait_for(woken.wait(), 20)
        assert watch.client.state is ClientState.UNKNOWN
        assert not watch.identifying

    asyncio.run(run())


def test_a_process_that_can_not_be_watched_is_not_taken_for_alive(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> None:
        raise OSError(24, "too many open files")

    async def run() -> None:
        monkeypatch.setattr(clientwatch, "ProcessWatch", refuse)
        watch = ClientWatch("a", OURS, World(tmp_path).edges(), lambda: None)
        watch.expect(me())
        assert watch.client.state is ClientState.UNKNOWN

    asyncio.run(run())


def test_a_layer_remounted_with_other_flags_is_still_the_layer(tmp_path: Path) -> None:
    async def run() -> None:
        watch = ClientWatch("a", OURS, World(tmp_path).edges(), lambda: None)
        watch.look((replace(OURS, options="ro"),), 100.0)
        await until(lambda: not watch.identifying, "the search ends")

    asyncio.run(run())


def test_a_stopped_process_that_was_killed_is_gone_and_no_longer_stopped(tmp_path: Path) -> None:
    async def run(process: subprocess.Popen[bytes]) -> None:
        watch = ClientWatch("a", OURS, World(tmp_path).edges(), lambda: None)
        found = proc.process_id(process.pid)
        assert found is not None
        watch.expect(found)
        process.send_signal(signal.SIGSTOP)

        def is_stopped() -> bool:
            watch.look((OURS,), 100.0)
            return watch.stopped_at is not None

        await until(is_stopped, "it is seen to be stopped")
        process.kill()
        await until(lambda: watch.gone_at is not None, "its end is seen")
        assert watch.stopped_at is None
        watch.close()

    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as process:
        try:
            asyncio.run(run(process))
        finally:
            process.kill()
