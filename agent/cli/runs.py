"""Runs and their checkpoints as tables for a terminal."""

import textwrap
from collections.abc import Iterable, Iterator, Sequence

from agent.health.text import clean, size
from agent.retention.planned import RunPlan, Skipped

_LEAST = 30
"""Columns for reasons, however narrow the terminal is."""
_NAMES = 48
"""Characters of a name before it breaks the table."""
Cells = tuple[str, str, str, str, str]
_HEAD: Cells = ("STEP", "CHECKPOINT", "SIZE", "", "WHY")


def table(run: RunPlan, goes: str, width: int) -> Iterator[str]:
    """The lines of one run. goes: the word for what is planned to go; width: 0 for no wrapping."""
    yield f"{clean(run.path) or '.'}  {clean(run.format)}"
    cells = list(_cells(run, goes))
    widths = [max(len(row[i]) for row in (_HEAD, *cells)) for i in range(4)]
    for row in (_HEAD, *cells) if cells else ():
        yield from _row(row, widths, width)
    yield from skipped(run.path, run.skipped)
    for finding in run.findings:
        yield f"  note: {clean(finding, 1000)}"


def skipped(path: str, entries: Iterable[Skipped]) -> Iterator[str]:
    """What is left alone, or could not be looked at; path: of the run."""
    for each in entries:
        name = each.path.removeprefix(f"{path}/") if each.path != path else ""
        where = f"{clean(name)}: " if name else ""
        yield f"  skipped: {where}{clean(each.reason, 1000)}"


def unread(failed: Skipped) -> dict[str, object]:
    """What could not be looked at, in the form of a run, for programs."""
    return RunPlan(failed.path, "", skipped=(failed,)).to_row() | {"format": None}


def _cells(run: RunPlan, goes: str) -> Iterator[Cells]:
    found: list[tuple[int | None, Cells]] = []
    for kept in run.keep:
        row = _named(run, kept.path, kept.step)
        found.append((kept.step, (*row, "", "stays", "; ".join(kept.reasons))))
    for gone in run.delete:
        row = _named(run, gone.path, gone.step)
        bytes_ = "" if gone.size is None else size(gone.size)
        found.append((gone.step, (*row, bytes_, goes, "; ".join(gone.reasons))))
    for _, cells in sorted(found, key=lambda each: (each[0] is None, each[0] or 0, each[1][1])):
        yield cells


def _named(run: RunPlan, path: str, step: int | None) -> tuple[str, str]:
    name = path.removeprefix(f"{run.path}/") if run.path else path
    return ("-" if step is None else str(step), clean(name, _NAMES))


def _row(row: Sequence[str], widths: Sequence[int], width: int) -> Iterator[str]:
    step, name, bytes_, word, why = row
    begin = (
        f"  {step:>{widths[0]}}  {name:<{widths[1]}}  {bytes_:>{widths[2]}}  {word:<{widths[3]}}  "
    )
    why = clean(why, 2000)
    if not width:
        yield begin + why
        return
    room = max(_LEAST, width - len(begin))
    lines = textwrap.wrap(why, room, break_on_hyphens=False) or [""]
    yield (begin + lines[0]).rstrip()
    for line in lines[1:]:
        yield " " * len(begin) + line
