"""One-shot: leaves word of what this host wants of a volume, and reads who cleaned it last.

Request: {"path", "device": [major, minor], "host", "wants"}; see hosts.py. Row: {"row": "last",
"host", "turn"}: who came to the end of a pass last, and a text that is another one each time, both
"" where nobody did; or {"row": "failure", "what", "errno"}.
"""

import errno
import os
import time

from agent.worker import channel, hosts, own, place, trashbin

NOTE = "turn"
"""In the trash: who came to the end of a pass last."""
Row = dict[str, object]


def main() -> int:
    """Answer the one request."""
    request = channel.request()
    os.umask(0)
    try:
        channel.emit(_answer(request))
    except own.RefusedError as error:
        channel.emit({"row": "failure", "what": f"can't {error.doing}", "errno": error.errno})
    except OSError as error:
        number = error.errno or errno.EIO
        channel.emit({"row": "failure", "what": f"using {own.BASE}/{hosts.OURS}", "errno": number})
    channel.done()
    return 0


def _answer(request: Row) -> Row:
    """Raises own.RefusedError, OSError."""
    root = place.open_path(str(request["path"]))
    try:
        if place.device_of(root) != request["device"]:
            raise OSError(errno.ENODEV, "the volume is not mounted there")
        hosts.publish(root, str(request["host"]), str(request["wants"]), time.time())
        return {"row": "last", **last(root)}
    finally:
        os.close(root)


def last(root: int) -> dict[str, str]:
    """Who came to the end of a pass last. Raises own.RefusedError."""
    where = own.directory(root, trashbin.OURS, make=False)
    if where < 0:
        return {"host": "", "turn": ""}
    try:
        found = own.read(where, NOTE) or {}
    finally:
        os.close(where)
    host, turn = found.get("host"), found.get("turn")
    if not isinstance(host, str) or not isinstance(turn, str):
        return {"host": "", "turn": ""}
    return {"host": host[:256], "turn": turn[:256]}


def passed(trash: int, host: str, turn: str) -> None:
    """Leave word that a pass came to its end. Raises OSError."""
    own.write(trash, NOTE, {"host": host, "turn": turn})
