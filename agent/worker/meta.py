"""Reads `.meta` at the root of a mount: what the client itself knows of its bricks."""

import json
import os
import stat

from agent.worker import graph

_VOLFILE_LIMIT = 1 << 22
"""Bytes; a volfile of 1000 bricks has about 800 KiB."""
_FILE_LIMIT = 1 << 16
"""Bytes of any other file; a `private` has less than 4 KiB."""
_CHUNK = 1 << 14
"""Bytes; most files here are smaller, and the kernel pins the whole buffer of a read."""


class MetaReader:
    """Remembers the parsed volfile of the graph it saw last, never a descriptor."""

    def __init__(self) -> None:
        self._graph_id = ""
        self._graph = graph.Graph((), ())

    def read(self, root: int) -> dict[str, object] | None:
        """The client graph as the protocol's GraphView; None where it can't be read."""
        try:
            return self._read(root)
        except OSError:
            return None

    def _read(self, root: int) -> dict[str, object]:
        graphs = _open_directory(root, ".meta", "graphs")
        try:
            graph_id = os.readlink("active", dir_fd=graphs)
            if graph_id in ("", ".", "..") or "/" in graph_id:
                raise NotADirectoryError(graph_id)
            active = _open_directory(graphs, graph_id)
        finally:
            os.close(graphs)
        try:
            if graph_id != self._graph_id:
                self._graph = graph.parse_volfile(_text(active, "volfile", _VOLFILE_LIMIT))
                self._graph_id = graph_id
            bricks, subvolumes = _states(active, self._graph)
        finally:
            os.close(active)
        return {
            "bricks": bricks,
            "subvolumes": subvolumes,
            "ping_timeout": self._graph.ping_timeout,
            "version": _version(root),
        }


def _states(
    active: int, known: graph.Graph
) -> tuple[list[tuple[str, str, str, bool]], list[tuple[str, str, bool]]]:
    connected = {
        brick.name for brick in known.bricks if _private(active, brick).get("connected") == "1"
    }
    bricks = [
        (brick.name, brick.host, brick.path, brick.name in connected) for brick in known.bricks
    ]
    subvolumes = [
        (each.name, graph.kind_of(each), graph.is_up(each, _private(active, each), connected))
        for each in known.subvolumes
    ]
    return bricks, subvolumes


def _private(active: int, xlator: graph.Xlator) -> dict[str, str]:
    if "/" in xlator.name or xlator.name in ("", ".", ".."):
        return {}
    directory = _open_directory(active, xlator.name)
    try:
        return graph.parse_private(_text(directory, "private"))
    finally:
        os.close(directory)


def _version(root: int) -> str:
    directory = _open_directory(root, ".meta")
    try:
        version = json.loads(_text(directory, "version"))["Package Version"]
    except (ValueError, KeyError, TypeError, RecursionError, OSError):
        return ""
    finally:
        os.close(directory)
    return str(version)[: graph.TEXT_LIMIT]


def _open_directory(parent: int, *names: str) -> int:
    """The directory down the names, no link followed. Raises OSError.

    O_PATH saves the client an opendir and a release for each.
    """
    descriptor = os.dup(parent)
    for name in names:
        try:
            child = os.open(name, os.O_PATH | os.O_DIRECTORY | os.O_NOFOLLOW, dir_fd=descriptor)
        finally:
            os.close(descriptor)
        descriptor = child
    return descriptor


def _text(directory: int, name: str, limit: int = _FILE_LIMIT) -> str:
    """A regular file; a FIFO of that name blocks nobody. Raises OSError, also if it is longer."""
    descriptor = os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK, dir_fd=directory)
    try:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise OSError("not a regular file")
        # A short answer is the end of a regular file: to ask once more would cost a request.
        data = b""
        while len(data) <= limit:
            more = os.read(descriptor, _CHUNK)
            data += more
            if len(more) < _CHUNK:
                break
    finally:
        os.close(descriptor)
    if len(data) > limit:
        raise OSError("too long")
    return data.decode("utf-8", "replace")
