"""Resolves what a cleaner, a purge or a restore left when it was killed.

What was on its way goes back where it came from: the next pass decides anew. Two that do this at
once, or one of them beside a cleaner that is believed dead and is not, end at the same.
"""

import contextlib
import errno
import os
from collections.abc import Iterator

from agent.worker import manifest, trashbin
from agent.worker.descent import ObstacleError
from agent.worker.trashmove import Row, Volume, put_back, raise_if_gone


def mend(volume: Volume) -> Iterator[Row]:
    """A row for each thing that people should know. Raises GivenUpError.

    {"row": "back", "run", "names": {name: as what}}: put back, as a move broke off; {"row": "odd",
    "id", "why"}: it stays in the trash.
    """
    try:
        trashbin.sweep(volume.trash)
        found = trashbin.entries(volume.trash)
    except OSError as error:
        raise_if_gone(error, "looking at the trash")
        yield {"row": "odd", "id": "", "why": os.strerror(error.errno or errno.EIO)}
        return
    for entry in found:
        try:
            row = _resolved(volume, entry)
        except FileNotFoundError:
            continue  # a second one was faster
        except OSError as error:
            raise_if_gone(error, f"looking at {entry.name} in the trash")
            row = _odd(entry, os.strerror(error.errno or errno.EIO))
        if row is not None:
            yield row


def _odd(entry: trashbin.Entry, why: str) -> Row:
    return {"row": "odd", "id": entry.id, "why": why}


def _resolved(volume: Volume, entry: trashbin.Entry) -> Row | None:
    """Raises OSError."""
    match entry.state:
        case "bare":
            _forget(volume.trash, entry.id)
        case "busy" | "back":
            descriptor = trashbin.open_entry(volume.trash, entry.name, entry.inode)
            try:
                return _returned(volume, entry, descriptor)
            finally:
                os.close(descriptor)
        case "kept":
            return _kept(volume.trash, entry)
    return None


def _forget(trash: int, id_: str) -> None:
    """A manifest without an entry: its writer finds the name taken, or the manifest gone."""
    with contextlib.suppress(FileExistsError):
        os.mkdir(id_, trashbin.BUSY, dir_fd=trash)
        trashbin.forget(trash, id_)
        os.rmdir(id_, dir_fd=trash)


def _returned(volume: Volume, entry: trashbin.Entry, descriptor: int) -> Row | None:
    trashbin.hold(descriptor)
    names = trashbin.inside(descriptor)
    noted = trashbin.noted(volume.trash, entry.id) or manifest.load(descriptor, manifest.NOTE)
    if not names:
        trashbin.drop(volume.trash, entry.name, descriptor)
        return None
    if noted is None:
        return _stranded(volume, entry, descriptor, "nothing says where it came from")
    try:
        run, status = volume.enter(noted.run)
    except ObstacleError as obstacle:
        return _stranded(volume, entry, descriptor, f"{obstacle.path} is not there any more")
    try:
        if status.inode != noted.place:
            return _stranded(volume, entry, descriptor, f"{noted.run} is another directory now")
        placed = put_back(run, descriptor, names)
    finally:
        os.close(run)
    if trashbin.inside(descriptor):
        return _stranded(volume, entry, descriptor, f"{noted.run} does not take it back")
    trashbin.drop(volume.trash, entry.name, descriptor)
    return {"row": "back", "run": noted.run, "names": placed}


def _stranded(volume: Volume, entry: trashbin.Entry, descriptor: int, why: str) -> Row:
    """It can't go back, so it is an entry like any other."""
    trashbin.settle(descriptor, trashbin.inside(descriptor))
    if entry.name != entry.id:
        os.rename(entry.name, entry.id, src_dir_fd=volume.trash, dst_dir_fd=volume.trash)
    return _odd(entry, why)


def _kept(trash: int, entry: trashbin.Entry) -> Row | None:
    """An entry that its owner has emptied goes."""
    descriptor = trashbin.open_entry(trash, entry.name, entry.inode)
    try:
        if not trashbin.inside(descriptor):
            trashbin.drop(trash, entry.name, descriptor)
        elif not entry.noted:
            return _odd(entry, "it has no manifest")
    finally:
        os.close(descriptor)
    return None
