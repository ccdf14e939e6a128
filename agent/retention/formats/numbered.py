"""What families share whose checkpoints are directories with the step in the name."""

import re
from collections.abc import Callable, Mapping

from agent.retention.facts import Evidence, Named, Records
from agent.retention.formats.text import digits, shown, word
from agent.retention.view import DIRECTORY, FILE, Entry, UnreadableError, View


def numbered(entry: Entry, family: str, prefix: str, series: str = "step") -> Named | None:
    """PREFIX<digits>, and nothing else, of a directory."""
    if entry.kind != DIRECTORY or not entry.name.startswith(prefix):
        return None
    number = digits(entry.name[len(prefix) :])
    if number is None:
        return None
    return Named(entry.name, family, series, number, number if series == "step" else None)


def look(run: View, named: Named, judge: Callable[[View], Evidence]) -> Evidence:
    """What judge says of the checkpoint's directory; broken where it can't be read."""
    try:
        checkpoint = run.below(named.name)
        if checkpoint is None:
            return Evidence(genuine=False, complete=False, why="is gone")
        return judge(checkpoint)
    except UnreadableError as error:
        return Evidence(genuine=False, complete=False, why=f"can't be read: {error}", broken=True)


def says(foreign: str, *unfinished: str) -> Evidence:
    """Why nothing shows that the framework wrote it, and what it lacks; "" for what isn't so.

    What is not genuine and lacks nothing is whole, and somebody else's. What lacks both may be the
    rest of an interrupted save.
    """
    lacks = next(filter(None, unfinished), "")
    return Evidence(genuine=not foreign, complete=not lacks, why=foreign or lacks)


def has_file(entries: Mapping[str, Entry], pattern: re.Pattern[str]) -> bool:
    """Whether a regular file has a name that matches as a whole."""
    return any(e.kind == FILE and pattern.fullmatch(e.name) for e in entries.values())


def has_directory(entries: Mapping[str, Entry], name: str) -> bool:
    """Whether that name is a directory: links and files are not followed, and do not count."""
    return name in entries and entries[name].kind == DIRECTORY


def tracked(view: View, tracker: str) -> int | None:
    """The number in a tracker file; None where there is no such file.

    Raises UnreadableError, also where it says no number.
    """
    said = word(view, tracker)
    if said is None:
        return None
    number = digits(said)
    if number is None:
        raise UnreadableError(f"says {shown(said)}, which is no number")
    return number


def by_tracker(run: View, tracker: str, directory: Callable[[int], str]) -> Records:
    """Records of a run whose tracker file holds the number of the newest complete checkpoint.

    directory: the name that belongs to a number. Without a tracker, with one that can't be read,
    and with one that names what is gone, the run is left alone.
    """
    try:
        number = tracked(run, tracker)
        if number is None:
            return Records(leave=f"there is no {tracker}: nothing says what is complete")
        name = directory(number)
        if not has_directory(run.entries(), name):
            return Records(leave=f"{tracker} names {name}, which is gone")
    except UnreadableError as error:
        return Records(leave=f"{tracker} can't be read: {error}")
    return Records(pointed={name: tracker}, upto=number)
