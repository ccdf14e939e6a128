"""Which checkpoints symbolic links lead to, told by their texts alone. Pure.

Paths are relative to the volume's root. No link is followed on the volume: what one leads to is
worked out from its text, and from those of the other links that were found on the way.
"""

import itertools
import posixpath
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from agent.retention.facts import Run

_HOPS = 40
"""Links on the way of one link, as the kernel follows them (path_resolution(7))."""
_PARTS = 1024
"""Names on the way of one link: what has more of them leads nowhere that people would use."""


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


def below(text: str, mounted_at: str) -> str | None:
    """An absolute path as one from the volume's root; None where it is not on the volume."""
    inside = mounted_at.rstrip("/") + "/"
    if text.startswith(inside):
        return text[len(inside) :]
    text = "/" + posixpath.normpath(text).lstrip("/")
    return text[len(inside) :] if f"{text}/".startswith(inside) else None


def linked(places: Mapping[str, Place], links: Sequence[Link], mounted_at: str) -> dict[str, Place]:
    """The places by their paths, with all that is linked marked in their runs."""
    ways = Ways(links, mounted_at)
    marks = _Marks(places)
    for link in sorted(links, key=lambda link: link.path):  # the same one is told each time
        path = ways.end(link)
        if path is not None:
            marks.lead(link, path)
        elif link.text.startswith("/"):
            marks.lead_by_name(link)
        if link.directory in places:  # perhaps it names the checkpoint under another root
            marks.keep(link, link.directory, posixpath.basename(link.text.rstrip("/")))
    return {path: marks.marked(path) for path in places}


class Ways:
    """Where paths lead, by the texts of the links on the way."""

    def __init__(self, links: Sequence[Link], mounted_at: str) -> None:
        self._texts = {link.path: link.text for link in links}
        self._deepest = max((path.count("/") + 1 for path in self._texts), default=0)
        self._mounted_at = mounted_at

    def end(self, link: Link) -> str | None:
        """Name by name, as the kernel goes; None: outside, or nowhere."""
        here = link.directory.split("/") if link.directory else []
        todo = [link.text]
        hops = 0
        for _ in range(_PARTS):
            if not todo:
                return "/".join(here)
            text = todo.pop()
            if text.startswith("/"):
                path = below(text, self._mounted_at)
                if path is None:
                    return None
                here, text = [], path
            name, _, rest = text.partition("/")
            if rest:
                todo.append(rest.lstrip("/"))
            hops += self._step(here, name, todo)
            if hops > _HOPS:
                return None
        return None

    def _step(self, here: list[str], name: str, todo: list[str]) -> bool:
        """One name further; whether a link is there, of which the text is to be gone next."""
        if name == "..":
            if here:
                here.pop()
            else:  # out of the volume, and perhaps back by the name it has
                above = posixpath.dirname(self._mounted_at)
                todo[:] = [posixpath.join(above, *reversed(todo))]
        elif name not in ("", "."):
            here.append(name)
            text = self._texts.get("/".join(here)) if len(here) <= self._deepest else None
            if text is not None:
                here.pop()
                todo.append(text)
                return True
        return False


class _Marks:
    def __init__(self, places: Mapping[str, Place]) -> None:
        self._places = places
        self._units: dict[tuple[str, str], str] = {}
        self._whole: dict[str, str] = {}
        self._lost: dict[str, str] = {}
        self._checkpoints: dict[tuple[str, str], list[str]] = {}
        self._runs: dict[tuple[str, str], list[str]] = {}
        for path, there in places.items():
            above, name = posixpath.split(path)
            self._runs.setdefault((posixpath.basename(above), name), []).append(path)
            for unit in (unit for run in there.runs for unit in run.units):
                for inside in unit.names:
                    self._checkpoints.setdefault((name, inside), []).append(path)

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

    def lead_by_name(self, link: Link) -> None:
        """It holds a path below another root, perhaps that by which a container has the volume.

        What it leads to is then told by the last two names that it shares with a run's directory
        and a checkpoint in that, or with a run's directory and the one above.
        """
        parts = link.text.split("/", _PARTS)[:_PARTS]
        for pair in itertools.pairwise(parts):
            kept = [self.keep(link, at, pair[1]) for at in self._checkpoints.get(pair, ())]
            if kept and all(kept):
                del self._checkpoints[pair]  # one user's links must not cost minutes
        *_, above, name = ["", "", *[part for part in parts if part]]
        for place in self._runs.pop((above, name), ()):
            self._whole.setdefault(place, link.path)

    def keep(self, link: Link, place: str, name: str) -> bool:
        """It names a checkpoint of a place, if that has one of that name; its own don't count."""
        inside = posixpath.join(place, name)
        if link.path == inside or link.path.startswith(f"{inside}/"):
            return False
        self._units.setdefault((place, name), link.path)
        return True

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
