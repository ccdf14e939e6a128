"""Where log entries go: journald's socket or stderr, and never waiting for either."""

import contextlib
import os
import select
import socket
import stat
import struct
from dataclasses import dataclass
from datetime import datetime

from agent.events import Priority
from agent.health.text import clean

JOURNAL_SOCKET = "/run/systemd/journal/socket"

MAX_LINE = 4000
"""Bytes of a line on stderr: below PIPE_BUF, so that a pipe that polls writable takes it whole."""

_HIDDEN = {"MESSAGE_ID", "GLUSTER_ML_TIME", "GLUSTER_ML_TRACEBACK"}
_COLOURS = {Priority.ERROR: "\x1b[31m", Priority.WARNING: "\x1b[33m"}


@dataclass(frozen=True, slots=True)
class Entry:
    """One entry of the log. fields: journal field names and values, names may repeat."""

    priority: Priority
    message: str
    fields: tuple[tuple[str, str], ...]


class JournaldOutput:
    """The journal's native protocol: one datagram an entry."""

    def __init__(self, path: str = JOURNAL_SOCKET) -> None:
        self._path = path
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM | socket.SOCK_CLOEXEC)
        self._socket.settimeout(0)

    def encode(self, entry: Entry) -> bytes:
        """Fields as KEY=value lines; a value of several lines by its length instead."""
        fields = [
            ("MESSAGE", entry.message),
            ("PRIORITY", str(int(entry.priority))),
            ("SYSLOG_IDENTIFIER", "gluster-ml-agent"),
            *entry.fields,
        ]
        return b"".join(_native(name, value) for name, value in fields)

    def send(self, data: bytes) -> bool:
        """False while journald is stuck or away: its socket is there again when it returns."""
        try:
            self._socket.sendto(data, self._path)
        except (BlockingIOError, ConnectionRefusedError, FileNotFoundError):
            return False
        return True

    def close(self) -> None:
        """Let go of the socket."""
        self._socket.close()


def _native(name: str, value: str) -> bytes:
    key, text = name.encode(), value.encode("utf-8", "backslashreplace")
    if b"\n" in text:
        return key + b"\n" + struct.pack("<Q", len(text)) + text + b"\n"
    return key + b"=" + text + b"\n"


class StderrOutput:
    """Lines for people: time, level, message, then the fields as key=value."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._colour = os.isatty(descriptor)
        self._poll: select.poll | None = None
        with contextlib.suppress(OSError):
            if not stat.S_ISREG(os.fstat(descriptor).st_mode):
                self._poll = select.poll()
                self._poll.register(descriptor, select.POLLOUT)

    def encode(self, entry: Entry) -> bytes:
        """One line; ids and tracebacks are for the journal only."""
        level = entry.priority.name.lower()
        if self._colour and entry.priority in _COLOURS:
            level = f"{_COLOURS[entry.priority]}{level}\x1b[0m"
        facts = " ".join(
            f"{name.removeprefix('GLUSTER_ML_').lower()}={_quoted(value)}"
            for name, value in entry.fields
            if name not in _HIDDEN
        )
        at = datetime.now().astimezone().strftime("%H:%M:%S")
        line = f"{at} {level}: {entry.message}  {facts}".rstrip()
        data = line.encode("utf-8", "backslashreplace")
        return data[:MAX_LINE].decode("utf-8", "ignore").encode() + b"\n"

    def send(self, data: bytes) -> bool:
        """False while whoever reads stderr doesn't."""
        if self._poll is not None and not self._poll.poll(0):
            return False
        os.write(self._descriptor, data)
        return True

    def close(self) -> None:
        """Stderr stays open: it isn't ours."""


def _quoted(value: str) -> str:
    plain = clean(value, 300)
    if plain and not set(plain) & set(' "='):
        return plain
    return '"' + plain.replace('"', '\\"') + '"'
