"""What can be wrong in a configuration, and where."""

from collections.abc import Sequence
from dataclasses import dataclass

from agent.errors import AgentError

Place = tuple[str | int, ...]
"""Keys and list positions from the top of the file: ("mounts", "a", "servers", 1)."""


class Several(ValueError):
    """More than one thing wrong inside one value: (place below it, sentence) each."""

    def __init__(self, found: Sequence[tuple[Place, str]]) -> None:
        super().__init__("; ".join(message for _, message in found))
        self.found = tuple(found)


@dataclass(frozen=True, slots=True, order=True)
class Problem:
    """One refusal or warning. line, column: from 1; where: dotted, "" for the whole file."""

    line: int
    column: int
    where: str
    message: str

    def text(self, file: str) -> str:
        """The one line that people see."""
        where = f"{self.where}: " if self.where else ""
        return f"{file}:{self.line}:{self.column}: {where}{self.message}"


class ConfigInvalid(AgentError):
    """The file can't be taken. problems: sorted by line, never empty; file: as to be shown."""

    def __init__(self, file: str, problems: Sequence[Problem]) -> None:
        self.file = file
        self.problems = tuple(problems)
        super().__init__("config-invalid", "\n".join(self.lines))

    @property
    def lines(self) -> tuple[str, ...]:
        """One line for each problem, with file, line and column."""
        return tuple(problem.text(self.file) for problem in self.problems)


class ConfigUnreadable(AgentError):
    """There is no text to read: the file is gone, is no file, is too large, can't be opened."""

    def __init__(self, file: str, why: str, hint: str = "") -> None:
        super().__init__("config-unreadable", f"{file}: {why}", hint)
        self.lines = (str(self),)
