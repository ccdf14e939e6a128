"""Sizes and shares as people write them: `500GiB`, `2TB`, `10%`."""

import re
from typing import NamedTuple

_BINARY = {"KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30, "TiB": 1 << 40, "PiB": 1 << 50}
_DECIMAL = {"kB": 10**3, "MB": 10**6, "GB": 10**9, "TB": 10**12, "PB": 10**15}
_UNITS = _BINARY | _DECIMAL
_SIZE = re.compile(rf"(\d{{1,6}})({'|'.join(_UNITS)})", re.ASCII)
_SHARE = re.compile(r"(\d{1,3})%", re.ASCII)
_FRACTION = re.compile(r"\d*\.\d+(%|[kKMGTP]i?B)", re.ASCII)
_EXAMPLES = "e.g. 500GiB or 2TB"

LARGEST = 1 << 60
"""Bytes: larger than any volume there is."""


def parse(value: object) -> int:
    """Bytes, at least 1. Raises ValueError with a sentence for the user."""
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        raise ValueError(f"is not a size; write it with its unit, {_EXAMPLES}")
    if not isinstance(value, str):
        raise ValueError(f"is a number without a unit; write it with its unit, {_EXAMPLES}")
    if _FRACTION.fullmatch(value):
        raise ValueError(f"is a fraction; write it in whole numbers, {_EXAMPLES}")
    match = _SIZE.fullmatch(value)
    if match is None:
        known = ", ".join(_UNITS)
        raise ValueError(f"is not a size; write it with its unit ({known}), {_EXAMPLES}")
    size = int(match[1]) * _UNITS[match[2]]
    if not 1 <= size <= LARGEST:
        raise ValueError(f"is out of range; it may be 1kB to {text(LARGEST)}")
    return size


class Share(NamedTuple):
    """A part of a whole, in percent: 1 to 99."""

    percent: int

    def __str__(self) -> str:
        return f"{self.percent}%"


Amount = Share | int
"""Of a file system: a share of its size, or bytes."""


def amount(value: object) -> Amount:
    """A share or a size. Raises ValueError with a sentence for the user."""
    if isinstance(value, Share):
        return value
    if not isinstance(value, str) or not value.endswith("%"):
        try:
            return parse(value)
        except ValueError as error:
            raise ValueError(f"{error}, or a share, e.g. 10%") from None
    if _FRACTION.fullmatch(value):
        raise ValueError("is a fraction; write it in whole numbers, e.g. 10%")
    match = _SHARE.fullmatch(value)
    if match is None:
        raise ValueError("is not a share, e.g. 10%")
    if not 1 <= int(match[1]) <= 99:
        raise ValueError("is out of range; it may be 1% to 99%")
    return Share(int(match[1]))


def text(size: int) -> str:
    """In the largest unit that leaves a whole number, or two figures at least: "20TiB"."""
    best = f"{size}B"
    for unit, factor in _BINARY.items():
        if size >= factor and (size % factor == 0 or size >= 10 * factor):
            best = f"{size // factor}{unit}"
    return best
