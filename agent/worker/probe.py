"""The probe: one persistent process a mount that makes true round trips when asked.

It holds no descriptor on the mount between requests, so that an unmount finds it idle.
"""

import os
import time

from agent.worker import channel, place, roundtrip
from agent.worker.meta import MetaReader


def main() -> int:
    """Answer requests until the daemon hangs up."""
    os.umask(0)
    meta = MetaReader()
    for request in channel.requests():
        started = time.monotonic()
        reply = _probe(request, meta)
        reply["id"] = request["id"]
        reply["seconds"] = round(time.monotonic() - started, 6)
        try:
            channel.emit(reply)
        except channel.TooLongError:
            channel.emit({**reply, "graph": None})
    return 0


def _probe(request: dict[str, object], meta: MetaReader) -> dict[str, object]:
    """The fields of the protocol's ProbeReply but id and seconds."""
    reply: dict[str, object] = {
        "on_device": False,
        "statvfs": None,
        "read": None,
        "write": None,
        "total": 0,
        "free": 0,
        "graph": None,
    }
    try:
        root = place.open_path(str(request["path"]))
    except OSError:
        return reply
    try:
        if place.device_of(root) == request["device"]:
            reply["on_device"] = True
            _on_mount(root, request["write_name"], reply)
            # Last, so that it shows the bricks as they were when a step failed.
            reply["graph"] = meta.read(root)
    finally:
        os.close(root)
    return reply


def _on_mount(root: int, write_name: object, reply: dict[str, object]) -> None:
    reply["statvfs"], reply["total"], reply["free"] = roundtrip.space(root)
    read = roundtrip.read(root)
    reply["read"] = read
    if read["errno"] == 0 and isinstance(write_name, str):
        reply["write"] = roundtrip.write(root, write_name)
