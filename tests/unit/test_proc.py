import asyncio
import os
import subprocess

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.model.mount import ProcessId
from agent.system import proc
from agent.system.proc import ProcessWatch, parse_stat


def stat_line(pid: int, comm: bytes, state: bytes = b"S", start_time: int = 123) -> bytes:
    middle = b"4 " * 17
    return b"%d (%s) %s 1 %s%d 0 0\n" % (pid, comm, state, middle, start_time)


def sleeper() -> "subprocess.Popen[bytes]":
    return subprocess.Popen(["sleep", "600"])


def test_a_name_of_parentheses_and_blanks() -> None:
    found = parse_stat(stat_line(12, b"a) R 9 (b"))
    assert found is not None
    assert (found.pid, found.comm, found.state) == (12, "a) R 9 (b", "S")
    assert found.process == ProcessId(12, 123)


def test_a_zombie_has_ended() -> None:
    found = parse_stat(stat_line(12, b"x", state=b"Z"))
    assert found is not None
    assert found.ended


@given(st.binary())
def test_any_bytes_parse(data: bytes) -> None:
    parse_stat(data)


@given(st.binary(max_size=15))
def test_any_name_parses(comm: bytes) -> None:
    found = parse_stat(stat_line(12, comm))
    assert found is not None
    assert found.start_time == 123


def test_own_process_is_known() -> None:
    own = proc.process_id(os.getpid())
    assert own is not None
    assert proc.is_alive(own)
    assert not proc.is_alive(ProcessId(own.pid, own.start_time - 1))


def test_no_such_process() -> None:
    assert proc.process_id(2**22 + 1) is None
    assert proc.wchan(2**22 + 1) == ""


def test_a_zombie_is_not_alive() -> None:
    child = subprocess.Popen(["true"])
    os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)
    zombie = proc.process_id(child.pid)
    assert zombie is not None
    assert not proc.is_alive(zombie)
    child.wait()


def test_the_watch_tells_the_end_once() -> None:
    async def watch() -> None:
        child = sleeper()
        process = proc.process_id(child.pid)
        assert process is not None
        ended = asyncio.Event()
        calls: list[int] = []

        def on_exit() -> None:
            calls.append(1)
            ended.set()

        watching = ProcessWatch(process, on_exit)
        assert watching.alive
        assert proc.kill(process)
        await asyncio.wait_for(ended.wait(), 30)
        assert not watching.alive
        assert not proc.kill(process)
        watching.close()
        child.wait()
        await asyncio.sleep(0)
        assert calls == [1]

    asyncio.run(watch())


@pytest.mark.parametrize("change", [{"pid": 2**22 + 1}, {"start_time": 1}])
def test_a_process_gone_from_the_start_is_told_later(change: dict[str, int]) -> None:
    async def watch() -> None:
        own = proc.process_id(os.getpid())
        assert own is not None
        other = ProcessId(change.get("pid", own.pid), change.get("start_time", own.start_time))
        ended = asyncio.Event()
        watching = ProcessWatch(other, ended.set)
        assert not watching.alive
        assert not ended.is_set()
        await asyncio.wait_for(ended.wait(), 30)
        assert not proc.kill(other)

    asyncio.run(watch())


def test_a_closed_watch_is_silent() -> None:
    async def watch() -> None:
        child = sleeper()
        process = proc.process_id(child.pid)
        assert process is not None
        calls: list[int] = []
        before = len(os.listdir("/proc/self/fd"))
        watching = ProcessWatch(process, lambda: calls.append(1))
        watching.close()
        assert len(os.listdir("/proc/self/fd")) == before
        gone = ProcessWatch(ProcessId(2**22 + 1, 1), lambda: calls.append(2))
        gone.close()
        child.kill()
        child.wait()
        await asyncio.sleep(0.05)
        assert calls == []

    asyncio.run(watch())
