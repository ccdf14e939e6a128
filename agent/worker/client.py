"""One-shot: which process is the GlusterFS client of a mount.

Request: {"path", "minor", "pids", "layer": [k, n]}; answer: at most one row {"pid", "start_time"}.
Newer kernels say in fdinfo which FUSE connection a descriptor of /dev/fuse serves (6.18 does);
on older ones the mount's own unit, and then the command line, must do.
"""

from collections.abc import Iterable

from agent.worker import channel, host

_COMM = "glusterfs"


def main() -> int:
    """Answer the one request."""
    request = channel.request()
    candidates = [pid for pid in _ints(request["pids"]) if _is_client(pid)]
    found = find(str(request["path"]), _ints([request["minor"]])[0], candidates, request["layer"])
    if found is not None and (started := host.start_time(found)) is not None:
        channel.emit({"pid": found, "start_time": started})
    channel.done()
    return 0


def find(path: str, minor: int, candidates: list[int], layer: object) -> int | None:
    """The client's pid; None where none is found or it can't be told from others.

    candidates: clients in the mount's own unit; layer: [k, n], the k-th (from 0) of n at the path.
    """
    clients = candidates or [pid for pid in host.pids() if _is_client(pid)]
    served = {pid: _connections(pid) for pid in clients}
    by_connection = [pid for pid in clients if minor in served[pid]]
    if by_connection:
        # While it mounts, a client has a child with the same descriptor: the elder is it.
        return min(by_connection, key=_age)
    unsaid = [pid for pid in clients if not served[pid]]
    if candidates:
        return unsaid[0] if len(unsaid) == 1 else None
    named = sorted((pid for pid in unsaid if _names(pid, path)), key=_age)
    position, count = _ints(layer)
    return named[position] if len(named) == count else None


def _is_client(pid: int) -> bool:
    return host.comm(pid) == _COMM and host.uid(pid) == 0 and host.start_time(pid) is not None


def _connections(pid: int) -> set[int]:
    """The FUSE connections it serves, as far as this kernel tells."""
    found = set()
    for descriptor in host.descriptors(pid):
        if host.link(f"/proc/{pid}/fd/{descriptor}") == "/dev/fuse":
            number = host.fdinfo(pid, descriptor).get(b"fuse_connection")
            if number is not None:
                found.add(int(number))
    return found


def _names(pid: int, path: str) -> bool:
    """Whether its arguments are those of a client of this mount point; they go nowhere else."""
    arguments = host.read(f"/proc/{pid}/cmdline").rstrip(b"\0").split(b"\0")
    wanted = path.encode("utf-8", "surrogateescape")
    has_volume = any(argument.startswith(b"--volfile-id") for argument in arguments)
    return has_volume and arguments[-1] == wanted


def _age(pid: int) -> int:
    return host.start_time(pid) or 0


def _ints(values: object) -> list[int]:
    if not isinstance(values, Iterable):
        raise TypeError("not a list")
    return [int(value) for value in values]
