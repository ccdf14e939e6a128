"""A line on the terminal that counts, while a walk goes on whose end nobody knows beforehand."""

import shutil
import time
from typing import TextIO

from agent.health.text import clean, duration

_EVERY = 0.2
"""Seconds between changes of the line."""


class CounterLine:
    """Nothing is shown where the stream is no terminal."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream if stream.isatty() else None
        self._begun = self._shown_at = time.monotonic()

    def show(self, looked: int, said: str, place: str) -> None:
        """looked: how many so far; said: what came of it; place: where it is, foreign text."""
        now = time.monotonic()
        if self._stream is None or now - self._shown_at < _EVERY:
            return
        self._shown_at = now
        spent = now - self._begun
        came = f" {said}," if said else ""
        text = f"{looked:,} looked at,{came} {looked / spent:,.0f}/s, {duration(spent)}  "
        room = shutil.get_terminal_size().columns - 1
        text += clean(place, max(4, room - len(text)))
        self._stream.write(f"\r\x1b[K{text[:room]}")
        self._stream.flush()

    def clear(self) -> None:
        """Leave the line to what is printed next."""
        if self._stream is not None:
            self._stream.write("\r\x1b[K")
            self._stream.flush()
