"""Which checkpoints symbolic links lead to, told by their texts alone. Pure.

Paths are relative to the volume's root. No link is followed on the volume: what one leads to is
worked out from its text, and from those of the other links that were found on the way.
"""

import posixpath
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from agent.retention.facts import Run

_HOPS = 40
"""Links on the way of one link, as the kernel follows them (path_resolution(7))."""


@dataclass(frozen=True, slots=True)
class Link:
    """A symbolic link. text: what it says."""

    directory: str
    name: str
    text: str

    @property
    def path(self) -> str:
        """Its own."""
        return posixpath.join(self.directory, self.name)


@dataclass(frozen=True, slots=True)
class Place:
    """A directory with runs. names: all in it, checkpoints or not."""

    runs: tuple[Run, ...]
    names: frozenset[str]


def target(link: Link, mounted_at: str) -> str | None:
    """The path that a link leads to; None where it leaves the volume.

    mounted_at: the absolute path by which users know the volume's root.
    """
    text = link.text
    if text.startswith("/"):
        text = posixpath.normpath(text)
        if text != mounted_at and not text.startswith(mounted_at.rstrip("/") + "/"):
            return None
        path = posixpath.relpath(text, mounted_at)
    else:
        path = posixpath.normpath(posixpath.join(link.directory, text))
    if path == ".":
        return ""
    return None if path == ".." or path.startswith("../") else path


def linked(places: Mapping[str, Place], links: Sequence[Link], mounted_at: str) -> dict[str, Place]:
    """The places by their paths, with all that is linked marked in their runs."""
    targets = {link.path: target(link, mounted_at) for link in links}
    marks = _Marks(places)
    for link in sorted(links, key=lambda link: link.path):  # the same one is told each time
        path = _end(targets[link.path], targets)
        if path is not None:
            marks.lead(link, path)
        if link.directory in places:  # perhaps it names the checkpoint under another root
            marks.keep(link, link.directory, posixpath.basename(link.text.rstrip("/")))
    return {path: marks.marked(path) for path in places}


def _end(path: str | None, targets: Mapping[str, str | None]) -> str | None:
    """Where a path ends, with the links in it followed; None: outside, or nowhere."""
    for _ in range(_HOPS):
        if path is None:
            return None
        parts = path.split("/")
        for count in range(1, len(parts) + 1):
            above = "/".join(parts[:count])
            if above in targets:
                led = targets[above]
                rest = parts[count:]
                path = None if led is None else posixpath.join(led, *rest) if rest else led
                break
        else:
            return path
    return None


class _Marks:
    def __init__(self, places: Mapping[str, Place]) -> None:
        self._places = places
        self._units: dict[tuple[str, str], str] = {}
        self._whole: dict[str, str] = {}
        self._lost: dict[str, str] = {}

    def lead(self, link: Link, path: str) -> None:
        """It leads to path: to a run, a checkpoint, into one, or to what is gone from a run."""
        if path in self._places:
            self._whole.setdefault(path, link.path)
        parts = path.split("/") if path else []
        for count in range(len(parts)):
            above = "/".join(parts[:count])
            if above not in self._places:
                continue
            self.keep(link, above, parts[count])
            if parts[count] not in self._places[above].names:
                gone = f"the link {link.path} leads to {parts[count]}, which is not there"
                self._lost.setdefault(above, gone)

    def keep(self, link: Link, place: str, name: str) -> None:
        """It names a checkpoint of a place, if that has one of that name; its own don't count."""
        inside = posixpath.join(place, name)
        if link.path != inside and not link.path.startswith(f"{inside}/"):
            self._units.setdefault((place, name), link.path)

    def marked(self, path: str) -> Place:
        place = self._places[path]
        return replace(place, runs=tuple(self._run(run) for run in place.runs))

    def _run(self, run: Run) -> Run:
        units = tuple(
            replace(unit, linked=link) if (link := self._link(run.path, unit.names)) else unit
            for unit in run.units
        )
        return replace(
            run,
            units=units,
            linked=run.linked or self._whole.get(run.path, ""),
            unreadable=run.unreadable or self._lost.get(run.path, ""),
        )

    def _link(self, path: str, names: Iterable[str]) -> str:
        return next((self._units[path, n] for n in names if (path, n) in self._units), "")
