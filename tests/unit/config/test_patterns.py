"""Patterns of rules: what they match, and whether two of them can meet."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.config.patterns import matches, overlap, specificity


@pytest.mark.parametrize(
    ("part", "name", "fits"),
    [
        ("a", "a", True),
        ("a", "A", False),
        ("*", "a", True),
        ("*", ".a", False),
        ("?a", ".a", False),
        (".*", ".a", True),
        ("a*", "a.b", True),
        ("a?", "a", False),
        ("a?", "ab", True),
        ("a*c", "abbc", True),
        ("a*c", "abbcd", False),
        ("*", "a\nb", True),
        ("[ab]", "a", False),
        ("[ab]", "[ab]", True),
    ],
)
def test_matches(part: str, name: str, fits: bool) -> None:
    assert matches(part, name) is fits


def test_many_stars_take_no_time() -> None:
    assert not matches("*a" * 40 + "b", "a" * 255)


@pytest.mark.parametrize(
    ("one", "two", "meet"),
    [
        ("a", "a", True),
        ("a", "b", False),
        ("a", "a/b/c", True),
        ("a/b", "a/c", False),
        ("*", "a", True),
        ("*/b", "a", True),
        ("*/b", "a/c", False),
        ("a/*", "*/b", True),
        ("a*", "*b", True),
        ("a*", "b*", False),
        ("a*b", "a*c", False),
        ("a?", "?b", True),
        ("a?", "a", False),
        ("a??", "a*", True),
        ("*", ".a", False),
        (".*", ".a", True),
        ("projects/*/checkpoints", "projects/alice", True),
        ("projects/*/checkpoints", "projects/alice/logs", False),
    ],
)
def test_overlap(one: str, two: str, meet: bool) -> None:
    assert overlap(one, two) is meet
    assert overlap(two, one) is meet


def test_the_longest_patterns_are_no_trouble() -> None:
    assert overlap("*a" * 127, "a*" * 127)
    assert not overlap("*a" * 127, "*b" * 127)


PART = st.text("ab*?.", min_size=1, max_size=5)
PATTERN = st.lists(PART, min_size=1, max_size=3).map("/".join)
NAMES = st.text("ab.", min_size=1, max_size=5)


def under(pattern: str, path: str) -> bool:
    """Whether path is a directory that the pattern means, or inside one."""
    parts, names = pattern.split("/"), path.split("/")
    return len(names) >= len(parts) and all(map(matches, parts, names))


@given(PATTERN, PATTERN, st.lists(NAMES, min_size=1, max_size=3).map("/".join))
def test_two_that_mean_one_directory_are_never_said_to_be_apart(
    one: str, two: str, path: str
) -> None:
    if under(one, path) and under(two, path):
        assert overlap(one, two)


@given(PART)
def test_a_pattern_meets_what_it_means(part: str) -> None:
    name = part.replace("*", "").replace("?", "a")
    if name and matches(part, name):
        assert overlap(part, name)


@given(PATTERN)
def test_specificity_is_the_number_of_names(pattern: str) -> None:
    named = [part for part in pattern.split("/") if "*" not in part and "?" not in part]
    assert specificity(pattern) == len(named)
