"""Keeps the host's users and groups as the map says: look, plan, do, look again, tell."""

import asyncio
import contextlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from agent.config.identities_schema import IdentitiesConfig
from agent.events import Emitter, Event
from agent.identities.facts import Known
from agent.identities.lookup import NamesUnknown, look_up
from agent.identities.plan import AddMember, CreateGroup, CreateUser, Plan, Step, plan
from agent.model.status import IdentitiesState, IdentitiesStatus
from agent.system.children import Children
from agent.system.tools import ToolFailed, Tools

SETTLED = 600.0
"""Seconds between looks while nothing is to be done: who edits the file is not kept waiting."""
UNSETTLED = 60.0
"""Seconds until the next look where the name service did not answer or a tool failed."""
TOOL_PATIENCE = 30.0
"""Seconds; useradd(8) itself waits 15 for another one to let go of /etc/passwd."""


class Reporter(Emitter, Protocol):
    """Where the news go."""

    def identities(self, status: IdentitiesStatus | None) -> None:
        """How it is now; None: the file has no map."""


async def survey(children: Children, wanted: IdentitiesConfig) -> Known:
    """What the host knows of the map's names and numbers. Raises NamesUnknown."""
    return await look_up(
        children,
        "the identities",
        users=wanted.users,
        uids=(user.uid for user in wanted.users.values()),
        groups=wanted.groups,
        gids=wanted.groups.values(),
    )


@dataclass(frozen=True, slots=True)
class Edges:
    """What it needs of the world. wall: epoch seconds."""

    children: Children
    tools: Tools
    report: Reporter
    wall: Callable[[], float]


class IdentitiesKeeper:
    """One for the host. A change of the map is taken up between two rounds."""

    def __init__(self, edges: Edges) -> None:
        self._edges = edges
        self._wanted: IdentitiesConfig | None = None
        self._news = asyncio.Event()
        self._told: frozenset[tuple[Event, str]] = frozenset()
        self._state: IdentitiesState | None = None

    def change(self, config: IdentitiesConfig) -> None:
        """Another configuration is in force."""
        wanted = config if config.users or config.groups else None
        if wanted != self._wanted:
            self._wanted = wanted
            self._news.set()

    async def run(self) -> None:
        """Round after round until cancelled; a bug in one costs that round only."""
        while True:
            self._news.clear()
            patience: float | None = None
            if self._wanted is None:
                self._publish(None, frozenset())
            else:
                patience = await self._guarded_round(self._wanted)
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(patience):
                    await self._news.wait()

    async def _guarded_round(self, wanted: IdentitiesConfig) -> float:
        try:
            return await self._round(wanted)
        except Exception as error:  # noqa: BLE001  the mounts' care must go on
            message = "the users and groups could not be looked after; tried again"
            self._edges.report.emit(Event.INTERNAL_ERROR, message, error=error)
            return SETTLED
        finally:
            await self._edges.tools.close()

    async def _round(self, wanted: IdentitiesConfig) -> float:
        """Seconds until the next."""
        failed: list[str] = []
        try:
            found = plan(wanted, await survey(self._edges.children, wanted))
            if found.steps and wanted.missing == "create":
                failed = await self._do(found)
                found = plan(wanted, await survey(self._edges.children, wanted))
        except NamesUnknown as unknown:
            status = IdentitiesStatus(IdentitiesState.UNKNOWN, error=str(unknown))
            self._publish(status, frozenset({(Event.IDENTITY_UNKNOWN, str(unknown))}))
            return UNSETTLED
        missing = tuple(step.describe() for step in found.steps)
        differs = missing or failed or found.conflicts
        status = IdentitiesStatus(
            IdentitiesState.DIFFERS if differs else IdentitiesState.SETTLED,
            checked=self._edges.wall(),
            missing=missing,
            failed=tuple(failed),
            conflicts=found.conflicts,
            crowded=found.crowded,
        )
        self._publish(status, _news(status))
        return UNSETTLED if failed else SETTLED

    async def _do(self, found: Plan) -> list[str]:
        """Step by step; one that fails leaves the others, and what needs it fails by itself."""
        failed = []
        for step in found.steps:
            try:
                await self._edges.tools.run(step.argv(), TOOL_PATIENCE)
            except ToolFailed as error:
                failed.append(f"{step.describe()}: {error}")
            else:
                self._edges.report.emit(
                    Event.IDENTITY_CREATED,
                    f"this host has now {step.describe()}",
                    **_fields(step),
                )
        return failed

    def _publish(self, status: IdentitiesStatus | None, news: frozenset[tuple[Event, str]]) -> None:
        """Status always, journal entries for what was not true the last time."""
        for event, message in sorted(news - self._told, key=lambda each: each[1]):
            self._edges.report.emit(event, message)
        state = status.state if status else None
        if state is IdentitiesState.SETTLED and self._state is not state:
            message = "all users and groups of the file are on this host, as numbered there"
            self._edges.report.emit(Event.IDENTITIES_SETTLED, message)
        self._told, self._state = news, state
        self._edges.report.identities(status)


def _news(status: IdentitiesStatus) -> frozenset[tuple[Event, str]]:
    return frozenset(
        [
            *((Event.IDENTITY_FAILED, f"could not be created: {line}") for line in status.failed),
            *((Event.IDENTITY_MISSING, f"this host lacks {line}") for line in status.missing),
            *((Event.IDENTITY_CONFLICT, line) for line in status.conflicts),
            *((Event.FINDING, line) for line in status.crowded),
        ]
    )


def _fields(step: Step) -> Mapping[str, Any]:
    match step:
        case CreateGroup():
            return {"group": step.name, "number": step.gid}
        case CreateUser():
            return {"user": step.name, "number": step.uid}
        case AddMember():
            return {"user": step.user, "group": step.group}
