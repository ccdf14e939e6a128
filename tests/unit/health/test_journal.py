import logging
import os
import socket
import struct
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
import structlog

from agent.events import Event, Priority
from agent.health.journal import MAX_BACKLOG, Journal, default_output
from agent.health.output import Entry, JournaldOutput, StderrOutput
from agent.model.verdict import Verdict


def parse_native(data: bytes) -> list[tuple[str, str]]:
    """The journal's native protocol, read back independently of how it was written."""
    fields = []
    while data:
        line, data = data.split(b"\n", 1)
        if b"=" in line:
            name, _, value = line.partition(b"=")
        else:
            name = line
            (length,) = struct.unpack_from("<Q", data)
            value = data[8 : 8 + length]
            assert data[8 + length : 9 + length] == b"\n"
            data = data[9 + length :]
        fields.append((name.decode(), value.decode()))
    return fields


class Journald:
    """A receiver on a real datagram socket, as journald has one."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.open()

    def open(self) -> None:
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.socket.bind(str(self.path))
        self.socket.settimeout(0)

    def close(self) -> None:
        self.socket.close()
        self.path.unlink()

    def messages(self) -> list[list[tuple[str, str]]]:
        got = []
        while True:
            try:
                got.append(parse_native(self.socket.recv(1 << 20)))
            except BlockingIOError:
                return got


@pytest.fixture
def journald(tmp_path: Path) -> Iterator[Journald]:
    receiver = Journald(tmp_path / "socket")
    yield receiver
    receiver.socket.close()


@pytest.fixture
def journal(journald: Journald) -> Iterator[Journal]:
    made = Journal("info", JournaldOutput(str(journald.path)))
    yield made
    made.close()


def test_an_event_has_native_fields(journal: Journal, journald: Journald) -> None:
    journal.emit(
        Event.VERDICT,
        "model-share is hung",
        mount="model-share",
        verdict=Verdict.HUNG,
        server=None,
        holder=["pid 1 a", "pid 2 b"],
    )
    (fields,) = journald.messages()
    single = dict(fields)
    assert single.pop("GLUSTER_ML_TIME").endswith("Z")
    assert single == {
        "MESSAGE": "model-share is hung",
        "PRIORITY": "3",
        "SYSLOG_IDENTIFIER": "gluster-ml-agent",
        "MESSAGE_ID": Event.VERDICT.message_id,
        "GLUSTER_ML_EVENT": "verdict",
        "GLUSTER_ML_MOUNT": "model-share",
        "GLUSTER_ML_VERDICT": "hung",
        "GLUSTER_ML_HOLDER": "pid 2 b",
    }
    holders = [value for name, value in fields if name == "GLUSTER_ML_HOLDER"]
    assert holders == ["pid 1 a", "pid 2 b"]


def test_foreign_text_cannot_forge_fields_or_entries(journal: Journal, journald: Journald) -> None:
    foreign = {"a b=\n": "c", "comm": "x\nMESSAGE_ID=0"}
    structlog.get_logger().warning("file a\nPRIORITY=0", **foreign)
    (fields,) = journald.messages()
    assert [value for name, value in fields if name == "PRIORITY"] == ["4"]
    assert dict(fields)["MESSAGE"] == "file a\\x0aPRIORITY=0"
    assert dict(fields)["GLUSTER_ML_COMM"] == "x\\x0aMESSAGE_ID=0"
    assert dict(fields)["GLUSTER_ML_A_B__"] == "c"


def test_a_traceback_has_a_field_of_its_own(journal: Journal, journald: Journald) -> None:
    with pytest.raises(ZeroDivisionError) as caught:
        _ = 1 // 0
    journal.emit(Event.INTERNAL_ERROR, "keeper failed", error=caught.value)
    (fields,) = journald.messages()
    assert dict(fields)["MESSAGE"] == "keeper failed"
    trace = dict(fields)["GLUSTER_ML_TRACEBACK"]
    assert trace.startswith("Traceback")
    assert trace.endswith("ZeroDivisionError: integer division or modulo by zero")


def test_what_cannot_be_shown_does_not_raise(journal: Journal, journald: Journald) -> None:
    class Broken:
        def __str__(self) -> str:
            raise ValueError("no")

    journal.emit(Event.FINDING, "odd", thing=Broken(), level=3, method_name="%d %s")
    (fields,) = journald.messages()
    assert dict(fields)["MESSAGE"] == "odd"
    assert dict(fields)["GLUSTER_ML_THING"] == "(Broken: ValueError)"


def test_the_level_can_change_at_run_time(journal: Journal, journald: Journald) -> None:
    log = structlog.get_logger()
    log.debug("one")
    journal.set_level("debug")
    log.debug("two", mount="a")
    journal.set_level("error")
    journal.emit(Event.MOUNTED, "three")
    log.error("four")
    assert [dict(m)["MESSAGE"] for m in journald.messages()] == ["two", "four"]


def test_library_warnings_come_along(journal: Journal, journald: Journald) -> None:
    logging.getLogger("asyncio").warning("took %s s", 3)
    logging.getLogger("asyncio").info("chatter")
    (fields,) = journald.messages()
    assert dict(fields)["MESSAGE"] == "took 3 s"
    assert dict(fields)["GLUSTER_ML_LOGGER"] == "asyncio"
    assert dict(fields)["PRIORITY"] == "4"


def test_a_stuck_journald_neither_blocks_nor_loses_the_first_entries(
    journal: Journal, journald: Journald
) -> None:
    count = MAX_BACKLOG + 1000
    blocked = threading.Timer(60, os.abort)  # a sender that blocks here would do so for ever
    blocked.start()
    try:
        for number in range(count):
            journal.emit(Event.FINDING, f"entry {number}")
    finally:
        blocked.cancel()
    got: list[str] = []
    while new := [dict(m)["MESSAGE"] for m in journald.messages()]:
        got += new
        journal.flush()
    kept = len(got) - 1
    assert kept >= MAX_BACKLOG
    assert got[:kept] == [f"entry {number}" for number in range(kept)]
    assert got[kept] == f"lost while nobody took the log: {count - kept} messages"


def test_entries_wait_for_a_journald_that_restarts(journal: Journal, journald: Journald) -> None:
    journald.close()
    journal.emit(Event.FINDING, "meanwhile")
    journald.open()
    journal.flush()
    assert [dict(m)["MESSAGE"] for m in journald.messages()] == ["meanwhile"]


def test_an_entry_that_can_never_be_sent_does_not_stop_the_next(journald: Journald) -> None:
    class Picky(JournaldOutput):
        def send(self, data: bytes) -> bool:
            if b"huge" in data:
                raise OSError(90, "Message too long")
            return super().send(data)

    journal = Journal("info", Picky(str(journald.path)))
    journal.emit(Event.FINDING, "huge")
    journal.emit(Event.FINDING, "small")
    journal.close()
    assert [dict(m)["MESSAGE"] for m in journald.messages()] == ["small"]


def test_lines_on_stderr_without_journal(tmp_path: Path) -> None:
    path = tmp_path / "stderr"
    with path.open("wb") as file:
        journal = Journal("info", StderrOutput(file.fileno()))
        journal.emit(Event.MOUNTED, "model-share is mounted", mount="model-share", cause="a b")
        journal.close()
    (line,) = path.read_text().splitlines()
    at, rest = line.split(" ", 1)
    time.strptime(at, "%H:%M:%S")
    assert rest == 'notice: model-share is mounted  event=mounted mount=model-share cause="a b"'


def test_a_full_stderr_pipe_does_not_block(tmp_path: Path) -> None:
    reader, writer = os.pipe()
    try:
        output = StderrOutput(writer)
        data = output.encode(Entry(Priority.INFO, "x" * 2000, ()))
        sent = 0
        while output.send(data):
            sent += 1
        assert sent > 5
        os.read(reader, 1 << 16)
        assert output.send(data)
    finally:
        os.close(reader)
        os.close(writer)


def test_the_journal_is_chosen_only_where_systemd_connected_stderr_to_it() -> None:
    found = os.fstat(sys.__stderr__.fileno() if sys.__stderr__ else 2)
    ours = {"JOURNAL_STREAM": f"{found.st_dev}:{found.st_ino}"}
    chosen = default_output(ours)
    assert isinstance(chosen, JournaldOutput)
    chosen.close()
    assert isinstance(default_output({"JOURNAL_STREAM": "1:1"}), StderrOutput)
    assert isinstance(default_output({}), StderrOutput)
