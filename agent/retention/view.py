"""A directory as recognisers see it: names, kinds, and small files that may say anything.

Recognisers decide on values alone. What stands behind a view (descriptors in the worker, a mapping
in tests) opens nothing by following links, reads regular files only, and bounds what it reads.
"""

from collections.abc import Mapping
from typing import NamedTuple, Protocol

FILE, DIRECTORY, LINK, OTHER = "file", "directory", "link", "other"

READABLE = 64 << 20
"""Bytes: a larger record is not read, and keeps its run."""


class Entry(NamedTuple):
    """One name in a directory, by what the directory itself says of it."""

    name: str
    kind: str
    """FILE, DIRECTORY, LINK or OTHER."""


class UnreadableError(Exception):
    """A file that is there and can't be read as what it should be; the text says why."""


class View(Protocol):
    """One directory; each question is asked of the volume at most once."""

    def entries(self) -> Mapping[str, Entry]:
        """By name. Raises UnreadableError."""

    def below(self, name: str) -> "View | None":
        """The directory of that name; None where there is none (a link is none).

        Raises UnreadableError.
        """

    def size(self, name: str) -> int | None:
        """Bytes of the regular file of that name; None where there is none."""

    def read(self, name: str, limit: int = READABLE) -> bytes | None:
        """The regular file of that name, None where there is none.

        Raises UnreadableError, also where it is longer than limit bytes or not regular.
        """

    def head(self, name: str, length: int) -> bytes | None:
        """Its first bytes, at most length of them; None where there is no such regular file.

        Raises UnreadableError.
        """

    def tail(self, name: str, length: int) -> bytes | None:
        """Its last bytes, at most length of them; otherwise as head()."""

    def target(self, name: str) -> str | None:
        """What the symbolic link of that name says, as it stands; None where it is no link."""
