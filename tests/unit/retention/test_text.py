"""Foreign texts: what is read of them, and that nothing but UnreadableError comes out."""

import contextlib
import json
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.retention.formats.text import (
    LINES,
    digits,
    finite,
    json_lines,
    json_object,
    last_part,
    shown,
    step_of,
    word,
)
from agent.retention.view import UnreadableError
from tests.unit.retention.trees import TreeView

anything = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
)


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("0", 0),
        ("0900", 900),
        ("9" * 18, 10**18 - 1),
        ("9" * 19, None),
        ("", None),
        ("-1", None),
        ("+1", None),
        ("1_0", None),
        ("1.0", None),
        (" 1", None),
        ("1\n", None),
        ("\u0663", None),
        ("\u00b2", None),
        ("0x1", None),
    ],
)
def test_digits(text: str, number: int | None) -> None:
    assert digits(text) == number


@pytest.mark.parametrize("value", [True, -1, 10**18, 0.5, math.nan, math.inf, "1", None, [1]])
def test_no_step(value: object) -> None:
    assert step_of(value) is None


def test_a_step() -> None:
    assert (step_of(0), step_of(500), step_of(500.0)) == (0, 500, 500)


@pytest.mark.parametrize("value", [True, math.nan, math.inf, -math.inf, 10**400, "1", None, [1.0]])
def test_no_number_to_compare(value: object) -> None:
    assert finite(value) is None


@pytest.mark.parametrize(
    ("path", "name"),
    [
        ("/a/b/", "b"),
        ("b", "b"),
        ("a\\b", "b"),
        ("", ""),
        ("/", ""),
        ("a/..", ""),
        (".", ""),
        (None, ""),
        (5, ""),
    ],
)
def test_the_last_part_of_a_path(path: object, name: str) -> None:
    assert last_part(path) == name


def test_what_is_shown_is_cut_and_harmless() -> None:
    assert shown("\x1b[31m\ud800" + "x" * 1000).isascii()
    assert len(shown("x" * 1000)) < 90


@given(st.binary())
def test_a_word_is_one_printable_name(raw: bytes) -> None:
    try:
        said = word(TreeView({"latest": raw}), "latest")
    except UnreadableError:
        return
    assert said
    assert said.isprintable()
    assert "/" not in said
    assert said == said.strip()


def test_a_word_longer_than_any_name_is_not_read() -> None:
    with pytest.raises(UnreadableError):
        word(TreeView({"latest": b"x" * 5000}), "latest")


@given(st.binary() | anything.map(lambda value: json.dumps(value).encode()))
def test_json_is_an_object_or_unreadable(raw: bytes) -> None:
    view = TreeView({"x.json": raw, "x.jsonl": raw})
    with contextlib.suppress(UnreadableError):
        assert isinstance(json_object(view, "x.json"), dict)
    assert all(isinstance(line, dict) for line in json_lines(view, "x.jsonl"))


@pytest.mark.parametrize(
    "raw",
    [
        b"[" * 1_000_000,
        b'{"a":' * 1_000_000 + b"1" + b"}" * 1_000_000,
        b'{"a": ' + b"9" * 1_000_000 + b"}",
        b'{"a": "\xff"}',
        b"\xef\xbb\xbf{}",
        b"\xff\xfe{\x00}\x00",
        b'{"a": 1} x',
        b"nul",
    ],
)
def test_json_that_is_made_to_hurt_is_unreadable(raw: bytes) -> None:
    with pytest.raises(UnreadableError):
        json_object(TreeView({"x.json": raw}), "x.json")


def test_what_is_no_number_in_json_is_none() -> None:
    view = TreeView({"x.json": b'{"a": NaN, "b": Infinity, "c": [-Infinity]}'})
    assert json_object(view, "x.json") == {"a": None, "b": None, "c": [None]}


def test_what_is_not_there_is_none() -> None:
    view = TreeView({})
    assert (word(view, "x"), json_object(view, "x"), list(json_lines(view, "x"))) == (
        None,
        None,
        [],
    )


def test_a_log_of_very_many_lines_is_not_read() -> None:
    view = TreeView({"log": b"\n" * (LINES + 1)})
    with pytest.raises(UnreadableError):
        list(json_lines(view, "log"))
