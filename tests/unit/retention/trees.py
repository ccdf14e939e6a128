"""Trees of checkpoints as plain values, seen as the worker's descriptors would show them.

A tree is a mapping of names: bytes are a file, a mapping is a directory, and beside these:
Link, Sized (a file of which only the first and last bytes matter), Unreadable, ODD (a socket or the
like).
"""

import posixpath
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from agent.retention.view import (
    DIRECTORY,
    FILE,
    LINK,
    OTHER,
    READABLE,
    Entry,
    UnreadableError,
    View,
)

Tree = Mapping[str, Any]


@dataclass(frozen=True)
class Link:
    """A symbolic link."""

    target: str


@dataclass(frozen=True)
class Sized:
    """A file of that many bytes: those of head, then zeros, and at its end those of tail."""

    size: int
    head: bytes = b""
    tail: bytes = b""


@dataclass(frozen=True)
class Unreadable:
    """A file, or with a tree a directory, that is there and can't be read."""

    why: str = "input/output error"
    kind: str = FILE


class Odd:
    """Neither file nor directory nor link."""


ODD = Odd()


def kind_of(node: object) -> str:
    """As a directory's listing tells it."""
    if isinstance(node, bytes | Sized):
        return FILE
    if isinstance(node, Mapping):
        return DIRECTORY
    if isinstance(node, Link):
        return LINK
    return node.kind if isinstance(node, Unreadable) else OTHER


class TreeView:
    """A View of a tree. What was asked for stands in `asked`, as paths below the first one."""

    def __init__(self, tree: Tree | Unreadable, path: str = "", asked: list[str] | None = None):
        self._tree = tree
        self._path = path
        self.asked: list[str] = [] if asked is None else asked

    def entries(self) -> Mapping[str, Entry]:
        if isinstance(self._tree, Unreadable):
            raise UnreadableError(self._tree.why)
        return {name: Entry(name, kind_of(node)) for name, node in self._tree.items()}

    def below(self, name: str) -> View | None:
        node = self._node(name)
        if kind_of(node) != DIRECTORY:
            return None
        return TreeView(node, posixpath.join(self._path, name), self.asked)

    def size(self, name: str) -> int | None:
        node = self._node(name)
        if isinstance(node, Sized):
            return node.size
        return len(node) if isinstance(node, bytes) else None

    def read(self, name: str, limit: int = READABLE) -> bytes | None:
        node = self._node(name)
        self.asked.append(posixpath.join(self._path, name))
        if node is None:
            return None
        if isinstance(node, Unreadable):
            raise UnreadableError(node.why)
        if kind_of(node) != FILE:
            raise UnreadableError("is no regular file")
        size = self.size(name)
        assert size is not None
        if size > limit:
            raise UnreadableError(f"has more than {limit} bytes")
        return node if isinstance(node, bytes) else node.head.ljust(size, b"\0")[:size]

    def head(self, name: str, length: int) -> bytes | None:
        node = self._asked(name)
        if isinstance(node, bytes):
            return node[:length]
        if isinstance(node, Sized):
            return node.head.ljust(min(length, node.size), b"\0")[: min(length, node.size)]
        return None

    def tail(self, name: str, length: int) -> bytes | None:
        node = self._asked(name)
        if isinstance(node, bytes):
            return node[max(0, len(node) - length) :]
        if isinstance(node, Sized):
            want = min(length, node.size)
            return node.tail.rjust(want, b"\0")[-want:] if want else b""
        return None

    def target(self, name: str) -> str | None:
        node = self._node(name)
        return node.target if isinstance(node, Link) else None

    def _asked(self, name: str) -> Any:
        node = self._node(name)
        self.asked.append(posixpath.join(self._path, name))
        if isinstance(node, Unreadable) and node.kind == FILE:
            raise UnreadableError(node.why)
        return node

    def _node(self, name: str) -> Any:
        assert "/" not in name
        assert name not in {"", ".", ".."}
        return None if isinstance(self._tree, Unreadable) else self._tree.get(name)
