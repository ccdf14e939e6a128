"""What the daemon and its workers say to each other: one JSON object a line, both ways.

The persistent probe worker takes `{"id", "path", "device", "write_name"}` and answers one
ProbeReply a request. One-shot workers take their request as the only line on stdin and answer in
one or more lines; the last one bears `"done": true`. A worker imports nothing but the standard
library and the lowest floor, so that it starts in milliseconds and stays small.
"""

import errno
import json
import os
from dataclasses import dataclass

from agent import codec

MAX_LINE = 1 << 20
"""Bytes; a longer message is a broken worker."""


@dataclass(frozen=True, slots=True)
class ProbeRequest:
    """Ask for one true round trip.

    device: (major, minor) that the mount's root must have; a worker that finds another device
    there answers so and writes nothing. write_name: file to create, sync, read back and unlink
    below `.gluster-ml/probes/`, or None for a probe that only reads.
    """

    id: int
    path: str
    device: tuple[int, int]
    write_name: str | None


@dataclass(frozen=True, slots=True)
class Step:
    """One step of a probe. errno: 0 worked; name: what was tried, for the evidence."""

    name: str
    errno: int

    @property
    def denied(self) -> bool:
        """The agent may not do this, as where the volume squashes root."""
        return self.errno in (errno.EACCES, errno.EPERM)

    def __str__(self) -> str:
        name = errno.errorcode.get(self.errno, str(self.errno))
        return f"{self.name} failed: {os.strerror(self.errno)} ({name})"


@dataclass(frozen=True, slots=True)
class GraphView:
    """The client graph as `.meta` shows it; ping_timeout in seconds."""

    bricks: tuple[tuple[str, str, str, bool], ...]
    """(name, host, path, connected) of each protocol/client"""
    subvolumes: tuple[tuple[str, str, bool], ...]
    """(name, kind, up) of each child of distribute"""
    ping_timeout: int
    version: str


@dataclass(frozen=True, slots=True)
class ProbeReply:
    """What one probe found.

    on_device: the path's root was on the asked device. statvfs, read and write are None where
    that step was not tried. total and free are bytes from statvfs. graph is None where `.meta`
    could not be read. seconds: how long it took, on the worker's monotonic clock.
    """

    id: int
    on_device: bool
    statvfs: Step | None
    read: Step | None
    write: Step | None
    total: int
    free: int
    graph: GraphView | None
    seconds: float


def encode(message: object) -> bytes:
    """One line of JSON for a message dataclass."""
    return json.dumps(codec.encode(message), separators=(",", ":")).encode() + b"\n"


class BadMessage(ValueError):
    """A line that is not the message it should be."""


def decode_probe_reply(line: bytes) -> ProbeReply:
    """Raises BadMessage."""
    if len(line) > MAX_LINE:
        raise BadMessage("probe reply: too long")
    try:
        return codec.decode(ProbeReply, json.loads(line))
    except (ValueError, RecursionError) as error:
        raise BadMessage(f"probe reply: {error}") from error
