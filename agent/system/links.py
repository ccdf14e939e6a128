"""Where a path leads, found out without asking a mount that can hang anything."""

import os
from collections.abc import Sequence

from agent.config.places import can_hang
from agent.model.mount import MountEntry

_MOST_LINKS = 40
"""As the kernel has it, path_resolution(7)."""


def mount_on_the_way(path: str, table: Sequence[MountEntry]) -> str:
    """The network or FUSE mount that whoever opens a path gets onto, "" if none.

    A relative path is taken from the working directory. table: what is mounted here. Links are
    followed, and read only where none of these is above. A root directory on the network does not
    count: without that nothing would go anyway.
    """
    mounts = {entry.path for entry in table if can_hang(entry.fstype)} - {"/"}
    whole = path if path.startswith("/") else os.path.join(os.getcwd(), path)
    here, left, links = "/", whole.split("/")[::-1], 0
    while left:
        name = left.pop()
        if name in ("", "."):
            continue
        step = os.path.dirname(here) if name == ".." else os.path.join(here, name)
        if step in mounts:
            return step
        try:
            target = os.readlink(step)
        except (OSError, ValueError):  # no link, not there, or no path at all: open(2) will tell
            here = step
            continue
        links += 1
        if links > _MOST_LINKS:
            break
        here = "/" if target.startswith("/") else here
        left += target.split("/")[::-1]
    return ""
