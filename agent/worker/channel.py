"""The worker's end of the channel: lines of JSON on file descriptors 0 and 1.

Workers are to start in milliseconds and stay small: they import neither typing nor dataclasses,
which cost as much memory as all else they need (measured: 1.7 MiB).
"""

import json
import os
from collections.abc import Iterator

_MAX_LINE = 1 << 20
"""Bytes, as agent.protocol.MAX_LINE."""


def requests() -> Iterator[dict[str, object]]:
    """Each request as it comes; ends when the daemon hangs up or is gone."""
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
