"""Which volfile server to mount from, and which to name as its backups. Pure."""

from collections.abc import Iterable, Mapping

from agent.system.net import Contact, Outcome


def order(servers: Iterable[str], contacts: Mapping[str, Contact]) -> tuple[str, ...]:
    """The servers with those that answer first; within both parts as the file has them.

    A server that is not known to fail comes before one that is.
    """
    return tuple(sorted(servers, key=lambda server: _rank(contacts.get(server))))


def describe(contacts: Iterable[Contact]) -> str:
    """The evidence in words: `node1 silent, node2 answered in 2 ms`."""
    return ", ".join(_words(contact) for contact in contacts)


def _rank(contact: Contact | None) -> int:
    if contact is None or contact.outcome is Outcome.LATE:
        return 1
    return 0 if contact.outcome is Outcome.ANSWERED else 2


def _words(contact: Contact) -> str:
    if contact.outcome is Outcome.ANSWERED and contact.seconds is not None:
        return f"{contact.server} answered in {contact.seconds * 1000:.0f} ms"
    return f"{contact.server} {contact.outcome}"
