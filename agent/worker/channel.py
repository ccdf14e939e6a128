"""The worker's end of the channel: lines of JSON on file descriptors 0 and 1.

Workers are to start in milliseconds and stay small: they import neither typing nor dataclasses,
which cost as much memory as all else they need (measured: 1.7 MiB).
"""

import fcntl
import json
import os
import signal
from collections.abc import Iterator

_MAX_LINE = 1 << 20
"""Bytes, as agent.protocol.MAX_LINE."""


def requests() -> Iterator[dict[str, object]]:
    """Each request as it comes; ends when the daemon hangs up or is gone."""
    _die_with_the_daemon()
    buffer = b""
    while len(buffer) <= _MAX_LINE:
        line, newline, rest = buffer.partition(b"\n")
        if newline:
            buffer = rest
            yield json.loads(line)
            continue
        data = os.read(0, 1 << 16)
        if not data:
            return
        buffer += data


def request() -> dict[str, object]:
    """The only request of a one-shot worker. Ends the process if there is none."""
    for message in requests():
        return message
    raise SystemExit(0)


class TooLongError(Exception):
    """A message that the daemon would not take."""


def emit(message: dict[str, object]) -> None:
    """Send one line; ends the process if nobody listens any more. Raises TooLongError."""
    data = json.dumps(message, separators=(",", ":")).encode() + b"\n"
    if len(data) > _MAX_LINE:
        raise TooLongError
    try:
        while data:
            data = data[os.write(1, data) :]
    except BrokenPipeError:
        raise SystemExit(0) from None


def done() -> None:
    """Tell that the one-shot worker said all."""
    emit({"done": True})


def _die_with_the_daemon() -> None:
    """Have the kernel send SIGKILL when the daemon's end of stderr closes.

    A worker that waits for a hung mount would not see the end of its requests. prctl's signal of
    a parent's death would need ctypes, which costs more memory than this.
    """
    fcntl.fcntl(2, fcntl.F_SETOWN, os.getpid())
    fcntl.fcntl(2, fcntl.F_SETSIG, signal.SIGKILL)
    fcntl.fcntl(2, fcntl.F_SETFL, os.O_NONBLOCK | os.O_ASYNC)
