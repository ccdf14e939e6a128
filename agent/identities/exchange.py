"""Which ids become which: the words of `ids remap`, and what forbids an exchange. Pure."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from agent.config import accounts
from agent.config.identities_schema import IdentitiesConfig
from agent.errors import AgentError
from agent.identities.facts import Known


@dataclass(frozen=True, slots=True)
class Exchange:
    """uids, gids: old -> new."""

    uids: Mapping[int, int] = field(default_factory=dict)
    gids: Mapping[int, int] = field(default_factory=dict)

    def __bool__(self) -> bool:
        return bool(self.uids or self.gids)


def parse(old: str, new: str, identities: IdentitiesConfig) -> Exchange:
    """`1001` and `alice`, `:1001` and `:ml`, or `1001:1001` and `alice:ml`. Raises AgentError.

    Unlike with chown --from, the two halves of the last form are independent of each other.
    """
    users = {name: user.uid for name, user in identities.users.items()}
    old_user, _, old_group = old.partition(":")
    new_user, _, new_group = new.partition(":")
    if bool(old_user) != bool(new_user) or bool(old_group) != bool(new_group) or old in ("", ":"):
        raise _usage("--from and --to must both name a user, a group, or both", old)
    return Exchange(
        _pair("user", old_user, new_user, users),
        _pair("group", old_group, new_group, identities.groups),
    )


def allowed(wanted: Exchange, known: Known) -> tuple[Exchange, tuple[str, ...]]:
    """What is left of it where this host still knows some of the old ids, and who these are."""
    kept = [
        *(f"user {old} is {known.uids[old].name} here" for old in wanted.uids if old in known.uids),
        *(
            f"group {old} is {known.gids[old].name} here"
            for old in wanted.gids
            if old in known.gids
        ),
    ]
    return Exchange(
        {old: new for old, new in wanted.uids.items() if old not in known.uids},
        {old: new for old, new in wanted.gids.items() if old not in known.gids},
    ), tuple(f"{line}: its files are left as they are" for line in kept)


def _pair(what: str, old: str, new: str, known: Mapping[str, int]) -> dict[int, int]:
    if not old:
        return {}
    try:
        before = accounts.source_id(old)
    except ValueError as error:
        raise _usage(f"the old {what} {error}", old) from error
    after = _new(what, new, known)
    mapped = next((name for name, number in known.items() if number == before), None)
    if mapped is not None:
        raise _usage(f"{old} is the number of {mapped} in the file: nobody's old one", old)
    return {before: after}


def _new(what: str, new: str, known: Mapping[str, int]) -> int:
    if new in known:
        return known[new]
    try:
        return accounts.source_id(new)
    except ValueError as error:
        names = ", ".join(known) or "none"
        raise _usage(
            f"no {what} of the file, and no number either; there is: {names}", new
        ) from error


def _usage(why: str, given: str) -> AgentError:
    return AgentError("bad-ids", f"{given}: {why}", "see: gluster-ml-agent ids remap --help")


def told(wanted: Exchange) -> Iterator[str]:
    """In the words of the command line."""
    for what, ids in (("user", wanted.uids), ("group", wanted.gids)):
        yield from (f"{what} {old} -> {new}" for old, new in ids.items())
