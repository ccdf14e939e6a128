"""ACLs as the kernel keeps them; what it makes of them: tests/system/test_layout_hostile.py."""

from hypothesis import given
from hypothesis import strategies as st

from agent.layout import acl
from agent.layout.acl import Entry, Tag

UNNAMED = [Tag.USER_OBJ, Tag.GROUP_OBJ, Tag.MASK, Tag.OTHER]
PERM = st.integers(0, 7)
IDS = st.integers(0, 2**32 - 2)
NAMED = st.builds(Entry, st.sampled_from([Tag.USER, Tag.GROUP]), IDS, PERM)
PLAIN = st.builds(acl.plain, st.sampled_from(UNNAMED), PERM)
ENTRIES = st.lists(NAMED | PLAIN, unique_by=lambda e: (e.tag, e.id), max_size=8)
MODES = st.integers(0, 0o7777)


def by_tag(value: acl.Acl) -> dict[Tag, int]:
    return {each.tag: each.perm for each in value}


@given(ENTRIES, MODES)
def test_what_is_encoded_is_decoded(entries: list[Entry], mode: int) -> None:
    made = acl.default_acl(entries, mode)
    assert acl.decode(acl.encode(made)) == made


@given(ENTRIES, MODES)
def test_a_default_acl_has_all_classes_and_keeps_what_is_given(
    entries: list[Entry], mode: int
) -> None:
    made = acl.default_acl(entries, mode)
    assert set(entries) <= set(made)
    assert {Tag.USER_OBJ, Tag.GROUP_OBJ, Tag.OTHER} <= by_tag(made).keys()
    has_names = any(each.tag in (Tag.USER, Tag.GROUP) for each in entries)
    assert not has_names or Tag.MASK in by_tag(made)
    assert list(made) == sorted(made)


@given(ENTRIES, MODES)
def test_an_access_acl_goes_with_the_mode(entries: list[Entry], mode: int) -> None:
    made = acl.access_acl(entries, mode)
    named = {each for each in entries if each.tag in (Tag.USER, Tag.GROUP)}
    if made is None:
        assert not named
        return
    perms = by_tag(made)
    bits = perms[Tag.USER_OBJ] << 6 | perms[Tag.MASK] << 3 | perms[Tag.OTHER]
    assert bits == mode & 0o777
    assert named <= set(made)


@given(st.binary(max_size=80))
def test_foreign_bytes_are_no_acl_or_one(value: bytes) -> None:
    found = acl.decode(value)
    assert found is None or acl.decode(acl.encode(found)) == found


def test_the_contracts_entry() -> None:
    made = acl.default_acl([acl.plain(Tag.GROUP_OBJ, 7)], 0o2755)
    assert acl.shown(made) == "user::rwx,group::rwx,other::r-x"
    assert acl.encode(made).hex() == ("0200000001000700ffffffff04000700ffffffff20000500ffffffff")


def test_named_entries_are_shown_with_numbers() -> None:
    made = acl.default_acl([Entry(Tag.USER, 20001, 5), Entry(Tag.GROUP, 0, 4)], 0o770)
    assert acl.shown(made) == "user::rwx,user:20001:r-x,group::rwx,group:0:r--,mask::rwx,other::---"
