"""ACLs as the kernel stores them, with ids exchanged."""

import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.worker.acl import OddError, exchanged

USER_OBJ, USER, GROUP_OBJ, GROUP, MASK, OTHER = 1, 2, 4, 8, 16, 32
NOBODY = 0xFFFFFFFF
Entry = tuple[int, int, int]


def packed(*entries: Entry) -> bytes:
    return struct.pack("<I", 2) + b"".join(struct.pack("<HHI", *entry) for entry in entries)


def unpacked(data: bytes) -> list[Entry]:
    return [struct.unpack("<HHI", data[at : at + 8]) for at in range(4, len(data), 8)]


LISTED = packed(
    (USER_OBJ, 7, NOBODY),
    (USER, 7, 1001),
    (USER, 5, 5000),
    (GROUP_OBJ, 5, NOBODY),
    (GROUP, 4, 1001),
    (MASK, 7, NOBODY),
    (OTHER, 0, NOBODY),
)


def test_users_and_groups_are_told_apart_and_stay_sorted() -> None:
    new = exchanged(LISTED, {1001: 20001}, {})
    assert new is not None
    assert unpacked(new) == [
        (USER_OBJ, 7, NOBODY),
        (USER, 5, 5000),
        (USER, 7, 20001),
        (GROUP_OBJ, 5, NOBODY),
        (GROUP, 4, 1001),
        (MASK, 7, NOBODY),
        (OTHER, 0, NOBODY),
    ]
    new = exchanged(LISTED, {}, {1001: 20000})
    assert new is not None
    assert (GROUP, 4, 20000) in unpacked(new)
    assert (USER, 7, 1001) in unpacked(new)


def test_without_an_old_id_there_is_nothing_to_write() -> None:
    assert exchanged(LISTED, {1002: 20001}, {5000: 20000}) is None


def test_an_entry_for_each_of_the_two_is_odd() -> None:
    both = packed((USER_OBJ, 7, NOBODY), (USER, 7, 1001), (USER, 0, 20001), (OTHER, 0, NOBODY))
    with pytest.raises(OddError, match="the old id and for the new one"):
        exchanged(both, {1001: 20001}, {})


@pytest.mark.parametrize("data", [b"", b"\2\0\0", LISTED[:-1], b"\3" + LISTED[1:]])
def test_what_is_no_acl_is_odd(data: bytes) -> None:
    with pytest.raises(OddError):
        exchanged(data, {1001: 20001}, {})


NAMED = st.dictionaries(
    st.tuples(st.sampled_from([USER, GROUP]), st.integers(1000, 1010)), st.integers(0, 7)
)
IDS = st.dictionaries(st.integers(1000, 1004), st.integers(2000, 2004))


@given(NAMED, IDS, IDS)
def test_any_acl_keeps_what_everybody_may(
    named: dict[tuple[int, int], int], uids: dict[int, int], gids: dict[int, int]
) -> None:
    entries = sorted((tag, may, who) for (tag, who), may in named.items())
    by_tag = {USER: uids, GROUP: gids}
    wanted = [(tag, may, by_tag[tag].get(who, who)) for tag, may, who in entries]
    try:
        new = exchanged(packed(*entries), uids, gids)
    except OddError:
        assert len({(tag, who) for tag, _, who in wanted}) < len(wanted)
        return
    assert sorted(wanted) == sorted(unpacked(new) if new else entries)
