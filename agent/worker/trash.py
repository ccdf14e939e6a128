"""One-shot: shows the trash of a volume, restores from it, or removes what is in it for good.

Request: {"do", "path", "device"}, and for "restore" {"ids": [...]}; for "purge" {"entries": {id:
inode}, "threads", "rest"}. path: of the mount. rest: seconds of rest for each second of work; a
further line {"rest"} changes it. "list" shows all of it to root, to others what is theirs. It can
be killed at any time. The rows are read by agent/retention/trash.py.
"""

import errno
import os
import threading
from collections.abc import Iterator

from agent.worker import channel, manifest, own, place, purge, trashback, trashbin, trashmend
from agent.worker.descent import GivenUpError
from agent.worker.removal import Pace
from agent.worker.trashmove import Row, Volume


def main() -> int:
    """Answer the one request."""
    messages = channel.requests()
    request = next(messages, None)
    if request is None:
        return 0
    os.umask(0)
    try:
        for row in _rows(request, messages):
            channel.emit(row)
    except GivenUpError as error:
        channel.emit({"row": "failure", "what": f"{error.doing} failed", "errno": error.errno})
    except own.RefusedError as error:
        channel.emit({"row": "failure", "what": f"can't {error.doing}", "errno": error.errno})
    channel.done()
    return 0


def _rows(request: Row, messages: Iterator[Row]) -> Iterator[Row]:
    """Raises GivenUpError, own.RefusedError."""
    try:
        root = place.open_path(str(request["path"]))
    except OSError as error:
        raise GivenUpError("opening the volume's root", error.errno or errno.EIO) from None
    volume = Volume(root, request["device"], -1)
    volume.require()
    volume.trash = trashbin.open_bin(root, make=False)
    match request["do"]:
        case "restore":
            for id_ in _list(request["ids"]):
                yield _restored(volume, str(id_))
        case "list":
            before = _space(root)
            if volume.trash >= 0:
                yield from listed(volume)
            if before[0] == _space(root)[0]:
                yield {"row": "space", "total": before[0], "free": before[1]}
        case "purge" if volume.trash >= 0:
            yield from _purged(volume, request, messages)


def _space(root: int) -> tuple[int, int]:
    """Bytes in all, and free. Raises GivenUpError."""
    try:
        found = os.statvfs(root)
    except OSError as error:
        raise GivenUpError("asking for the free space", error.errno or errno.EIO) from None
    return found.f_blocks * found.f_frsize, found.f_bavail * found.f_frsize


def _restored(volume: Volume, id_: str) -> Row:
    if volume.trash < 0 or not trashbin.is_id(id_):
        return {"row": "refused", "id": id_, "why": "no such entry"}
    return trashback.restore(volume, id_)


def _purged(volume: Volume, request: Row, messages: Iterator[Row]) -> Iterator[Row]:
    pace = Pace(float(str(request["rest"])))
    threading.Thread(target=_follow, args=(messages, pace), daemon=True).start()
    volume.require_whole()
    if own.lock(volume.trash, trashbin.OURS) is None:
        yield {"row": "held"}
        return
    yield from trashmend.mend(volume)
    wanted = request["entries"]
    if not isinstance(wanted, dict):
        raise TypeError("no entries")
    yield from purge.purge(volume, wanted, int(str(request["threads"])), pace)


def _follow(messages: Iterator[Row], pace: Pace) -> None:
    for message in messages:
        pace.change(float(str(message["rest"])))


def listed(volume: Volume) -> Iterator[Row]:
    """A row for each entry that whoever asks may restore. Raises GivenUpError."""
    uid = os.geteuid()
    try:
        found = trashbin.entries(volume.trash)
    except OSError as error:
        raise GivenUpError("looking at the trash", error.errno or errno.EIO) from None
    for entry in found:
        if entry.state == "bare" or uid not in (0, entry.uid):
            continue
        noted = trashbin.noted(volume.trash, entry.id) or _noted_in(volume.trash, entry)
        if noted is None and uid != 0:
            continue  # its owner has emptied it
        row: Row = {"run": "", "inodes": {}, **manifest.told({})} if noted is None else noted.row()
        row |= {"id": entry.id, "state": entry.state, "inode": entry.inode, "owner": entry.uid}
        row["names"] = sorted(noted.inodes) if noted else []
        del row["inodes"]
        yield {"row": "entry", **row}


def _noted_in(trash: int, entry: trashbin.Entry) -> manifest.Manifest | None:
    try:
        descriptor = trashbin.open_entry(trash, entry.name, entry.inode)
    except OSError:
        return None
    try:
        return manifest.load(descriptor, manifest.NOTE)
    finally:
        os.close(descriptor)


def _list(given: object) -> list[object]:
    if not isinstance(given, list):
        raise TypeError("no list")
    return given
