"""Asks the name service through a worker: it can keep a caller waiting as long as it likes."""

from collections.abc import Iterable
from typing import Any

from agent.errors import AgentError, ChildGone
from agent.identities.facts import Group, Known, User
from agent.system.children import Answer, Children, told

PATIENCE = 15.0
"""Seconds for all answers together."""


class NamesUnknown(AgentError):
    """The name service gave no whole answer."""

    def __init__(self, why: str) -> None:
        super().__init__(
            "names-unknown",
            f"the name service can't be asked: {why}",
            "try: getent passwd root; then look at sssd or nslcd, and at /etc/nsswitch.conf",
        )


async def look_up(
    children: Children,
    asker: str,
    *,
    users: Iterable[str] = (),
    uids: Iterable[int] = (),
    groups: Iterable[str] = (),
    gids: Iterable[int] = (),
) -> Known:
    """Who has these names and numbers. Raises NamesUnknown, after PATIENCE at the latest.

    asker: what it is for; for each purpose there is one question at a time.

    Half an answer is none: who isn't in it would be taken for not there.
    """
    request: dict[str, object] = {
        "users": sorted(users),
        "uids": sorted(uids),
        "groups": sorted(groups),
        "gids": sorted(gids),
    }
    try:
        answer = await children.run_once("names", asker, request, PATIENCE)
        if not answer.done:
            raise NamesUnknown(f"no answer within {PATIENCE:g} s")
        return _known(answer)
    except (ChildGone, OSError) as error:
        raise NamesUnknown(str(error)) from error
    except AgentError as error:
        raise error if isinstance(error, NamesUnknown) else NamesUnknown(error.message) from error


def _known(answer: Answer) -> Known:
    rows: dict[str, dict[Any, dict[str, Any]]] = {}
    try:
        for row in answer.rows:
            rows.setdefault(row["kind"], {})[row["asked"]] = row
        return Known(
            users={key: told(User, row) for key, row in rows.get("users", {}).items()},
            uids={key: told(User, row) for key, row in rows.get("uids", {}).items()},
            groups={key: told(Group, row) for key, row in rows.get("groups", {}).items()},
            gids={key: told(Group, row) for key, row in rows.get("gids", {}).items()},
            memberships={
                key: frozenset(map(int, row["gids"]))
                for key, row in rows.get("memberships", {}).items()
            },
        )
    except (KeyError, TypeError, ValueError) as error:
        raise ChildGone("the worker names talks nonsense") from error
