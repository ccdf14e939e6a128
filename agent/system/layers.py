"""What is mounted at a path right now, from the mount table alone."""

from agent.errors import MountFailed
from agent.model.mount import MountEntry
from agent.system import mountinfo, mounttable
from agent.system.mounthost import MountRequest


def layers(path: str) -> tuple[MountEntry, ...]:
    """The mounts at path, bottom to top; the path itself is not touched."""
    return mountinfo.layers_at(mounttable.read(), path)


def is_half_mount(found: tuple[MountEntry, ...], request: MountRequest) -> bool:
    """Whether the topmost mount is what an attempt that failed left, as far as can be told."""
    top = found[-1:]
    return [(e.fstype, e.source) for e in top] == [(mountinfo.GLUSTER_FSTYPE, request.source)]


def require_bare(path: str) -> None:
    """Raises MountFailed where something is mounted at path already.

    Whoever mounts looks at the directory first; on a frozen mount that look never ends, and with
    systemd it is PID 1 that looks.
    """
    found = layers(path)
    if found:
        top = found[-1]
        raise MountFailed(f"{path}: {top.source} ({top.fstype}) is mounted there already")
