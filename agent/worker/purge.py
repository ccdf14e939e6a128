"""Removes entries of the trash for good.

An entry is renamed and taken from its owner first, so that nobody restores half of it, and whoever
was killed over it is found out; its manifest goes last.
"""

import errno
import os
from collections.abc import Generator, Iterator

from agent.worker import trashbin
from agent.worker.descent import GivenUpError
from agent.worker.removal import Pace, Removal
from agent.worker.trashmove import Row, Volume, raise_if_gone

_INTERVAL = 0.25


def purge(
    volume: Volume, wanted: dict[str, int], threads: int, pace: Pace
) -> Generator[Row, None, None]:
    """Remove these entries (id: inode), and all that others did not come to an end with.

    Rows: {"row": "purged", "id"}; {"row": "odd", "id", "why"}; every quarter of a second {"row":
    "removing", "removed"}: names so far. Raises GivenUpError; what is not done then is gone on with
    next time.
    """
    removal = Removal(volume.trash, threads, pace)
    try:
        for entry in _entries(volume, wanted):
            if row := _begun(volume, entry, removal):
                yield row
            yield from _told(volume, removal)
        while not removal.wait(_INTERVAL):
            yield from _told(volume, removal)
            yield {"row": "removing", "removed": removal.removed}
        yield from _told(volume, removal)
        yield {"row": "removing", "removed": removal.removed}
        for name, number in removal.problems:
            yield {"row": "odd", "id": name, "why": os.strerror(number)}
        if removal.stopped:
            raise GivenUpError("emptying the trash", removal.stopped)
    finally:
        removal.close()


def _entries(volume: Volume, wanted: dict[str, int]) -> list[trashbin.Entry]:
    try:
        found = trashbin.entries(volume.trash)
    except OSError as error:
        raise GivenUpError("looking at the trash", error.errno or errno.EIO) from None
    return [
        entry
        for entry in found
        if entry.state == "gone" or (entry.state == "kept" and wanted.get(entry.id) == entry.inode)
    ]


def _begun(volume: Volume, entry: trashbin.Entry, removal: Removal) -> Row | None:
    """The row that tells why it is not."""
    try:
        volume.require_whole()
        os.close(trashbin.claim(volume.trash, entry, trashbin.GONE))
    except FileNotFoundError:
        return None  # its owner, or a second purge, was faster
    except OSError as error:
        raise_if_gone(error, f"taking {entry.id} out of the trash")
        return {"row": "odd", "id": entry.id, "why": os.strerror(error.errno or errno.EIO)}
    removal.add(entry.id + trashbin.GONE)
    return None


def _told(volume: Volume, removal: Removal) -> Iterator[Row]:
    while removal.ended:
        id_ = removal.ended.pop(0).removesuffix(trashbin.GONE)
        try:
            trashbin.forget(volume.trash, id_)
        except OSError as error:
            raise_if_gone(error, "emptying the trash")
            continue  # a manifest without an entry, which the next pass removes
        yield {"row": "purged", "id": id_}
