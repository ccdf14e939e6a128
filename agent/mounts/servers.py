"""Which volfile server to mount from, and which to name as its backups. Pure."""

from collections.abc import Iterable, Mapping

from agent.model.mount import Obstacle, ObstacleKind
from agent.system.net import Contact, Outcome

FORGIVEN_AFTER = 300.0
"""Seconds after which a server that an attempt failed with is tried first again."""


_SILENT = ObstacleKind.SILENT
_KINDS = {
    Outcome.UNRESOLVABLE: ObstacleKind.UNRESOLVABLE,
    Outcome.REFUSED: ObstacleKind.REFUSED,
}


def by_failures(
    servers: Iterable[str], failed_at: Mapping[str, float], now: float
) -> tuple[str, ...]:
    """The servers as the file has them, those that attempts failed with lately last.

    A glusterd that is stuck takes connections and serves nothing, so answering is not enough.
    failed_at, now: monotonic seconds; of those that failed the one longest ago comes first.
    """

    def failed(server: str) -> float:
        at = failed_at.get(server)
        return 0.0 if at is None or now - at > FORGIVEN_AFTER else at

    return tuple(sorted(servers, key=failed))


def order(servers: Iterable[str], contacts: Mapping[str, Contact]) -> tuple[str, ...]:
    """The servers with those that answer first; within both parts in the order given.

    A server that is not known to fail comes before one that is.
    """
    return tuple(sorted(servers, key=lambda server: _rank(contacts.get(server))))


def describe(contacts: Iterable[Contact]) -> str:
    """The evidence in words: `node1 silent, node2 answered in 2 ms`."""
    return ", ".join(_words(contact) for contact in contacts)


def obstacles(contacts: Iterable[Contact]) -> tuple[Obstacle, ...]:
    """What keeps each of them from being mounted from; () as soon as one answers."""
    known = tuple(contacts)
    if any(contact.outcome is Outcome.ANSWERED for contact in known):
        return ()
    return tuple(Obstacle(_KINDS.get(each.outcome, _SILENT), each.server) for each in known)


def _rank(contact: Contact | None) -> int:
    if contact is None or contact.outcome is Outcome.LATE:
        return 1
    return 0 if contact.outcome is Outcome.ANSWERED else 2


def _words(contact: Contact) -> str:
    if contact.outcome is Outcome.ANSWERED and contact.seconds is not None:
        return f"{contact.server} answered in {contact.seconds * 1000:.0f} ms"
    return f"{contact.server} {contact.outcome}"
