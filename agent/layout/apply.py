"""One pass over a mount's layout: look, decide, act, and look again at what others changed."""

import errno
from asyncio import CancelledError
from collections import deque
from collections.abc import AsyncGenerator, Callable, Iterator
from contextlib import aclosing
from dataclasses import dataclass, field
from typing import Protocol

from agent.config.identities_schema import IdentitiesConfig
from agent.config.layout_schema import LayoutConfig
from agent.errors import ChildGone
from agent.layout.declared import Names, declared, run_directories
from agent.layout.names import pattern
from agent.layout.plan import Action, Make, Mend, Plan, failure_words, odd_names, plan, shortfall
from agent.layout.requests import Order, ask, asked, order, portions
from agent.layout.seen import Done, Failure, OddNames, Row, Seen
from agent.model.mount import MountEntry
from agent.system.children import Children

ROUNDS = 4
"""Looks in one pass: what others change meanwhile is looked at again, not for ever."""


@dataclass(slots=True)
class Outcome:
    """What a pass came to.

    made, mended: what was done, in order. findings: what is not as declared, or could not be done.
    names: listings by directory, to be handed to the next pass. failed: why the pass came to
    nothing, or broke off; held: because another host has the volume's lock.
    """

    made: list[str] = field(default_factory=list)
    mended: list[Mend] = field(default_factory=list)
    findings: list[str] = field(default_factory=list)
    names: dict[str, OddNames] = field(default_factory=dict)
    failed: str = ""
    held: bool = False


class Told(Protocol):
    """Who hears what was done, as soon as it was, and also where the pass breaks off."""

    def made(self, paths: list[str]) -> None:
        """These directories were made."""

    def mended(self, mend: Mend, *, known: bool) -> None:
        """A directory was mended; known: False where it may have been, or half of it."""


class Pass:
    """One pass through a mount of its own. Raises ChildGone, Busy, OSError, as Children do.

    allowed: asked before each portion of actions, whether the mount's verdict still allows them.
    """

    def __init__(
        self,
        layout: LayoutConfig,
        identities: IdentitiesConfig,
        children: Children,
        entry: MountEntry,
        allowed: Callable[[], bool],
        told: Told,
    ) -> None:
        self._layout = layout
        self._declared = declared(layout, identities)
        self._names = Names(identities)
        self._children = children
        self._entry = entry
        self._allowed = allowed
        self._told = told
        self._tried: dict[str, str] = {}

    async def run(self, known: dict[str, OddNames]) -> Outcome:
        """known: the listings of the last pass; a directory that did not change is not listed."""
        outcome = Outcome(names=dict(known))
        for _ in range(ROUNDS):
            decided = await self._look(outcome)
            if decided is None:
                return outcome
            if decided.actions and not await self._act(decided.actions, outcome):
                return outcome
            outcome.findings = [*decided.findings, *filter(None, self._tried.values())]
            if all(action.want.path in self._tried for action in decided.actions):
                break
        else:
            outcome.findings.append("directories are changed by others as fast as they are made")
        if template := self._layout.run_names:
            told = (odd_names(found, template) for found in outcome.names.values())
            outcome.findings += filter(None, told)
        return outcome

    async def _look(self, outcome: Outcome) -> Plan | None:
        """What is to be done now; None: nobody can tell, and the outcome says why."""
        seen: dict[str, Seen] = {}
        for request in self._requests(outcome):
            async with aclosing(self._ask(request)) as rows:
                async for found in rows:
                    match found:
                        case Seen():
                            seen[found.path] = found
                        case OddNames():
                            outcome.names[found.path] = found
                        case Failure():
                            outcome.failed = failure_words(found)
                            return None
        untried = [want for want in self._declared if want.path not in self._tried]
        return plan(untried, seen, self._names, repair=self._layout.repair)

    def _requests(self, outcome: Outcome) -> Iterator[Order]:
        for portion in portions(map(asked, self._declared)):
            yield {"do": "look", "directories": portion, "names": []}
        for portion in portions(self._listings(outcome)):
            yield {"do": "look", "directories": [], "names": portion}

    def _listings(self, outcome: Outcome) -> list[Order]:
        wanted = dict.fromkeys(run_directories(self._layout))
        outcome.names = {path: found for path, found in outcome.names.items() if path in wanted}
        if self._layout.run_names is None:
            return []
        fits = pattern(self._layout.run_names)
        stamps = {path: found.stamp for path, found in outcome.names.items()}
        return [{"path": p, "pattern": fits, "stamp": stamps.get(p, "")} for p in wanted]

    async def _act(self, actions: tuple[Action, ...], outcome: Outcome) -> bool:
        """Do what was decided; False where the pass is over."""
        by_path = {action.want.path: action for action in actions}
        for portion in portions(map(order, actions)):
            if not self._allowed():
                outcome.failed = "the verdict on the mount does not allow it any more"
                return False
            begun = len(outcome.made)
            try:
                failure = await self._carry_out(portion, by_path, outcome)
            finally:
                if made := outcome.made[begun:]:
                    self._told.made(made)
            if failure is not None:
                outcome.failed, outcome.held = failure_words(failure), failure.held
                return False
        return True

    async def _carry_out(
        self, orders: list[Order], by_path: dict[str, Action], outcome: Outcome
    ) -> Failure | None:
        waiting = deque(by_path[str(each["path"])] for each in orders)
        try:
            async with aclosing(self._ask({"do": "act", "actions": orders})) as rows:
                async for done in rows:
                    if isinstance(done, Failure):
                        if done.errno == errno.ETIMEDOUT:
                            self._broke_off(waiting)
                        return done
                    if isinstance(done, Done):
                        self._did(waiting.popleft(), done, outcome)
        except (ChildGone, CancelledError):
            self._broke_off(waiting)
            raise
        return None

    def _broke_off(self, waiting: deque[Action]) -> None:
        if waiting and isinstance(waiting[0], Mend):
            self._told.mended(waiting[0], known=False)

    def _did(self, action: Action, done: Done, outcome: Outcome) -> None:
        """A change meanwhile is looked at again; all else is done once in a pass."""
        if done.result == "changed":
            return
        self._tried[action.want.path] = shortfall(action.want, done, self._names)
        if isinstance(action, Make) and done.result == "ok":
            outcome.made.append(action.want.path)
        elif isinstance(action, Mend) and done.result in ("ok", "half"):
            outcome.mended.append(action)
            self._told.mended(action, known=done.result == "ok")

    def _ask(self, request: Order) -> AsyncGenerator[Row, None]:
        return ask(self._children, self._entry, request)
