"""Text for people and logs: foreign text made harmless, times and sizes made readable."""

import textwrap
from datetime import UTC, datetime, tzinfo

WIDTH = 80
"""Columns of what is printed for people."""

_COLOURS = ("\x1b[32m", "\x1b[33m", "\x1b[1;31m", "\x1b[33m")
_PLAIN = "\x1b[0m"


def clean(text: object, limit: int = 400) -> str:
    r"""Foreign text (a file name, another program's log line, a comm) as one harmless line.

    Whatever a terminal or a log reader could act on (control characters, line separators,
    direction overrides) is shown as \xNN or \uNNNN, and undecodable bytes as \xNN. At most
    `limit` characters come back, the last three "..." where something was cut. Cleaning twice
    changes nothing, so the layers need not know what the others did.
    """
    source = str(text)
    shown = "".join(char if char.isprintable() else _escaped(char) for char in source[: limit + 1])
    return shown if len(shown) <= limit else shown[: limit - 3] + "..."


def _escaped(char: str) -> str:
    code = ord(char)
    if 0xDC80 <= code <= 0xDCFF:  # a byte that os.fsdecode could not decode
        code -= 0xDC00
    if code <= 0xFF:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code <= 0xFFFF else f"\\U{code:08x}"


def duration(seconds: float) -> str:
    """A length of time to two figures: "95 s", "12 min", "3 h 5 min", "2 d 4 h"."""
    whole = max(0, round(seconds))
    if whole < 120:
        return f"{whole} s"
    minutes = whole // 60
    if minutes < 120:
        return f"{minutes} min"
    hours, minutes = divmod(minutes, 60)
    if hours < 48:
        return f"{hours} h {minutes} min" if minutes else f"{hours} h"
    days, hours = divmod(hours, 24)
    return f"{days} d {hours} h" if hours else f"{days} d"


def size(count: int) -> str:
    """Bytes in binary units: "512 B", "1.5 TiB"."""
    value = float(count)
    for unit in ("B", "KiB", "MiB", "GiB", "TiB", "PiB"):
        if value < 1024:
            return f"{value:.0f} {unit}" if unit == "B" or value >= 100 else f"{value:.1f} {unit}"
        value /= 1024
    return f"{value:.1f} EiB"


def plural(count: int, noun: str, several: str = "") -> str:
    """The count with its noun, as in "1 error" and "3 errors"; several: where it is no mere s."""
    return f"{count} {noun if count == 1 else several or f'{noun}s'}"


def clock(time: float, now: float, zone: tzinfo | None = None) -> str:
    """A moment for people: "14:02", or with its date where it is not today's.

    zone: None is the host's local time.
    """
    moment = datetime.fromtimestamp(time, UTC).astimezone(zone)
    today = datetime.fromtimestamp(now, UTC).astimezone(zone).date()
    return moment.strftime("%H:%M" if moment.date() == today else "%Y-%m-%d %H:%M")


def wrapped(text: str, first: str, rest: str) -> list[str]:
    """Foreign text as lines of 80 columns; first, rest: what the lines begin with.

    A word longer than that (a path to copy) stays whole.
    """
    return textwrap.wrap(
        clean(text, 2000),
        WIDTH,
        initial_indent=first,
        subsequent_indent=rest,
        break_long_words=False,
        break_on_hyphens=False,
    )


def painted(text: str, code: int, *, colour: bool) -> str:
    """The text in the colour of an exit code of `status`, 0 to 3; as it is without colour."""
    return f"{_COLOURS[code]}{text}{_PLAIN}" if colour else text
