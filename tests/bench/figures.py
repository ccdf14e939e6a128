"""Figures, their bounds, and the tables they are told in."""

import json
import statistics
from collections.abc import Sequence
from dataclasses import asdict, dataclass


@dataclass(frozen=True)
class Figure:
    """One measured value. at_most: the bound, None where the figure is only told.

    spread: the least and the greatest of the values behind a median, "" where there is one value.
    """

    name: str
    value: float
    unit: str
    at_most: float | None = None
    spread: str = ""

    @property
    def holds(self) -> bool:
        return self.at_most is None or self.value <= self.at_most

    @property
    def row(self) -> tuple[str, str, str, str, str]:
        """Name, value, spread, bound, verdict."""
        bound = "" if self.at_most is None else f"{_text(self.at_most)} {self.unit}".strip()
        verdict = "" if self.at_most is None else ("ok" if self.holds else "BROKEN")
        return self.name, f"{_text(self.value)} {self.unit}".strip(), self.spread, bound, verdict


HEAD = ("figure", "value", "least to most", "at most", "")


def median(
    name: str, seconds: Sequence[float], *, at_most: float | None = None, unit: str = "ms"
) -> Figure:
    """The median of times given in seconds; unit "ms" or "s", at_most in it."""
    scale = 1000 if unit == "ms" else 1
    values = [each * scale for each in seconds]
    spread = f"{_text(min(values))} to {_text(max(values))} ({len(values)})"
    return Figure(name, statistics.median(values), unit, at_most, spread)


def ratio(name: str, above: Figure, below: Figure, at_most: float | None = None) -> Figure:
    """One figure as a multiple of another of the same unit."""
    return Figure(name, above.value / below.value, "x", at_most)


def as_json(about: dict[str, str], figures: Sequence[Figure]) -> str:
    """For programs."""
    rows = [{**asdict(figure), "holds": figure.holds} for figure in figures]
    return json.dumps({"about": about, "figures": rows}, indent=1) + "\n"


def as_markdown(about: dict[str, str], figures: Sequence[Figure]) -> str:
    """For people."""
    rows = [HEAD, ("---",) * len(HEAD), *(figure.row for figure in figures)]
    table = "".join(f"| {' | '.join(row)} |\n" for row in rows)
    return ", ".join(f"{key} {value}" for key, value in about.items()) + f"\n\n{table}"


def as_text(figures: Sequence[Figure]) -> str:
    """For a terminal."""
    rows = [HEAD, *(figure.row for figure in figures)]
    widths = [max(len(row[i]) for row in rows) for i in range(len(HEAD))]
    lines = ("  ".join(cell.ljust(w) for cell, w in zip(row, widths, strict=True)) for row in rows)
    return "".join(f"{line.rstrip()}\n" for line in lines)


def _text(value: float) -> str:
    if value >= 100:
        return f"{value:.0f}"
    return f"{value:.1f}" if value >= 10 else f"{value:.2f}"
