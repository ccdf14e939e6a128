"""What is cleared away after a failed mount: what it left, and nothing else.

PID 1 and the mount table are played here; the lab has the real ones.
"""

import asyncio
import contextlib
import subprocess
import time
from collections.abc import Iterator
from typing import Any

import pytest

from agent.errors import MountFailed
from agent.model.mount import MountEntry
from agent.system import layers as mounted
from agent.system import mountunit, proc, systemd
from agent.system.mounthost import MountRequest
from agent.system.systemd import SystemdHost

PATH = "/mnt/a"
REQUEST = MountRequest("a", "node1:/vol", PATH, "")
HALF = MountEntry(50, 1, 0, 60, "/", PATH, "rw", "fuse.glusterfs", "node1:/vol", "rw")
BY_HAND = MountEntry(51, 1, 0, 61, "/", PATH, "rw", "fuse.glusterfs", "node2:/vol", "rw")


class Pid1:
    """Has one unit, which began to mount just now."""

    def __init__(self) -> None:
        self.began = time.monotonic()
        self.told: list[tuple[str, object]] = []

    async def unit_property(self, unit: str, name: str, kind: str = "Unit") -> object:
        if name == "InactiveExitTimestampMonotonic":
            return round(self.began * 1e6)
        return {"ControlGroup": "/system.slice/mnt-a.mount"}.get(name, "inactive")

    async def start_transient(self, *_: object) -> str:
        await asyncio.sleep(3600)
        return "done"

    async def tell(self, member: str, _signature: str, *body: object) -> None:
        self.told.append((member, body[0]))


@contextlib.contextmanager
def sleeper() -> Iterator[subprocess.Popen[bytes]]:
    with subprocess.Popen(["sleep", "100"]) as process:
        try:
            yield process
        finally:
            process.kill()


def host(monkeypatch: pytest.MonkeyPatch, table: list[MountEntry], *processes: Any) -> SystemdHost:
    made = SystemdHost()
    made._manager = Pid1()  # type: ignore[assignment]

    async def umount(path: str, timeout: float, *, lazy: bool) -> None:
        table.pop()

    def members(_: str) -> tuple[int, ...]:
        return tuple(process.pid for process in processes if process.poll() is None)

    monkeypatch.setattr(made, "_umount", umount)
    monkeypatch.setattr(mountunit, "_members", members)
    monkeypatch.setattr(systemd, "layers", lambda _: tuple(table))
    return made


def test_the_client_of_a_mount_that_jobs_still_use_is_not_ended(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """It was detached, and lives in the very unit that is now to mount anew."""
    with sleeper() as old, sleeper() as new:
        table = [HALF]
        made = host(monkeypatch, table, old, new)
        known = proc.process_id(old.pid)
        assert known is not None
        before = frozenset({known})
        asyncio.run(made._clear_away(systemd._Attempt(made._unit(PATH), REQUEST, before)))
        assert new.wait(20) < 0
        assert old.poll() is None
        assert table == []


def test_what_somebody_mounted_meanwhile_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    table = [BY_HAND]
    made = host(monkeypatch, table)
    asyncio.run(made._clear_away(systemd._Attempt(made._unit(PATH), REQUEST, frozenset())))
    assert table == [BY_HAND]
    assert mounted.is_half_mount((HALF,), REQUEST)
    assert not mounted.is_half_mount((HALF, BY_HAND), REQUEST)
    assert not mounted.is_half_mount((), REQUEST)


def test_whom_an_attempt_of_a_killed_agent_found_there(monkeypatch: pytest.MonkeyPatch) -> None:
    with sleeper() as process:
        made = host(monkeypatch, [], process)
        assert asyncio.run(made._unit(PATH).older()) == frozenset()
        made._manager.began += 100  # type: ignore[attr-defined]
        assert asyncio.run(made._unit(PATH).older()) == frozenset({proc.process_id(process.pid)})


def test_an_unmount_that_pid_1_does_not_come_to_is_called_off() -> None:
    """Done later, it would hit whatever is mounted there by then."""
    made = SystemdHost()
    pid1 = Pid1()
    made._manager = pid1  # type: ignore[assignment]
    with pytest.raises(MountFailed, match="did not get it done"):
        asyncio.run(made.detach(PATH, 0.05))
    ((member, service),) = pid1.told
    assert member == "StopUnit"
    assert str(service).startswith("gluster-ml-umount-")
