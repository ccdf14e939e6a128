"""Durations as people write them: `90s`, `15m`, `2h`, `3d`, `1h30m`."""

import re
from dataclasses import dataclass

_UNITS = (("d", 86400), ("h", 3600), ("m", 60), ("s", 1))
_PATTERN = re.compile("".join(rf"(?:(\d{{1,6}}){unit})?" for unit, _ in _UNITS), re.ASCII)
_FRACTION = re.compile(r"\d*\.\d+[dhms]", re.ASCII)
_EXAMPLES = "e.g. 90s, 15m, 2h, 3d or 1h30m"
_WITH_UNIT = f"write it with its unit, {_EXAMPLES}"


def parse(value: object) -> float:
    """Seconds. Raises ValueError with a sentence for the user; a bare number is refused."""
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        raise ValueError(f"is not a duration; {_WITH_UNIT}")
    if not isinstance(value, str):
        raise ValueError(f"is a number without a unit; {_WITH_UNIT}")
    match = _PATTERN.fullmatch(value)
    if _FRACTION.fullmatch(value):
        raise ValueError(f"is a fraction; write it in whole numbers, {_EXAMPLES}")
    if match is None or not value:
        raise ValueError(f"is not a duration; {_WITH_UNIT}")
    return float(
        sum(int(n) * size for n, (_, size) in zip(match.groups(), _UNITS, strict=True) if n)
    )


def text(seconds: float) -> str:
    """The shortest spelling that parse() reads back, for whole seconds: 90 -> "1m30s"."""
    left, parts = int(seconds), []
    for unit, size in _UNITS:
        count, left = divmod(left, size)
        if count:
            parts.append(f"{count}{unit}")
    return "".join(parts) or "0s"


@dataclass(frozen=True, slots=True)
class Between:
    """The validator of a duration from low to high, in seconds; as text, what documents say of it.

    or_word: what may stand there too, and is read as None.
    """

    low: float
    high: float
    or_word: str = ""

    def __str__(self) -> str:
        bounds = f"{text(self.low)} to {text(self.high)}"
        return f"{self.or_word}, or {bounds}" if self.or_word else bounds

    def __call__(self, value: object) -> float | None:
        """Raises ValueError with a sentence for the user."""
        if self.or_word and value in (None, self.or_word):
            return None
        try:
            seconds = parse(value)
        except ValueError as error:
            raise ValueError(f"{error}, or {self.or_word}" if self.or_word else error) from None
        if not self.low <= seconds <= self.high:
            raise ValueError(f"is out of range; it may be {self}")
        return seconds
