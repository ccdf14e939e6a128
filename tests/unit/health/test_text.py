from datetime import UTC

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.codec import parse_iso
from agent.health import text

ANY_TEXT = st.text(st.characters(exclude_categories=()))


@given(ANY_TEXT, st.integers(10, 500))
def test_cleaned_text_is_one_printable_line_within_its_limit(value: str, limit: int) -> None:
    shown = text.clean(value, limit)
    assert shown.isprintable()
    assert len(shown) <= limit
    shown.encode()  # no lone surrogate is left


@given(ANY_TEXT)
def test_cleaning_twice_changes_nothing(value: str) -> None:
    assert text.clean(text.clean(value)) == text.clean(value)


@given(st.text(st.characters(categories=["L", "N", "P"]), max_size=400))
def test_ordinary_text_stays_as_it_is(value: str) -> None:
    assert text.clean(value) == value


@pytest.mark.parametrize(
    ("given_text", "shown"),
    [
        ("a\nMESSAGE=b", "a\\x0aMESSAGE=b"),
        ("\x1b[2Jx", "\\x1b[2Jx"),
        ("caf\udce9", "caf\\xe9"),  # os.fsdecode of a latin-1 file name
        ("a\u202eb", "a\\u202eb"),  # right-to-left override
        ("a\u2028b", "a\\u2028b"),
        ("Größe", "Größe"),
    ],
)
def test_what_a_terminal_would_act_on_is_escaped(given_text: str, shown: str) -> None:
    assert text.clean(given_text) == shown


def test_a_cut_is_visible() -> None:
    assert text.clean("x" * 401) == "x" * 397 + "..."
    assert text.clean("x" * 400) == "x" * 400


@pytest.mark.parametrize(
    ("seconds", "shown"),
    [
        (-3, "0 s"),
        (0.4, "0 s"),
        (95, "95 s"),
        (119.6, "2 min"),
        (7199, "119 min"),
        (7200, "2 h"),
        (11100, "3 h 5 min"),
        (2 * 86400 + 4 * 3600, "2 d 4 h"),
        (3 * 86400, "3 d"),
    ],
)
def test_durations(seconds: float, shown: str) -> None:
    assert text.duration(seconds) == shown


@pytest.mark.parametrize(
    ("count", "shown"),
    [
        (0, "0 B"),
        (1023, "1023 B"),
        (1536, "1.5 KiB"),
        (150 << 30, "150 GiB"),
        (1 << 70, "1024.0 EiB"),
    ],
)
def test_sizes(count: int, shown: str) -> None:
    assert text.size(count) == shown


def test_a_moment_of_another_day_has_its_date() -> None:
    noon = parse_iso("2026-11-30T12:00:00Z")
    assert text.clock(noon - 60, noon, UTC) == "11:59"
    assert text.clock(noon - 86400, noon, UTC) == "2026-11-29 12:00"
