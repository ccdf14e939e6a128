"""Has a worker look at the checkpoints of a volume and plan what may go."""

import contextlib
import os
from collections.abc import AsyncGenerator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from agent.errors import AgentError, ChildGone
from agent.retention.planned import RulePlan, RunPlan, Skipped
from agent.retention.policy import Rule
from agent.retention.rows import Joined
from agent.system.children import Children

PATIENCE = 180.0
"""Seconds without a sign of life; a volume with a silent server answers after 84 by default."""
LIBRARIES = str(Path(yaml.__file__).parent.parent)
"""Of PyYAML, for recognisers that meet YAML: workers begin with the standard library alone."""
THREADS = 8
"""Requests at once where each is a round trip over a network."""


@dataclass(frozen=True, slots=True)
class Wanted:
    """What is to be looked at.

    root: of the volume, on device (major, minor), None for any. mounted_at: the path that absolute
    links have for the root. within: directories to be looked at though no rule is about them.
    with_space: whether `free_space` counts; in_trash: bytes that the trash holds. sizes: of all.
    cache: a file in a directory of root's, for what does not change from one survey to the next;
    see accept().
    """

    root: str
    device: tuple[int, int] | None
    mounted_at: str
    rules: tuple[Rule, ...]
    threads: int
    within: tuple[str, ...] = ()
    with_space: bool = False
    in_trash: int = 0
    sizes: bool = False
    cache: str = ""


@dataclass(frozen=True, slots=True)
class Progress:
    """looked: how many names so far; at: a directory that is being looked at."""

    looked: int
    at: str


@dataclass(frozen=True, slots=True)
class Surveyed:
    """rules: in the order of those asked for. unruled: runs that none of them is about.

    failed: what could not be looked at, with the number of the rule, -1 for none.
    """

    rules: tuple[RulePlan, ...]
    unruled: tuple[RunPlan, ...]
    failed: tuple[tuple[int, Skipped], ...]


def accept(cache: str) -> None:
    """Have the next survey believe what this one saw: for those who know that it saw everything.

    With a brick down, files may be missing from listings. Raises OSError.
    """
    os.rename(f"{cache}.new", cache)


def request(wanted: Wanted) -> dict[str, object]:
    """As agent/worker/survey.py takes it."""
    return {
        "path": wanted.root,
        "device": wanted.device,
        "mounted_at": wanted.mounted_at,
        "rules": [rule.to_row() for rule in wanted.rules],
        "within": wanted.within,
        "space": wanted.with_space,
        "in_trash": wanted.in_trash,
        "sizes": wanted.sizes,
        "threads": wanted.threads,
        "libraries": LIBRARIES,
        "cache": wanted.cache,
    }


async def survey(children: Children, wanted: Wanted) -> AsyncGenerator[Progress | Surveyed, None]:
    """Progress, and at the end what was found.

    Raises AgentError: the root can't be read, or the volume hangs.
    """
    found = Found(wanted.rules)
    rows = children.stream("survey", wanted.root, request(wanted), PATIENCE)
    async with contextlib.aclosing(rows):
        try:
            async for row in rows:
                if "problem" in row:
                    raise AgentError("survey-failed", f"{row['path']}: {row['problem']}")
                if "looked" in row:
                    yield Progress(int(row["looked"]), str(row["at"]))
                else:
                    found.add(row)
        except TimeoutError as error:
            raise AgentError(
                "survey-hangs",
                f"{wanted.root}: nothing could be looked at for {PATIENCE:g} s",
                "see gluster-ml-agent status",
            ) from error
        except (KeyError, TypeError, ValueError) as error:
            raise ChildGone("the worker survey talks nonsense") from error
    yield found.whole()


@dataclass
class Found:
    """What a survey has said so far."""

    rules: tuple[Rule, ...]
    joined: Joined = field(default_factory=Joined)
    runs: dict[int, list[RunPlan]] = field(default_factory=dict)
    told: dict[int, list[str]] = field(default_factory=dict)
    failed: list[tuple[int, Skipped]] = field(default_factory=list)
    is_whole: bool = False

    def add(self, row: Mapping[str, Any]) -> None:
        """Raises KeyError, TypeError, ValueError."""
        if "whole" in row:
            self.is_whole = True
        elif "failed" in row:
            skipped = Skipped(str(row["failed"]), str(row["reason"]))
            self.failed.append((int(row["rule"]), skipped))
        elif "told" in row:
            self.told.setdefault(int(row["rule"]), []).append(str(row["told"]))
        elif (planned := self.joined.add(row)) is not None:
            self.runs.setdefault(planned[0], []).append(planned[1])

    def whole(self) -> Surveyed:
        """All of it. Raises ChildGone where it did not come to an end."""
        if not self.is_whole:
            raise ChildGone("the worker survey ended early")
        return Surveyed(
            rules=tuple(
                RulePlan(rule.path, tuple(self.runs.get(i, ())), tuple(self.told.get(i, ())))
                for i, rule in enumerate(self.rules)
            ),
            unruled=tuple(self.runs.get(-1, ())),
            failed=tuple(self.failed),
        )
