"""Which ids `ids remap` exchanges, and which it never does."""

import pytest

from agent.errors import AgentError
from agent.identities.exchange import Exchange, allowed, parse
from agent.identities.facts import Group, Known, User
from tests.unit.identities.hosts import a_map

MAP = a_map({"ml": 20000}, {"alice": (20001, "ml", [])})


@pytest.mark.parametrize(
    ("old", "new", "found"),
    [
        ("1001", "alice", Exchange({1001: 20001})),
        (":1001", ":ml", Exchange({}, {1001: 20000})),
        ("1001:1002", "alice:ml", Exchange({1001: 20001}, {1002: 20000})),
        ("1001", "30001", Exchange({1001: 30001})),
    ],
)
def test_words_of_the_command_line(old: str, new: str, found: Exchange) -> None:
    assert parse(old, new, MAP) == found


@pytest.mark.parametrize(
    ("old", "new", "why"),
    [
        ("", "alice", "must both name"),
        (":", ":", "must both name"),
        ("1001", "alice:ml", "must both name"),
        ("1001:1001", "alice", "must both name"),
        ("0", "alice", "is root, and never mapped"),
        ("33", "alice", "is an id of the system"),
        ("bob", "alice", "must be an old id"),
        ("-1", "alice", "must be an old id"),
        ("4294967295", "alice", "is no id"),
        ("1001", "root", "no user of the file"),
        ("1001", "0", "no user of the file"),
        ("1001", "bob", "there is: alice"),
        (":1001", ":alice", "there is: ml"),
        ("20001", "30001", "is the number of alice in the file"),
        (":20000", ":30001", "is the number of ml in the file"),
        ("1001:1001:1001", "alice:ml", "must be an old id"),
    ],
)
def test_what_is_refused(old: str, new: str, why: str) -> None:
    with pytest.raises(AgentError, match=why):
        parse(old, new, MAP)


def test_an_old_id_that_is_somebody_here_is_left() -> None:
    wanted = Exchange({1001: 20001, 1002: 20002}, {1001: 20000, 1002: 20002})
    known = Known(uids={1001: User("bob", 1001, 100)}, gids={1002: Group("bobs", 1002)})
    left, kept = allowed(wanted, known)
    assert left == Exchange({1002: 20002}, {1001: 20000})
    assert kept == (
        "user 1001 is bob here: its files are left as they are",
        "group 1002 is bobs here: its files are left as they are",
    )
    assert not allowed(Exchange({1001: 20001}), known)[0]
