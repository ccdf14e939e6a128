"""What is to be done about a directory, and above all what is not."""

import errno
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.config.identities_schema import IdentitiesConfig
from agent.layout import acl
from agent.layout.acl import Tag
from agent.layout.declared import Declared, Names
from agent.layout.plan import Make, Mend, Plan, failure_words, odd_names, plan, shortfall
from agent.layout.seen import Done, Failure, Kind, Mark, OddNames, Seen

NAMES = Names(IdentitiesConfig.model_validate({"groups": {"ml": 20000}}))
DEFAULT = acl.default_acl([acl.plain(Tag.GROUP_OBJ, 7)], 0o2775)
WANT = Declared("cache", 0, 20000, 0o2775, None, DEFAULT)
GOOD = Seen("cache", Kind.DIRECTORY, 7, 0, 20000, 0o2775, None, acl.encode(DEFAULT))
OTHER = replace(GOOD, uid=1001, gid=1001, mode=0o700, default=b"")
UNFINISHED = replace(GOOD, gid=0, mode=0o1700, default=b"", empty=True)


def one(found: Seen, *, repair: bool = False) -> Plan:
    return plan([WANT], {"cache": found}, NAMES, repair=repair)


def test_as_declared_nothing_is_done() -> None:
    assert one(GOOD) == Plan((), ())
    assert one(GOOD, repair=True) == Plan((), ())


def test_what_is_missing_is_made() -> None:
    assert one(Seen("cache", Kind.MISSING)) == Plan((Make(WANT),), ())


def test_what_was_there_before_is_reported() -> None:
    (finding,) = one(OTHER).findings
    assert one(OTHER).actions == ()
    assert finding.startswith("cache: was there before the agent: owner 1001, declared root; ")
    assert "group 1001, declared ml; mode 0700, declared 2775; default ACL none" in finding


def test_repair_mends_it_and_tells_what_it_had() -> None:
    (action,) = one(OTHER, repair=True).actions
    assert isinstance(action, Mend)
    assert (action.made, action.seen) == (False, OTHER)
    assert "repair: true" in action.describe()
    assert "owner 1001" in action.describe()


@pytest.mark.parametrize("repair", [False, True])
def test_what_the_agent_made_it_keeps_as_declared(repair: bool) -> None:
    found = replace(GOOD, mode=0o2770, mark=Mark(7, made=True))
    (action,) = one(found, repair=repair).actions
    assert isinstance(action, Mend)
    assert action.made


@pytest.mark.parametrize("repair", [False, True])
@pytest.mark.parametrize("made", [False, True])
def test_what_took_its_place_is_reported_even_under_repair(repair: bool, made: bool) -> None:
    found = replace(OTHER, inode=8, mark=Mark(7, made=made))
    assert one(found, repair=repair).actions == ()
    assert "another directory than the one that the agent" in one(found).findings[0]


def test_what_was_only_mended_is_mended_again_only_under_repair() -> None:
    found = replace(OTHER, mark=Mark(7, made=False))
    assert one(found).actions == ()
    assert len(one(found, repair=True).actions) == 1


def test_one_that_an_agent_was_killed_over_is_finished() -> None:
    for mode in (0o1700, 0o3700):  # setgid of the parent is handed on
        (action,) = one(replace(UNFINISHED, mode=mode)).actions
        assert isinstance(action, Mend)
        assert action.made


@pytest.mark.parametrize(
    "found",
    [
        replace(UNFINISHED, uid=1001),
        replace(UNFINISHED, mode=0o700),
        replace(UNFINISHED, empty=False),
    ],
)
def test_a_users_private_directory_is_no_unfinished_one(found: Seen) -> None:
    assert one(found).actions == ()
    assert len(one(found).findings) == 1


@pytest.mark.parametrize(
    ("found", "words"),
    [
        (Seen("cache", Kind.SYMLINK, detail="/etc"), "a symbolic link to /etc stands there"),
        (Seen("cache", Kind.OTHER, detail="a file"), "a file stands where a directory should be"),
        (Seen("cache", Kind.ELSEWHERE), "something else is mounted there, not entered"),
        (Seen("cache", Kind.UNREADABLE, errno=errno.EIO), "can't be looked at: EIO"),
        (
            Seen("cache", Kind.UNREADABLE, errno=errno.EACCES),
            "can't be looked at: EACCES; root may not do it: is server.root-squash on?",
        ),
        (replace(GOOD, errno=errno.EIO), "its ACLs can't be read: EIO"),
    ],
)
@pytest.mark.parametrize("repair", [False, True])
def test_an_obstacle_is_one_finding_and_nothing_is_done_below(
    found: Seen, words: str, repair: bool
) -> None:
    below = replace(WANT, path="cache/hub")
    seen = {"cache": found, "cache/hub": Seen("cache/hub", Kind.BELOW)}
    decided = plan([WANT, below], seen, NAMES, repair=repair)
    assert decided.actions == ()
    assert len(decided.findings) == 1
    assert words in decided.findings[0]


def test_a_closed_directory_is_one_finding_however_many_are_below() -> None:
    """As a squashed root sees them."""
    paths = ["a/1", "a/2", "b/1", "a/3"]
    numbers = {"b/1": errno.EIO}
    seen = {
        path: Seen(path, Kind.UNREADABLE, errno=numbers.get(path, errno.EACCES)) for path in paths
    }
    decided = plan([replace(WANT, path=path) for path in paths], seen, NAMES, repair=True)
    assert decided.actions == ()
    closed, broken = decided.findings
    assert closed.startswith("a/1 and 2 more beside it: can't be looked at: EACCES; root may not")
    assert broken == "b/1: can't be looked at: EIO"


def test_what_is_missing_below_what_is_made_is_made() -> None:
    below = replace(WANT, path="cache/hub")
    seen = {"cache": Seen("cache", Kind.MISSING), "cache/hub": Seen("cache/hub", Kind.BELOW)}
    assert plan([WANT, below], seen, NAMES, repair=False).actions == (Make(WANT), Make(below))


MARKS = st.none() | st.builds(Mark, st.integers(1, 3), st.booleans())
SEEN = st.builds(
    Seen,
    path=st.just("cache"),
    kind=st.sampled_from(Kind),
    inode=st.integers(1, 3),
    uid=st.sampled_from([0, 1001]),
    gid=st.sampled_from([0, 20000]),
    mode=st.sampled_from([0o700, 0o1700, 0o3700, 0o2775, 0o2755]),
    access=st.none(),
    default=st.none() | st.sampled_from([b"", acl.encode(DEFAULT)]) | st.binary(max_size=12),
    empty=st.booleans(),
    mark=MARKS,
    errno=st.sampled_from([0, errno.EIO]),
    detail=st.text(),
)


@given(SEEN, st.booleans())
def test_only_what_is_missing_is_made_and_only_what_is_known_or_allowed_is_mended(
    found: Seen, repair: bool
) -> None:
    decided = one(found, repair=repair)
    assert len(decided.actions) + len(decided.findings) <= 1
    for action in decided.actions:
        if isinstance(action, Make):
            assert found.kind is Kind.MISSING
            continue
        assert found.kind is Kind.DIRECTORY
        assert found.errno == 0
        own = found.mark is not None and found.mark.made and found.mark.inode == found.inode
        half = found.empty and found.uid == 0 and found.mode & 0o1777 == 0o1700
        replaced = found.mark is not None and found.mark.inode != found.inode
        assert own or half or (repair and not replaced), decided
        assert action.made is (own or half)


@given(SEEN, st.booleans())
def test_nothing_is_said_only_where_all_is_well(found: Seen, repair: bool) -> None:
    if one(found, repair=repair) == Plan((), ()):
        as_declared = (found.uid, found.gid, found.mode) == (WANT.uid, WANT.gid, WANT.mode)
        assert found.kind is Kind.BELOW or (
            as_declared and found.default is not None and acl.decode(found.default) == DEFAULT
        )


def test_a_mode_that_does_not_stay_is_told() -> None:
    assert shortfall(WANT, Done("cache", "ok", 0, 20000, 0o2775), NAMES) == ""
    told = shortfall(WANT, Done("cache", "ok", 0, 20000, 0o775), NAMES)
    assert told == "cache: has root:ml 0775 though it was given root:ml 2775"
    failed = Done("cache", "failed", errno=errno.EPERM, doing="changing the owner of")
    assert shortfall(WANT, failed, NAMES) == "cache: changing the owner of it failed: EPERM"


def test_failures_say_what_may_be_behind_them() -> None:
    squash = failure_words(Failure("making cache", errno.EACCES))
    assert squash == "making cache failed: EACCES; root may not do it: is server.root-squash on?"
    assert "read-only" in failure_words(Failure("making cache", errno.EROFS))
    assert "another host" in failure_words(Failure("taking the lock", 0, held=True))


def test_odd_names_are_counted() -> None:
    assert odd_names(OddNames("checkpoints/a", "1", 0, ()), "{user}") == ""
    told = odd_names(OddNames("checkpoints/a", "1", 3, ("x", "y")), "{user}")
    assert told == "checkpoints/a: names that don't fit {user}: x, y and 1 more"
