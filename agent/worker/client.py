"""One-shot: which process is the GlusterFS client of a mount.

Request: {"path", "minor", "pids", "layer": [k, n]}; answer: at most one row. {"pid", "start_time"}
is the client; {"pid": null} says that there surely is none, no row that it can't be told.
Newer kernels say in fdinfo which FUSE connection a descriptor of /dev/fuse serves (6.18 does);
on older ones the mount's own unit, and then the command line, must do.
"""

from collections.abc import Iterable

from agent.worker import channel, host

_COMM = "glusterfs"
_UNSAID = -1
"""A FUSE connection whose number this kernel doesn't tell."""
NONE = 0
"""In place of a pid: no process on this host serves the mount."""


def main() -> int:
    """Answer the one request."""
    request = channel.request()
    candidates = [pid for pid in _ints(request["pids"]) if _is_client(pid)]
    found = find(str(request["path"]), _ints([request["minor"]])[0], candidates, request["layer"])
    if found == NONE:
        channel.emit({"pid": None})
    elif found is not None and (started := host.start_time(found)) is not None:
        channel.emit({"pid": found, "start_time": started})
    channel.done()
    return 0


def find(path: str, minor: int, candidates: list[int], layer: object) -> int | None:
    """The client's pid; NONE where there is none, None where it can't be told.

    candidates: clients in the mount's own unit; layer: [k, n], the k-th (from 0) of n at the path.
    """
    clients = [pid for pid in host.pids() if _is_client(pid)]
    served = {pid: _connections(pid) for pid in clients}
    by_connection = [pid for pid in clients if minor in served[pid]]
    if by_connection:
        # While it mounts, a client has a child with the same descriptor: the elder is it.
        return min(by_connection, key=_started)
    unsaid = [pid for pid in clients if _UNSAID in served[pid]]
    if not unsaid:
        return NONE
    own = [pid for pid in unsaid if pid in candidates]
    if own:
        # An elder one serves what was detached and is still in use.
        return max(own, key=_started)
    named = sorted((pid for pid in unsaid if _mount_point(pid) == path), key=_started)
    position, count = _ints(layer)
    others = host.mount_points("fuse.glusterfs")
    if not named and all(_mount_point(pid) in others for pid in unsaid):
        return NONE  # each serves another mount
    return named[position] if len(named) == count else None


def _is_client(pid: int) -> bool:
    return host.comm(pid) == _COMM and host.uid(pid) == 0 and host.start_time(pid) is not None


def _connections(pid: int) -> set[int]:
    """The FUSE connections it serves; a self-heal daemon is a glusterfs that serves none."""
    found = set()
    for descriptor in host.descriptors(pid):
        if host.link(f"/proc/{pid}/fd/{descriptor}") == "/dev/fuse":
            number = host.fdinfo(pid, descriptor).get(b"fuse_connection")
            found.add(_UNSAID if number is None else int(number))
    return found


def _mount_point(pid: int) -> str:
    """The last of a client's arguments, "" where they are none of a client's."""
    arguments = host.read(f"/proc/{pid}/cmdline").rstrip(b"\0").split(b"\0")
    has_volume = any(argument.startswith(b"--volfile-id") for argument in arguments)
    return arguments[-1].decode("utf-8", "surrogateescape") if has_volume else ""


def _started(pid: int) -> int:
    return host.start_time(pid) or 0


def _ints(values: object) -> list[int]:
    if not isinstance(values, Iterable):
        raise TypeError("not a list")
    return [int(value) for value in values]
