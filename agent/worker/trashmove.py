"""Moves checkpoints to the trash of their volume, and back: by renames between open directories.

Nothing is looked up by a path twice. What a name means can change up to the moment of its rename,
so all is looked at once more afterwards, and goes back if it is not what was decided on.
"""

import errno
import os
from collections.abc import Callable

from agent.worker import manifest, noreplace, place, trashbin
from agent.worker.descent import GONE, GivenUpError, ObstacleError, Status, Tree
from agent.worker.meta import MetaReader

RESTORED = 9
"""How many names are tried for what goes back where its own name is taken."""
_OPEN = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW

Row = dict[str, object]
Look = Callable[[int, list[str]], tuple[str, str]]
"""The fingerprint of names in a directory; and the same without the ctimes of the names themselves,
which a rename changes. Raises OSError, as with something mounted in it."""
Still = Callable[[int, int, list[str]], str]
"""Why the names of the run (first descriptor) must stay, "" if they may go; second descriptor: the
directory where they are now, the run itself or the trash. Pointers, pins, quiet. Raises OSError."""


class Volume:
    """One that is worked on. root: open; device: of the mount it must be, None for any.

    Everything raises GivenUpError where nothing else would succeed either.
    """

    def __init__(self, root: int, device: object, trash: int) -> None:
        self.root = root
        self.trash = trash
        self._device = device
        self._meta = MetaReader()

    def require(self) -> None:
        """See to it that the volume is still mounted there."""
        if self._device is not None and place.device_of(self.root) != self._device:
            raise GivenUpError("finding the mount", errno.ENODEV)

    def require_whole(self) -> None:
        """See to it that all of it is there.

        With a brick down, listings of a distribute volume end well and lack its files.
        """
        self.require()
        if self._device is None:
            return
        found = self._meta.read(self.root)
        subvolumes = found["subvolumes"] if found else None
        if not isinstance(subvolumes, list):
            raise GivenUpError("asking the client what is connected", errno.ENOTCONN)
        missing = [name for name, _, up in subvolumes if not up]
        if missing:
            raise GivenUpError(f"reaching {', '.join(missing[:4])}", errno.ENOTCONN)

    def enter(self, path: str) -> tuple[int, Status]:
        """A directory of the volume, open for reading. Raises OSError, ObstacleError."""
        tree = Tree(self.root)
        try:
            bare, status = tree.enter(path)
            if status is None:
                raise ObstacleError(path, "other", detail="the volume's root")
            return os.open(".", _OPEN, dir_fd=bare), status
        finally:
            tree.close()


class Left(Exception):
    """Something stays where it is, or went back there; the text says why."""


def move(volume: Volume, order: Row, look: Look, still: Still) -> Row:
    """One unit of a run to the trash.

    order: "run", "names", "fingerprint" (what was decided on), "time" (epoch seconds), and what is
    told in the manifest. Row: {"row": "moved", "run", "names", "id"}, or {"row": "left", "run",
    "names", "why"}; "vanished": it was gone before, which is as good. Raises GivenUpError.
    """
    run, names = str(order["run"]), _names(order["names"])
    row: Row = {"run": run, "names": names}
    if not manifest.is_run(run) or not names or not all(map(manifest.is_name, names)):
        return {"row": "left", **row, "why": "is no place that anything is moved from"}
    try:
        volume.require()
        there, status = volume.enter(run)
        try:
            return {"row": "moved", **row, "id": _move(volume, order, there, status, look, still)}
        finally:
            os.close(there)
    except Left as left:
        return {"row": "left", **row, "why": str(left)}
    except ObstacleError as obstacle:
        gone = obstacle.kind == "missing"
        return {"row": "left", **row, "why": "vanished" if gone else f"{obstacle.path}: in the way"}
    except FileNotFoundError:
        return {"row": "left", **row, "why": "vanished"}
    except OSError as error:
        raise_if_gone(error, f"moving {run}/{names[0]} to the trash")
        return {"row": "left", **row, "why": os.strerror(error.errno or errno.EIO)}


def raise_if_gone(error: OSError, doing: str) -> None:
    """Raises GivenUpError where the volume does not answer any more."""
    if error.errno in GONE:
        raise GivenUpError(doing, error.errno) from None


def _move(volume: Volume, order: Row, run: int, place_: Status, look: Look, still: Still) -> str:
    """The entry's id. Raises Left, OSError."""
    names = _names(order["names"])
    inodes, owner = _looked_at(run, names, place_)
    if why := still(run, run, names):
        raise Left(why)
    before, lasting = look(run, names)
    if before != order["fingerprint"]:
        raise Left("changed since it was looked at")
    told = {**order, "owner": owner[0], "group": owner[1]}
    noted = manifest.Manifest(str(order["run"]), place_.inode, inodes, manifest.told(told))
    id_ = trashbin.new_id(float(str(order["time"])))
    if not manifest.fits(noted):
        raise Left("its names are too long for a manifest")
    entry = trashbin.begin(volume.trash, id_, noted)
    try:
        why = _carry(run, entry, noted, lambda: look(entry, names)[1] == lasting, still)
        if why:
            raise Left(_back(volume, id_, run, entry, noted, why))
        trashbin.settle(entry, names)
    finally:
        os.close(entry)
    return id_


def _looked_at(
    run: int, names: list[str], place_: Status
) -> tuple[dict[str, int], tuple[int, int]]:
    """Inodes by name, and the first one's owner and group. Raises Left, OSError."""
    inodes, owner = {}, (0, 0)
    for name in reversed(names):
        status = _status(run, name)
        if status.place != place_.place:
            raise Left(f"{name}: something else is mounted there")
        inodes[name], owner = status.inode, (status.uid, status.gid)
    return inodes, owner


def _status(where: int, name: str) -> Status:
    descriptor = os.open(name, os.O_PATH | os.O_NOFOLLOW, dir_fd=where)
    try:
        return Status(descriptor)
    finally:
        os.close(descriptor)


def _carry(
    run: int,
    entry: int,
    noted: manifest.Manifest,
    unchanged: Callable[[], bool],
    still: Still,
) -> str:
    """Why it must go back, "" if all of it came over as it was looked at."""
    try:
        for name in noted.names:
            os.rename(name, name, src_dir_fd=run, dst_dir_fd=entry)
        if {name: _status(entry, name).inode for name in noted.names} != noted.inodes:
            return "was exchanged meanwhile"
        if not unchanged():
            return "changed while it was moved"
        return still(run, entry, noted.names)
    except FileNotFoundError:
        return "vanished"
    except OSError as error:
        return os.strerror(error.errno or errno.EIO)


def _back(
    volume: Volume, id_: str, run: int, entry: int, noted: manifest.Manifest, why: str
) -> str:
    """Put back what was moved; the reason, with what had to get another name. Raises OSError."""
    placed = put_back(run, entry, noted.names)
    others = [f"{name} is {new} now" for name, new in placed.items() if name != new]
    if left := trashbin.inside(entry):
        trashbin.settle(entry, left)
        others.append(f"{', '.join(left)} could not be put back, and lies in the trash as {id_}")
    else:
        trashbin.drop(volume.trash, id_, entry)
    return "; ".join([why, *others])


def put_back(run: int, entry: int, names: list[str]) -> dict[str, str]:
    """Rename those of the names that are in the entry into the run, and replace nothing.

    By name: as what. What is missing here is still in the entry.
    """
    placed = {}
    for name in names:
        for new in [name, *(f"{name}.restored-{n}" for n in range(1, RESTORED + 1))]:
            try:
                noreplace.rename(entry, name, run, new, true_view=True)
            except FileExistsError:
                continue
            except OSError:  # not there; or the run is gone
                break
            placed[name] = new
            break
    return placed


def _names(given: object) -> list[str]:
    if not isinstance(given, list):
        raise TypeError("no list of names")
    return sorted(map(str, given))
