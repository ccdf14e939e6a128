"""The agent's log: structlog in front, the systemd journal's native protocol behind.

The daemon's loop must not stand still because journald does. sd_journal_sendv(3) blocks while
journald's queue is full, and python-systemd calls it holding the interpreter's lock, so that not
even a thread of its own would keep the loop running. The protocol is small and documented
(systemd.io/JOURNAL_NATIVE_PROTOCOL), so this module speaks it on a socket that never blocks, and
keeps a bounded backlog for the time in which nobody takes the entries.
"""

import contextlib
import logging
import os
import threading
import time
import traceback
from collections import deque
from collections.abc import Mapping
from typing import Any, Protocol

import structlog

from agent.codec import iso
from agent.events import Event, Priority, priority_of
from agent.health.output import Entry, JournaldOutput, StderrOutput
from agent.health.text import clean, plural
from agent.model.verdict import Verdict

MAX_BACKLOG = 256
"""Entries kept while the journal takes none; beyond that the newest are counted and dropped."""

MAX_MESSAGE = 2000
MAX_VALUE = 1000
MAX_VALUES = 64
MAX_TRACEBACK = 16_000

_LEVELS = {
    "debug": logging.DEBUG,
    "info": logging.INFO,
    "warning": logging.WARNING,
    "error": logging.ERROR,
}
_LEVEL_OF = {
    Priority.DEBUG: logging.DEBUG,
    Priority.INFO: logging.INFO,
    Priority.NOTICE: logging.INFO,
    Priority.WARNING: logging.WARNING,
    Priority.ERROR: logging.ERROR,
}
_PRIORITY_OF_METHOD = {
    "debug": Priority.DEBUG,
    "info": Priority.INFO,
    "warning": Priority.WARNING,
}


class Output(Protocol):
    """Where entries go."""

    def encode(self, entry: Entry) -> bytes:
        """The entry as the bytes of one message."""

    def send(self, data: bytes) -> bool:
        """False: would have blocked, try again later. Raises OSError where all is lost."""

    def close(self) -> None:
        """Let go of descriptors."""


class Journal:
    """The one place where the agent's process logs; no method raises or blocks.

    level: debug, info, warning or error. output: None chooses the journal where systemd has
    connected stderr to it (systemd.exec(5), JOURNAL_STREAM), else lines on stderr.

    Constructing one points structlog and the standard library's root logger to it.
    """

    def __init__(self, level: str = "info", output: Output | None = None) -> None:
        self._output = output or default_output(os.environ)
        self._backlog: deque[bytes] = deque()
        self._lost = 0
        self._lock = threading.Lock()
        self._log: Any = structlog.get_logger()
        self.set_level(level)
        self._handler = _LibraryHandler(self)
        logging.getLogger().addHandler(self._handler)

    def emit(
        self,
        event: Event,
        message: str,
        *,
        mount: str | None = None,
        verdict: Verdict | None = None,
        error: BaseException | None = None,
        **fields: object,
    ) -> None:
        """As Emitter says; a sequence becomes a repeated field."""
        priority = priority_of(event, verdict)
        self._log.log(
            _LEVEL_OF[priority],
            message,
            _event=event,
            _priority=priority,
            mount=mount,
            verdict=verdict,
            exc_info=error,
            _fields=fields,
        )

    def set_level(self, level: str) -> None:
        """What is less urgent than this is not logged from now on."""
        structlog.configure(
            processors=[self._finish],
            wrapper_class=structlog.make_filtering_bound_logger(_LEVELS[level]),
            logger_factory=lambda *_args: _Sink(self),
            cache_logger_on_first_use=False,
        )

    def flush(self) -> None:
        """Try again what could not be written; to be called every few seconds."""
        with self._lock:
            self._drain()

    def close(self) -> None:
        """One last attempt, then let go."""
        self.flush()
        logging.getLogger().removeHandler(self._handler)
        structlog.reset_defaults()
        self._output.close()

    def write(self, entry: Entry) -> None:
        """Write an entry or keep it for later."""
        data = self._output.encode(entry)
        with self._lock:
            self._drain()
            if len(self._backlog) < MAX_BACKLOG:
                self._backlog.append(data)
                self._drain()
            else:
                self._lost += 1

    def _drain(self) -> None:
        while self._backlog:
            with contextlib.suppress(OSError):  # refused for good, too long for one: not again
                if not self._output.send(self._backlog[0]):
                    return
            self._backlog.popleft()
        if self._lost:
            message = f"lost while nobody took the log: {plural(self._lost, 'message')}"
            self._backlog.append(self._output.encode(Entry(Priority.WARNING, message, ())))
            self._lost = 0
            self._drain()

    def _finish(
        self, _logger: object, method: str, event_dict: Mapping[str, Any]
    ) -> tuple[tuple[Entry], dict[str, object]]:
        """The last structlog processor: what is said, as an Entry with clean text only."""
        given = dict(event_dict)
        event: Event | None = given.pop("_event", None)
        priority = given.pop("_priority", _PRIORITY_OF_METHOD.get(method, Priority.ERROR))
        message = clean(given.pop("event", ""), MAX_MESSAGE)
        fields: list[tuple[str, str]] = []
        if event is not None:
            fields += [("MESSAGE_ID", event.message_id), ("GLUSTER_ML_EVENT", event.word)]
        fields.append(("GLUSTER_ML_TIME", iso(time.time())))
        trace = _traceback(given.pop("exc_info", None))
        given |= given.pop("_fields", {})
        for name, value in given.items():
            fields += [(_field_name(name), text) for text in _texts(value)]
        if trace:
            fields.append(("GLUSTER_ML_TRACEBACK", trace))
        return (Entry(priority, message, tuple(fields)),), {}


def default_output(environ: Mapping[str, str]) -> Output:
    """The journal if stderr is the stream that systemd connected to it, else stderr."""
    with contextlib.suppress(OSError):
        found = os.fstat(2)
        if environ.get("JOURNAL_STREAM") == f"{found.st_dev}:{found.st_ino}":
            return JournaldOutput()
    return StderrOutput(2)


class _Sink:
    """What structlog takes for the logger below it: every method takes the finished entry."""

    def __init__(self, journal: Journal) -> None:
        self._journal = journal

    def __getattr__(self, _level: str) -> Any:
        return self._journal.write


class _LibraryHandler(logging.Handler):
    """Warnings and errors of the libraries (asyncio, dbus_fast, watchdog) into the same log."""

    def __init__(self, journal: Journal) -> None:
        super().__init__(logging.WARNING)
        self._journal = journal
        self._log: Any = structlog.get_logger()

    def emit(self, record: logging.LogRecord) -> None:
        self._log.log(
            logging.ERROR if record.levelno >= logging.ERROR else logging.WARNING,
            record.getMessage(),
            logger=record.name,
            exc_info=record.exc_info,
        )


def _field_name(name: str) -> str:
    """A journal field's name: A-Z, 0-9 and _, at most 64 characters."""
    upper = "".join(c if c.isascii() and c.isalnum() else "_" for c in name).upper()
    return f"GLUSTER_ML_{upper}"[:64]


def _texts(value: object) -> list[str]:
    if value is None:
        return []
    values = list(value)[:MAX_VALUES] if isinstance(value, list | tuple) else [value]
    return [_shown(item) for item in values]


def _shown(value: object) -> str:
    """A value whose __str__ fails must not take the entry with it, nor the caller."""
    try:
        return clean(value, MAX_VALUE)
    except Exception as error:  # noqa: BLE001
        return f"({type(value).__name__}: {type(error).__name__})"


def _traceback(error: object) -> str:
    if isinstance(error, tuple):
        error = error[1]
    if not isinstance(error, BaseException):
        return ""
    lines = "".join(traceback.format_exception(error)).splitlines()
    return "\n".join(clean(line, MAX_VALUE) for line in lines)[-MAX_TRACEBACK:]
