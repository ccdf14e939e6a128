"""What the threads of a survey find, in one place."""

import errno
import threading
import time
from collections.abc import Callable, Iterable

from agent.retention.links import Link, Place
from agent.retention.view import LINK, Entry
from agent.worker.known import Note
from agent.worker.view import Directory, MetError

MOST_LINKS = 100_000
MOST_TEXT = 32 << 20
"""Characters of what all of them say, and their names."""
_TOLD = 1000
"""Failures that are told; those of one user must not fill this host's memory."""
_INTERVAL = 0.25
"""Seconds between signs of life."""


class Level:
    """A directory that several jobs need: closed once the last of them is done."""

    def __init__(self, view: Directory) -> None:
        self.view = view
        self._users = 1
        self._lock = threading.Lock()

    def use(self) -> "Level":
        """For one more."""
        with self._lock:
            self._users += 1
        return self

    def release(self) -> None:
        """By one of them."""
        with self._lock:
            self._users -= 1
            last = self._users == 0
        if last:
            self.view.close()


class Gathered:
    """places: by path; rules, inodes: of these. failed: (rule, path, reason).

    blind: why links may have been missed, "" if none was. tell: called with a count of names and a
    path now and then.
    """

    def __init__(self, tell: Callable[[int, str], None]) -> None:
        self.places: dict[str, Place] = {}
        self.rules: dict[str, int] = {}
        self.inodes: dict[str, int] = {}
        self.links: list[Link] = []
        self._text = 0
        self.failed: list[tuple[int, str, str]] = []
        self.blind = ""
        self._tell = tell
        self.lock = threading.Lock()
        self._looked = 0
        self._told_at = time.monotonic()

    def looked(self, names: int, path: str) -> None:
        """So many more."""
        with self.lock:
            self._looked += names
            now = time.monotonic()
            if now - self._told_at >= _INTERVAL:
                self._told_at = now
                self._tell(self._looked, path)

    def place(self, view: Directory, rule: int, place: Place) -> None:
        """A directory with runs in it."""
        with self.lock:
            self.places[view.path] = place
            self.rules[view.path] = rule
            self.inodes[view.path] = view.stat.inode

    def links_in(self, view: Directory, entries: Iterable[Entry], note: Note) -> None:
        """The symbolic links among the entries of a directory."""
        for entry in entries:
            if entry.kind == LINK and (text := view.target(entry.name)) is not None:
                link = Link(view.path, entry.name, text)
                note.add(link)
                self.link(link)

    def link(self, link: Link) -> None:
        """A symbolic link."""
        with self.lock:
            self._text += len(link.name) + len(link.text)
            if len(self.links) >= MOST_LINKS:
                self.blind = f"there are more than {MOST_LINKS} symbolic links"
            elif self._text > MOST_TEXT:
                self.blind = f"symbolic links say more than {MOST_TEXT} characters"
            else:
                self.links.append(link)

    def fail(self, rule: int, path: str, error: MetError) -> None:
        """What of the rules' directories could not be looked at; what is gone is not told."""
        if error.number == errno.ENOENT:
            return
        with self.lock:
            if len(self.failed) < _TOLD:
                self.failed.append((rule, path, error.reason))
            if error.is_ill:
                self.blind = self.blind or f"{path}: {error.reason}"
