import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from agent.health.notify import Notify


class Manager:
    """PID 1's end of the socket."""

    def __init__(self, address: str | bytes) -> None:
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.socket.bind(address)
        self.socket.settimeout(0)

    def messages(self) -> list[str]:
        got = []
        while True:
            try:
                got.append(self.socket.recv(65536).decode())
            except BlockingIOError:
                return got


@pytest.fixture(params=["file", "abstract"])
def manager(
    request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Manager]:
    name = str(tmp_path / "notify")
    made = Manager(name if request.param == "file" else b"\0" + name.encode())
    monkeypatch.setenv("NOTIFY_SOCKET", name if request.param == "file" else "@" + name)
    yield made
    made.socket.close()


@pytest.fixture
def notify(manager: Manager) -> Iterator[Notify]:
    made = Notify()
    yield made
    made.close()


def test_messages_are_those_of_sd_notify(manager: Manager, notify: Notify) -> None:
    notify.ready("2 mounts healthy")
    notify.status("größer\nWATCHDOG=trigger")
    notify.watchdog()
    notify.reloading(123456)
    notify.stopping("bye")
    assert manager.messages() == [
        "READY=1\nSTATUS=2 mounts healthy",
        "STATUS=größer\\x0aWATCHDOG=trigger",
        "WATCHDOG=1",
        "RELOADING=1\nMONOTONIC_USEC=123456",
        "STOPPING=1\nSTATUS=bye",
    ]


def test_no_child_inherits_the_socket(manager: Manager, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WATCHDOG_USEC", "10000000")
    monkeypatch.setenv("WATCHDOG_PID", str(os.getpid()))
    made = Notify()
    code = "import os; print([n for n in os.environ if n.startswith(('NOTIFY', 'WATCHDOG'))])"
    child = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    made.close()
    assert child.stdout.strip() == "[]"


def test_a_stuck_manager_does_not_block_and_hears_ready_later(
    manager: Manager, notify: Notify
) -> None:
    for number in range(1000):
        notify.status(str(number))
    notify.ready("ready")
    notify.watchdog()
    before = manager.messages()
    assert before == [f"STATUS={number}" for number in range(len(before))]
    notify.watchdog()
    assert manager.messages() == ["STATUS=999", "READY=1\nSTATUS=ready", "WATCHDOG=1"]
    notify.watchdog()
    assert manager.messages() == ["WATCHDOG=1"]


def test_without_a_manager_nothing_happens(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("NOTIFY_SOCKET", raising=False)
    made = Notify()
    made.ready("ready")
    made.close()
    assert made.watchdog_interval is None


@pytest.mark.parametrize(
    ("usec", "pid", "interval"),
    [
        ("10000000", None, 5.0),
        ("10000000", "self", 5.0),
        ("10000000", "1", None),
        ("0", None, None),
        ("soon", None, None),
        (None, None, None),
    ],
)
def test_the_watchdog_is_ours_only_if_meant_for_us(
    monkeypatch: pytest.MonkeyPatch, usec: str | None, pid: str | None, interval: float | None
) -> None:
    monkeypatch.delenv("NOTIFY_SOCKET", raising=False)
    for name, value in (("WATCHDOG_USEC", usec), ("WATCHDOG_PID", pid)):
        monkeypatch.delenv(name, raising=False)
        if value is not None:
            monkeypatch.setenv(name, str(os.getpid()) if value == "self" else value)
    assert Notify().watchdog_interval == interval
