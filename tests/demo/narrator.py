"""Tells the demo: a heading for each act, short lines, figures; and what was to be seen."""

import re
import sys
import textwrap
import time

WIDTH = 96


class NotAsExpected(Exception):
    """The agent did not do what it is there for."""


class Narrator:
    """Writes to stdout, in colour only where that is a terminal."""

    def __init__(self) -> None:
        self._began = time.monotonic()
        self._acts = 0
        self._colour = sys.stdout.isatty()

    def act(self, title: str) -> None:
        """A new act begins."""
        self._acts += 1
        at = time.monotonic() - self._began
        self._say(f"\n{self._bold(f'{self._acts}. {title}')}  [at {at:.0f} s]")

    def tell(self, what: str) -> None:
        """One statement."""
        self._wrapped(what, "   ")

    def figure(self, what: str, seconds: float) -> None:
        """One measured time."""
        shown = f"{seconds * 1000:.0f} ms" if seconds < 1 else f"{seconds:.1f} s"
        self._say(f"   {what + ' ':.<70} {self._bold(f'{shown:>8}')}")

    def quote(self, text: str) -> None:
        """What a program said."""
        for line in text.rstrip().splitlines():
            self._wrapped(line, "   | ")

    def expect(self, what: str, *, true: bool, but: object = "") -> None:
        """A line of what must be so. Raises NotAsExpected."""
        if not true:
            raise NotAsExpected(f"{what}: {but}" if but != "" else what)
        self._say(f"   ok: {what}")

    def _wrapped(self, text: str, indent: str) -> None:
        own = text[: len(text) - len(text.lstrip())]
        lines = textwrap.wrap(
            text,
            WIDTH,
            initial_indent=indent,
            subsequent_indent=f"{indent}{own}    ",
            break_on_hyphens=False,
        )
        self._say("\n".join(lines) or indent.rstrip())

    def _bold(self, text: str) -> str:
        return f"\x1b[1m{text}\x1b[0m" if self._colour else text

    def _say(self, line: str) -> None:
        encoding = sys.stdout.encoding or "ascii"
        print(line.encode(encoding, "replace").decode(encoding), flush=True)


def journal_line(text: str) -> str:
    """A line of `journalctl -o short-precise` without its host and process."""
    return re.sub(r"^(\w+ +\d+ )([\d:]+\.\d{3})\d* \S+ \S+?: ", r"\2 ", text)
