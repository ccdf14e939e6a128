"""Small texts of frameworks, which anybody may have written: bounded, and no surprise in them.

Every function returns a value, None where there is nothing to read, or raises UnreadableError;
nothing else comes out of them, whatever the bytes are.
"""

import json
import math
import re
from collections.abc import Iterator, Mapping
from typing import Any

from agent.retention.view import UnreadableError, View

WORD = 4096
"""Bytes: no pointer to a checkpoint is longer."""
PARTS = 4_000_000
"""Of one JSON text: objects, arrays, commas. Small ones take fifty times their text in memory."""
LINES = 1_000_000
"""Of one log: each costs a microsecond even where nothing is in it."""
_DIGITS = re.compile("[0-9]{1,18}")
_JSON_SPACE = b" \t\r\n"


def digits(text: str) -> int | None:
    """The number, if the whole text is 1 to 18 ASCII digits: int() takes much more than that."""
    return int(text) if _DIGITS.fullmatch(text) else None


def step_of(value: object) -> int | None:
    """A step, as JSON says it: a whole number that no name could not carry."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < 10**18:
        return None
    return int(value) if value == int(value) else None


def finite(value: object) -> float | None:
    """A number that can be compared with others: no NaN, no infinity, no bool."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    try:
        number = float(value)
    except OverflowError:
        return None
    return number if math.isfinite(number) else None


def finite_numbers(said: object) -> dict[str, float]:
    """Of an object of a JSON text, the values that can be compared; none where it is no object."""
    valued = ((key, finite(value)) for key, value in said.items()) if isinstance(said, dict) else ()
    return {key: value for key, value in valued if value is not None}


def last_part(path: object) -> str:
    """The last name in a path that a framework recorded, perhaps under another root; "" if none."""
    if not isinstance(path, str):
        return ""
    name = re.split(r"[/\\]", path.rstrip("/\\")[-WORD:])[-1]
    return "" if name in {".", ".."} else name


def shown(text: str) -> str:
    """As it may stand in a finding: cut, quoted, nothing in it that a terminal would obey."""
    return repr(text if len(text) <= 80 else f"{text[:80]}...")


def word(view: View, name: str) -> str | None:
    """What a pointer says: the one name or number in that file, without the space around it.

    Raises UnreadableError, also where it is empty, no text, or more than one name.
    """
    raw = view.read(name, WORD)
    if raw is None:
        return None
    try:
        said = raw.decode("utf-8").strip()
    except UnicodeDecodeError:
        raise UnreadableError("is no text") from None
    if not said:
        raise UnreadableError("is empty")
    if "/" in said or said in {".", ".."} or not said.isprintable():
        raise UnreadableError("is no name")
    return said


def json_object(view: View, name: str) -> Mapping[str, Any] | None:
    """The JSON object in that file; NaN and infinities in it are None.

    Raises UnreadableError, also where it is no JSON, nested deeply, or of too many parts.
    """
    raw = view.read(name)
    if raw is None:
        return None
    value = json_value(raw)
    if not isinstance(value, dict):
        raise UnreadableError("is no JSON object")
    return value


def json_lines(view: View, name: str) -> Iterator[Mapping[str, Any]]:
    """The JSON objects of a log with one on each line; none where there is no such file.

    Lines that are none are passed over: one is just being written, or a crash has cut it.
    Raises UnreadableError where the file as a whole can't be read.
    """
    raw = view.read(name) or b""
    if raw.count(b"\n") > LINES:
        raise UnreadableError(f"has more than {LINES} lines")
    start = 0
    while start < len(raw):
        end = raw.find(b"\n", start)
        end = len(raw) if end < 0 else end
        try:
            value = json_value(raw[start:end])
        except UnreadableError:
            value = None
        if isinstance(value, dict):
            yield value
        start = end + 1


def json_value(raw: bytes) -> object:
    """What a JSON text says; NaN and infinities in it are None.

    Raises UnreadableError where it is no JSON, nested deeply, or of too many parts.
    """
    if not raw.strip(_JSON_SPACE):
        raise UnreadableError("is empty")
    if raw.count(b",") + raw.count(b"[") + raw.count(b"{") > PARTS:
        raise UnreadableError("is JSON of too many parts")
    try:
        return json.loads(raw.decode("utf-8"), parse_constant=_no_number)
    except ValueError:
        # Of no UTF-8, of no JSON, and of whole numbers of thousands of digits.
        raise UnreadableError("is no JSON") from None
    except RecursionError:
        raise UnreadableError("is JSON nested too deeply") from None


def _no_number(_name: str) -> None:
    """What NaN, Infinity and -Infinity are read as."""
