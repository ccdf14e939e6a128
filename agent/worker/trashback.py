"""Restores an entry of the trash, as whoever asks: the kernel says whether they may.

Nothing is replaced, no link followed. Root restores for others, so it puts nothing into a directory
that is neither the one it came from nor its owner's: who may look into that could then read it.
"""

import contextlib
import errno
import os
import stat
import time

from agent.worker import manifest, noreplace, trashbin
from agent.worker.descent import ObstacleError
from agent.worker.trashmove import Left, Row, Volume, raise_if_gone

PIN = ".keep"
_CACHED = 3.0
"""Seconds to wait for a name that a mount has in a cache; by default they last one."""
_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW
_DIRECTORY = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW


def restore(volume: Volume, id_: str) -> Row:
    """Put it back to where it came from, pinned: or the next pass of the cleaner would take it.

    Row: {"row": "restored", "id", "run", "names"}, or {"row": "refused", "id", "why"}. Raises
    GivenUpError.
    """
    try:
        volume.require()
        entry = trashbin.find(volume.trash, id_)
        descriptor = trashbin.open_entry(volume.trash, entry.name, entry.inode)
        try:
            return _restored(volume, entry, descriptor)
        finally:
            os.close(descriptor)
    except Left as left:
        why = str(left)
    except ObstacleError as obstacle:
        word = "is not there any more" if obstacle.kind == "missing" else "is no directory"
        why = f"{obstacle.path} {word}"
    except FileNotFoundError:
        why = "no such entry"
    except OSError as error:
        raise_if_gone(error, f"restoring {id_}")
        why = os.strerror(error.errno or errno.EIO)
    return {"row": "refused", "id": id_, "why": why}


def _restored(volume: Volume, entry: trashbin.Entry, descriptor: int) -> Row:
    """Raises Left, ObstacleError, OSError."""
    noted = trashbin.noted(volume.trash, entry.id) or manifest.load(descriptor, manifest.NOTE)
    if noted is None:
        raise Left("nothing says where it came from")
    root = _is_root()
    run, status = volume.enter(noted.run)
    try:
        if root and status.inode != noted.place and status.uid != entry.uid:
            raise Left(f"{noted.run} is another directory now, and not its owner's")
        # Its owner may leave what they like in it; what goes back is what was moved.
        names = [name for name in trashbin.inside(descriptor) if name in noted.inodes]
        if not names and entry.state != "back":
            raise Left("nothing is left in it")
        _require_room(descriptor, run, noted, names)
        if root:
            os.close(trashbin.claim(volume.trash, entry, trashbin.BACK))
        try:
            _carry(descriptor, run, noted, names)
        except (OSError, Left):
            if root:
                trashbin.unclaim(volume.trash, entry, trashbin.BACK, descriptor)
            raise
        _leave(volume, entry, descriptor, root=root)
        back = [name for name in noted.names if _is_past(run, noted, name)]
        if not back:
            raise Left("it was put back before, and is gone from its run since")
        return {"row": "restored", "id": entry.id, "run": noted.run, "names": back}
    finally:
        os.close(run)


def _require_room(entry: int, run: int, noted: manifest.Manifest, names: list[str]) -> None:
    until = time.monotonic() + _CACHED
    for name in names:
        while not noreplace.is_free(entry, name, run, name):
            if not _is_past(run, noted, name):
                raise Left(f"{noted.run}/{name} is there already, and is not replaced")
            if time.monotonic() > until:
                raise Left(f"{name} is still seen in {noted.run}, by this mount's entry-timeout")
            time.sleep(0.2)


def _is_past(run: int, noted: manifest.Manifest, name: str) -> bool:
    """Whether what is seen in the run is what was moved: it is back, or a cache says so still."""
    with contextlib.suppress(FileNotFoundError):
        return os.stat(name, dir_fd=run, follow_symlinks=False).st_ino == noted.inodes[name]
    return False


def _is_root() -> bool:
    """Root works through a mount of the agent's own, others through their own mount."""
    return os.geteuid() == 0


def _carry(entry: int, run: int, noted: manifest.Manifest, names: list[str]) -> None:
    """All of them, or none. Raises Left, OSError."""
    done: list[str] = []
    try:
        for name in names:
            if os.stat(name, dir_fd=entry, follow_symlinks=False).st_ino != noted.inodes[name]:
                raise Left(f"{name} is not what was moved")
        if names and not _is_past(run, noted, noted.names[0]):  # or it was pinned when it came back
            _pin(entry, run, names[0])
        for name in names:
            noreplace.rename(entry, name, run, name, true_view=_is_root())
            done.append(name)
    except OSError as error:
        for name in done:
            noreplace.rename(run, name, entry, name, true_view=_is_root())
        if isinstance(error, FileExistsError):
            raise Left("something of its name is there by now, and is not replaced") from None
        raise


def _leave(volume: Volume, entry: trashbin.Entry, descriptor: int, *, root: bool) -> None:
    """Remove the entry, as far as whoever asks may. Raises OSError."""
    if not root:
        with contextlib.suppress(OSError):  # what is left of the entry, the next pass removes
            os.unlink(manifest.NOTE, dir_fd=descriptor)
    elif trashbin.inside(descriptor):  # of the owner's making
        trashbin.unclaim(volume.trash, entry, trashbin.BACK, descriptor)
    else:
        trashbin.drop(volume.trash, entry.id + trashbin.BACK, descriptor)


def _pin(entry: int, run: int, name: str) -> None:
    """As `checkpoints pin` does it. Raises OSError."""
    if stat.S_ISDIR(os.stat(name, dir_fd=entry, follow_symlinks=False).st_mode):
        where, pin = os.open(name, _DIRECTORY, dir_fd=entry), PIN
    else:
        where, pin = os.dup(run), f"{name}{PIN}"
    try:
        with contextlib.suppress(FileExistsError):
            os.close(os.open(pin, _NEW, 0o644, dir_fd=where))
    finally:
        os.close(where)
