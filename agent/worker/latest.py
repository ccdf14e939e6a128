"""One-shot: finds the checkpoint to resume a run from.

Request: {"path", "threads", "libraries"}. path: of the run's directory, or of that with the stem
of one of the runs in it. Answer: {"latest": path, "note", "passed": [[name, why]]}, or {"none":
why, "passed"}, or {"several": [stem or format]}, or {"problem", "path"}.
"""

import os
import sys

from agent.retention.facts import Run
from agent.retention.formats import sound
from agent.retention.formats.registry import FAMILIES
from agent.retention.latest import tried
from agent.retention.view import Entry
from agent.worker import channel, place
from agent.worker.crew import Crew
from agent.worker.descent import GivenUpError
from agent.worker.gather import Gathered, Level
from agent.worker.known import Known, Note
from agent.worker.search import DEEPEST, Candidates, Search
from agent.worker.view import Directory, MetError, opened

_TOLD = 100
"""Checkpoints that are passed over and told."""
Row = dict[str, object]


def main() -> int:
    """Answer the one request."""
    request = channel.request()
    path = str(request["path"])
    sys.path.append(str(request["libraries"]))
    try:
        view, stem = _opened(path)
        row = _answer(view, stem, int(str(request["threads"])))
        if "latest" in row:
            above = path if stem is None else os.path.dirname(path)
            row["latest"] = os.path.join(above, str(row["latest"]))
        channel.emit(row)
    except OSError as error:
        channel.emit({"problem": error.strerror, "path": path})
    except MetError as error:
        channel.emit({"problem": str(error), "path": path})
    except GivenUpError as error:
        problem = f"{os.strerror(error.errno)} when {error.doing}"
        channel.emit({"problem": problem, "path": path})
    channel.done()
    return 0


def _opened(path: str) -> tuple[Directory, str | None]:
    """The directory, and the stem if it stands in the path. Raises OSError."""
    path = os.path.realpath(path)
    above, name = os.path.split(path)
    stem = None
    try:
        descriptor = place.open_path(path)
    except (FileNotFoundError, NotADirectoryError):
        descriptor, stem = place.open_path(above), name
    try:
        return opened(descriptor, ""), stem
    finally:
        os.close(descriptor)


def _answer(view: Directory, stem: str | None, threads: int) -> Row:
    """Raises MetError, GivenUpError."""
    runs = [run for run in _runs(view, threads) if run.units and stem in (None, run.stem)]
    if not runs:
        what = "no checkpoints of a known format are there"
        if stem is not None:
            what = f"there is no such directory, and no checkpoint beside it is named {stem}"
        return {"none": what, "passed": []}
    if len(runs) > 1:
        return {"several": [run.stem or run.family for run in runs][:_TOLD]}
    (run,) = runs
    passed: list[tuple[str, str]] = []
    for unit, why in tried(run):
        for name in unit.names:
            entry = view.entries()[name]
            reason = why or _unfinished(view, run.family, entry) or sound.unsound(view, entry)
            if not reason:
                return {"latest": name, "note": run.records.leave, "passed": passed[:_TOLD]}
            passed.append((name, reason))
    return {"none": "none of its checkpoints is complete", "passed": passed[:_TOLD]}


def _unfinished(view: Directory, family: str, entry: Entry) -> str:
    """What a name lacks by its own evidence: a unit is complete by its model, its state aside."""
    for each in FAMILIES:
        named = each.named(entry) if each.name == family else None
        if named is not None:
            evidence = each.evidence(view, named)
            return "" if evidence.complete else evidence.why
    return ""


def _runs(view: Directory, threads: int) -> tuple[Run, ...]:
    crew = Crew(threads)
    gathered = Gathered(lambda _looked, _at: None)
    try:
        search = Search(crew, gathered, FAMILIES, {}, {}, Known(""))
        # As deep as a search gets: what is below the run is nobody's business here.
        found = Candidates(search, Level(view), 0, DEEPEST, Note(view, []))
        for entry in view.entries().values():
            found.take(entry)
        found.look()
        crew.finish()
    finally:
        crew.close()
    there = gathered.places.get("")
    return there.runs if there else ()
