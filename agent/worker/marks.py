"""What the agents of all hosts remember of the layout: `.gluster-ml/layout` on the volume.

A mark says which inode an agent made at a declared path, or mended there; `turn` that a pass was
made, so that other hosts needn't make one. Believing a forged one only ever leads to what root
could do anyway: giving the directory at a declared path the declared owner and mode.
"""

import os

from agent.worker import own

_OURS = "layout"
_TURN = "turn"
_WORD = 64
"""Characters of a text in it that are read."""


class Marks:
    """The marks on the volume whose root that descriptor is. make: what lacks is made.

    Raises own.RefusedError.
    """

    def __init__(self, root: int, *, make: bool) -> None:
        self._directory = own.directory(root, _OURS, make=make)
        self._lock = -1

    def close(self) -> None:
        """Let go; the lock is released."""
        for descriptor in (self._lock, self._directory):
            if descriptor >= 0:
                os.close(descriptor)
        self._lock = self._directory = -1

    def lock(self) -> bool:
        """Take the volume's lock on the layout, if nobody has it. Raises own.RefusedError."""
        held = own.lock(self._directory, _OURS)
        self._lock = -1 if held is None else held
        return held is not None

    def read(self, name: str, path: str) -> dict[str, object] | None:
        """The mark of a path: {"inode", "made"}; None where there is none that can be believed."""
        found = self._load(name)
        inode, made = found.get("inode"), found.get("made")
        if found.get("path") != path or type(inode) is not int or type(made) is not bool:
            return None
        return {"inode": inode, "made": made}

    def write(self, name: str, path: str, inode: int, *, made: bool) -> None:
        """Remember an inode. Raises OSError."""
        own.write(self._directory, name, {"path": path, "inode": inode, "made": made})

    def turn(self) -> dict[str, object]:
        """Whose turn the last pass was: {"turn", "layout"}; texts, empty where nobody knows."""
        found = self._load(_TURN)
        return {key: str(found.get(key, ""))[:_WORD] for key in ("turn", "layout")}

    def take_turn(self, turn: str, layout: str) -> None:
        """Leave word that a pass was made. Raises OSError."""
        own.write(self._directory, _TURN, {"turn": turn, "layout": layout})

    def _load(self, name: str) -> dict[str, object]:
        """The object in a file of ours; empty where there is none that can be read."""
        return (own.read(self._directory, name) if self._directory >= 0 else None) or {}
