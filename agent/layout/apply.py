"""One pass over a mount's layout: look, decide, act, and look again at what others changed."""

import errno
import hashlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import TypeVar

from agent.codec import encode
from agent.config.identities_schema import IdentitiesConfig
from agent.config.layout_schema import LayoutConfig
from agent.errors import ChildGone
from agent.layout import acl
from agent.layout.acl import Acl
from agent.layout.declared import Declared, Names, declared, run_directories
from agent.layout.names import pattern
from agent.layout.plan import Action, Make, Mend, Plan, failure_words, odd_names, plan, shortfall
from agent.layout.seen import Done, Failure, OddNames, Row, Seen, Turn, row
from agent.model.mount import MountEntry
from agent.system.children import Children

DEADLINE = 60.0
"""Seconds for one request to the worker: at most PORTION directories."""
PORTION = 200
"""Directories in one request, which is one line on the channel."""
ROUNDS = 4
"""Looks in one pass: what others change meanwhile is looked at again, not for ever."""

_KIND = "layout"

T = TypeVar("T")


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
    ) -> None:
        self._layout = layout
        self._declared = declared(layout, identities)
        self._names = Names(identities)
        self._children = children
        self._entry = entry
        self._allowed = allowed
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
        requests: list[dict[str, object]] = [
            {"do": "look", "directories": [_asked(want) for want in portion], "names": []}
            for portion in _portions(self._declared)
        ]
        if listings := self._listings(outcome):
            requests.append({"do": "look", "directories": [], "names": listings})
        for request in requests:
            for found in await self._ask(request):
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

    def _listings(self, outcome: Outcome) -> list[dict[str, str]]:
        wanted = run_directories(self._layout)
        outcome.names = {path: found for path, found in outcome.names.items() if path in wanted}
        if self._layout.run_names is None:
            return []
        fits = pattern(self._layout.run_names)
        stamps = {path: found.stamp for path, found in outcome.names.items()}
        return [{"path": p, "pattern": fits, "stamp": stamps.get(p, "")} for p in wanted]

    async def _act(self, actions: tuple[Action, ...], outcome: Outcome) -> bool:
        """Do what was decided; False where the pass is over."""
        by_path = {action.want.path: action for action in actions}
        for portion in _portions(actions):
            if not self._allowed():
                outcome.failed = "the verdict on the mount does not allow it any more"
                return False
            orders = [_order(each) for each in portion]
            for done in await self._ask({"do": "act", "actions": orders}):
                if isinstance(done, Failure):
                    outcome.failed, outcome.held = failure_words(done), done.held
                    return False
                if isinstance(done, Done) and done.path in by_path:
                    self._did(by_path[done.path], done, outcome)
        return True

    def _did(self, action: Action, done: Done, outcome: Outcome) -> None:
        """A change meanwhile is looked at again; all else is done once in a pass."""
        if done.result == "changed":
            return
        self._tried[done.path] = shortfall(action.want, done, self._names)
        if done.result == "ok" and isinstance(action, Make):
            outcome.made.append(done.path)
        elif done.result == "ok" and isinstance(action, Mend):
            outcome.mended.append(action)

    async def _ask(self, request: dict[str, object]) -> list[Row]:
        return await ask(self._children, self._entry, request)


async def turn(children: Children, entry: MountEntry, take: Turn | None = None) -> Turn | Failure:
    """Word of the last pass on a mounted volume; take: leave this first.

    To ask, any mount will do: what is known late there costs a pass at most. Raises ChildGone,
    Busy, OSError.
    """
    request: dict[str, object] = {"do": "turn", "take": None if take is None else encode(take)}
    for found in await ask(children, entry, request):
        if isinstance(found, Turn | Failure):
            return found
    return Turn()


async def ask(children: Children, entry: MountEntry, request: dict[str, object]) -> list[Row]:
    """Have a worker do it on that mount. Raises ChildGone, Busy, OSError."""
    whole = {**request, "path": entry.path, "device": list(entry.device)}
    answer = await children.run_once(_KIND, entry.path, whole, DEADLINE)
    late = [] if answer.done else [Failure("waiting for the volume", errno.ETIMEDOUT)]
    try:
        return [*map(row, answer.rows), *late]
    except ValueError as error:
        raise ChildGone(f"the layout worker's answer is wrong: {error}") from error


def _asked(want: Declared) -> dict[str, object]:
    return {
        "path": want.path,
        "uid": want.uid,
        "gid": want.gid,
        "mode": want.mode,
        "access": _hex(want.access),
        "default": _hex(want.default),
        "mark": _mark_name(want.path),
    }


def _order(action: Action) -> dict[str, object]:
    """The same for an action, with what it must still be like, if it was there."""
    seen, made = None, True
    if isinstance(action, Mend):
        found, made = action.seen, action.made
        seen = [found.inode, found.uid, found.gid, found.mode]
    return {**_asked(action.want), "seen": seen, "made": made}


def _hex(value: Acl | None) -> str | None:
    return None if value is None else acl.encode(value).hex()


def _mark_name(path: str) -> str:
    """A path may be longer than a file name can be."""
    return hashlib.sha256(path.encode(errors="surrogateescape")).hexdigest()[:32]


def _portions(items: tuple[T, ...]) -> Iterator[tuple[T, ...]]:
    for start in range(0, len(items), PORTION):
        yield items[start : start + PORTION]
