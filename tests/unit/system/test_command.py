import asyncio
import os
import time
from pathlib import Path

import pytest

from agent.system import proc
from agent.system.command import run


def test_status_and_words() -> None:
    ended = asyncio.run(run(("sh", "-c", "pwd >&2; echo no >&2; exit 3"), 10))
    assert (ended.status, ended.words) == (3, "/\nno\n")


def test_nothing_is_inherited(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NOTIFY_SOCKET", "/run/notify")
    ended = asyncio.run(
        run(("sh", "-c", "env >&2; ls -l /proc/self/fd/ >&2; readlink /proc/self/fd/0 >&2"), 10)
    )
    assert "NOTIFY_SOCKET" not in ended.words
    assert "LC_ALL=C\n" in ended.words
    assert ended.words.endswith("/dev/null\n")


def test_words_are_bounded() -> None:
    ended = asyncio.run(run(("sh", "-c", "head -c 1000000 /dev/zero >&2; exit 0"), 10))
    assert ended.status == 0
    assert len(ended.words) == 4096


def test_a_late_tool_and_its_children_are_killed(tmp_path: Path) -> None:
    file = tmp_path / "pid"
    others = _children()

    async def late() -> None:
        with pytest.raises(TimeoutError):
            await run(("sh", "-c", f"sleep 600 & echo $! > {file}; wait"), 1)
        deadline = time.monotonic() + 10
        while _children() - others or not _gone(int(file.read_text())):
            assert time.monotonic() < deadline
            await asyncio.sleep(0.01)

    asyncio.run(late())


def test_a_cancelled_tool_is_killed_and_reaped() -> None:
    others = _children()

    async def cancelled() -> None:
        task = asyncio.create_task(run(("sleep", "600"), 600))
        await asyncio.sleep(0.1)
        assert len(_children() - others) == 1
        task.cancel()
        deadline = time.monotonic() + 10
        while _children() - others:
            assert time.monotonic() < deadline
            await asyncio.sleep(0.01)

    asyncio.run(cancelled())


def test_a_tool_that_is_not_there() -> None:
    with pytest.raises(OSError, match="No such file"):
        asyncio.run(run(("no-such-tool-here",), 1))


def _children() -> set[str]:
    me = os.getpid()
    return set(Path(f"/proc/{me}/task/{me}/children").read_text().split())


def _gone(pid: int) -> bool:
    stat = proc.read_stat(pid)
    return stat is None or stat.ended
