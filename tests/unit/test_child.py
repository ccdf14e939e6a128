import asyncio
import errno
import os
import signal
import subprocess
import sys
import textwrap
import time
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from agent.errors import ChildGone
from agent.model.mount import ProcessId
from agent.protocol import ProbeRequest, decode_probe_reply, encode
from agent.system import proc
from agent.system.child import Child
from agent.system.children import Busy, Children

PATIENCE = 60
ROOT = Path(__file__).parents[2]
HEAVY = {"asyncio", "dataclasses", "inspect", "pathlib", "socket", "subprocess", "typing"}


def run(body: Callable[[Children], Awaitable[None]]) -> None:
    """Runs the body, and fails if it leaves a process or descriptor behind."""

    async def main() -> None:
        children = Children()
        try:
            await asyncio.wait_for(body(children), PATIENCE)
        finally:
            living = children.living
            await children.close(grace=PATIENCE)
        assert not any(proc.is_alive(child.process) for child in living)

    before = sorted(os.listdir("/proc/self/fd"))
    asyncio.run(main())
    assert sorted(os.listdir("/proc/self/fd")) == before


def request(path: Path, number: int = 1) -> bytes:
    device = path.stat().st_dev
    return encode(ProbeRequest(number, str(path), (os.major(device), os.minor(device)), None))


def _state(child: Child) -> str:
    stat = proc.read_stat(child.process.pid)
    assert stat is not None
    return stat.state


async def stopped(child: Child) -> None:
    """Freezes the child: it answers nothing, but can be killed."""
    os.kill(child.process.pid, signal.SIGSTOP)
    while _state(child) != "T":  # noqa: ASYNC110 (nothing tells of it)
        await asyncio.sleep(0.01)


def test_a_persistent_worker_answers_line_by_line(tmp_path: Path) -> None:
    async def body(children: Children) -> None:
        child = children.spawn("probe", "a")
        for number in (1, 2):
            child.send(request(tmp_path, number))
        replies = [decode_probe_reply(await child.next_line()) for _ in range(2)]
        assert [reply.id for reply in replies] == [1, 2]

    run(body)


def environment(pid: int) -> set[str]:
    """Empty for a moment: a program counts as started before the kernel has set it up."""
    end = time.monotonic() + 20
    while not (text := Path(f"/proc/{pid}/environ").read_text()) and time.monotonic() < end:
        time.sleep(0.01)
    variables = text.split("\0")
    return {variable.partition("=")[0] for variable in variables if variable}


def test_the_child_is_known_by_pid_and_start_time_and_has_a_bare_environment() -> None:
    async def body(children: Children) -> None:
        child = children.spawn("probe", "a")
        pid = child.process.pid
        assert child.process == proc.process_id(pid)
        assert os.getsid(pid) == pid
        assert os.readlink(f"/proc/{pid}/cwd") == "/"
        assert environment(pid) == {"PATH", "LC_ALL"}

    os.environ["NOTIFY_SOCKET"] = "/nowhere"
    try:
        run(body)
    finally:
        del os.environ["NOTIFY_SOCKET"]


def test_a_descriptor_open_to_inheritance_does_not_reach_the_child(tmp_path: Path) -> None:
    async def body(children: Children) -> None:
        child = children.spawn("probe", "a")
        child.send(request(tmp_path))
        await child.next_line()
        assert sorted(os.listdir(f"/proc/{child.process.pid}/fd")) == ["0", "1", "2"]

    with (tmp_path / "file").open("w") as file:
        os.set_inheritable(file.fileno(), True)
        run(body)


def test_a_long_request_is_handed_over_as_it_is_read() -> None:
    """The kernel holds some 200 KB at once."""

    async def body(children: Children) -> None:
        more: dict[str, object] = {
            "do": "look",
            "directories": [],
            "names": [],
            "more": "x" * 900_000,
        }
        asked = {"path": "/nowhere", "device": [0, 0], **more}
        answer = await children.run_once("layout", "a", asked, PATIENCE)
        assert answer.done
        assert [row["errno"] for row in answer.rows] == [errno.ENOENT]

    run(body)


def test_who_does_not_read_a_long_request_is_given_up() -> None:
    async def body(children: Children) -> None:
        child = children.spawn("layout", "a")
        await stopped(child)
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(child.deliver(b"x" * 900_000), 0.2)
        handing_over = asyncio.ensure_future(child.deliver(b"x" * 900_000))
        await asyncio.sleep(0)
        child.abandon()
        with pytest.raises(ChildGone, match=r"was given up|takes no request"):
            await handing_over
        await child.exited

    run(body)


def test_one_of_a_kind_a_mount_until_it_was_reaped() -> None:
    async def body(children: Children) -> None:
        child = children.spawn("probe", "a")
        children.spawn("probe", "b")
        with pytest.raises(Busy, match=rf"is at work \(pid {child.process.pid}\)"):
            children.spawn("probe", "a")
        child.abandon()
        with pytest.raises(Busy, match="was given up"):
            children.spawn("probe", "a")
        assert children.get("probe", "a") is child
        assert await child.exited == -signal.SIGKILL
        assert children.get("probe", "a") is None
        children.spawn("probe", "a")

    run(body)


def test_waiting_for_a_line_can_be_given_up_and_resumed(tmp_path: Path) -> None:
    async def body(children: Children) -> None:
        child = children.spawn("probe", "a")
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(child.next_line(), 0.01)
        child.send(request(tmp_path))
        assert decode_probe_reply(await child.next_line()).id == 1

    run(body)


def test_a_worker_that_is_killed_is_gone_for_whoever_waits() -> None:
    async def body(children: Children) -> None:
        child = children.spawn("probe", "a")
        waiting = asyncio.ensure_future(child.next_line())
        await asyncio.sleep(0)
        child.kill()
        with pytest.raises(ChildGone, match="worker probe of a ended"):
            await waiting
        await child.exited
        with pytest.raises(ChildGone):
            await child.next_line()
        with pytest.raises(ChildGone):
            child.send(b"{}\n")
        child.kill()
        child.abandon()

    run(body)


def test_giving_up_wakes_whoever_waits() -> None:
    async def body(children: Children) -> None:
        child = children.spawn("probe", "a")
        await stopped(child)
        waiting = asyncio.ensure_future(child.next_line())
        await asyncio.sleep(0)
        child.abandon()
        with pytest.raises(ChildGone, match="was given up"):
            await waiting

    run(body)


def test_what_a_worker_said_before_its_end_is_not_lost(tmp_path: Path) -> None:
    async def body(children: Children) -> None:
        child = children.spawn("probe", "a")
        for number in (1, 2, 3):
            child.send(request(tmp_path, number))
        assert decode_probe_reply(await child.next_line()).id == 1
        child.send(b"nonsense\n")
        assert await child.exited == 1
        assert decode_probe_reply(await child.next_line()).id == 2
        assert decode_probe_reply(await child.next_line()).id == 3
        with pytest.raises(ChildGone, match=r"ended: json\.decoder\.JSONDecodeError"):
            await child.next_line()

    run(body)


def test_the_probe_worker_loads_nothing_heavy() -> None:
    code = "import sys; sys.path.append('.'); import agent.worker.probe; print(*sys.modules)"
    argv = [sys.executable, "-I", "-S", "-c", code]
    said = subprocess.run(argv, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    assert "agent.worker.meta" in said.split()
    assert not HEAVY & set(said.split())


def test_a_worker_that_cannot_start_says_why() -> None:
    async def body(children: Children) -> None:
        with pytest.raises(ChildGone, match=r"No module named 'agent\.worker\.nosuch'"):
            await children.run_once("nosuch", "a", {}, PATIENCE)

    run(body)


def flood(child: Child) -> None:
    for _ in range(10_000):
        child.send(b"x" * 10_000 + b"\n")


def test_a_worker_that_reads_nothing_does_not_block_the_daemon() -> None:
    async def body(children: Children) -> None:
        child = children.spawn("probe", "a")
        await stopped(child)
        with pytest.raises(ChildGone, match="request"):
            flood(child)

    run(body)


def test_a_one_shot_worker_answers_and_the_next_may_start_at_once(tmp_path: Path) -> None:
    async def body(children: Children) -> None:
        message: dict[str, object] = {"path": str(tmp_path / "a/b"), "immutable": False}
        for _ in range(2):
            answer = await children.run_once("guard", "a", message, PATIENCE)
            assert answer.done
            assert len(answer.rows) == 1
        assert children.living == ()
        assert (tmp_path / "a/b").is_dir()

    run(body)


def test_what_came_before_the_deadline_is_the_answer() -> None:
    async def body(children: Children) -> None:
        answer = await children.run_once("client", "a", {"path": "/nowhere"}, 0.0)
        assert not answer.done
        assert answer.rows == ()
        (child,) = children.living
        assert child.abandoned

    run(body)


def test_a_cancelled_call_gives_its_worker_up() -> None:
    async def body(children: Children) -> None:
        call = asyncio.ensure_future(children.run_once("client", "a", {}, PATIENCE))
        await asyncio.sleep(0)
        (child,) = children.living
        call.cancel()
        with pytest.raises(asyncio.CancelledError):
            await call
        assert await child.exited < 0

    run(body)


def test_no_child_outlives_a_daemon_that_was_killed() -> None:
    daemon = textwrap.dedent("""
        import asyncio
        from agent.system.children import Children

        async def main():
            children = Children()
            for mount in "abc":
                child = children.spawn("probe", mount)
                print(child.process.pid, child.process.start_time, flush=True)
            await asyncio.Event().wait()

        asyncio.run(main())
    """)
    with subprocess.Popen([sys.executable, "-c", daemon], stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        lines = [process.stdout.readline().split() for _ in range(3)]
        children = [ProcessId(int(pid), int(started)) for pid, started in lines]
        assert all(proc.is_alive(child) for child in children)
        process.kill()

    async def all_ended() -> None:
        ends = []
        watches = []
        for child in children:
            ended = asyncio.Event()
            ends.append(ended)
            watches.append(proc.ProcessWatch(child, ended.set))
        for ended in ends:
            await asyncio.wait_for(ended.wait(), PATIENCE)

    asyncio.run(all_ended())
