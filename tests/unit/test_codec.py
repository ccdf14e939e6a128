"""Dataclasses as plain values, and back: nothing is taken on trust."""

import json
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.codec import Epoch, decode, encode, iso, parse_iso


class Colour(StrEnum):
    RED = "red"


@dataclass(frozen=True, slots=True)
class Inner:
    name: str
    many: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Whole:
    number: int
    share: float
    yes: bool
    colour: Colour
    at: Epoch
    ended: Epoch | None
    inner: Inner | None
    pair: tuple[str, int]
    all: tuple[Inner, ...]


VALUE = Whole(
    1, 0.5, True, Colour.RED, 1796048584, None, Inner("a", (1, 2)), ("b", 3), (Inner("c", ()),)
)
PLAIN: dict[str, Any] = {
    "number": 1,
    "share": 0.5,
    "yes": True,
    "colour": "red",
    "at": "2026-11-30T14:23:04Z",
    "ended": None,
    "inner": {"name": "a", "many": [1, 2]},
    "pair": ["b", 3],
    "all": [{"name": "c", "many": []}],
}


def test_there_and_back() -> None:
    assert encode(VALUE) == PLAIN
    assert decode(Whole, json.loads(json.dumps(PLAIN))) == VALUE
    assert decode(Whole, {**PLAIN, "share": 2, "inner": None, "more": 1}).share == 2.0


@pytest.mark.parametrize(
    ("key", "value", "why"),
    [
        ("number", True, "number has the wrong type"),
        ("number", 1.0, "number has the wrong type"),
        ("number", None, "number has the wrong type"),
        ("share", "1", "share has the wrong type"),
        ("share", 10**400, "share is too large"),
        ("yes", 1, "yes has the wrong type"),
        ("colour", "blue", "'blue' is not a valid Colour"),
        ("colour", ["red"], "colour has the wrong type"),
        ("at", 1796048584, "at has the wrong type"),
        ("at", "today", "does not match format"),
        ("ended", "", "does not match format"),
        ("inner", [], "inner has the wrong type"),
        ("inner", {"name": "a"}, "many is missing"),
        ("inner", {"name": "a", "many": [1, "2"]}, "many has the wrong type"),
        ("pair", ["b"], "pair has the wrong length"),
        ("pair", ["b", "3"], "pair has the wrong type"),
        ("all", {}, "all has the wrong type"),
    ],
)
def test_what_is_wrong_is_named(key: str, value: object, why: str) -> None:
    with pytest.raises(ValueError, match=why):
        decode(Whole, {**PLAIN, key: value})


@pytest.mark.parametrize("key", PLAIN)
def test_what_is_missing_is_named(key: str) -> None:
    with pytest.raises(ValueError, match=f"{key} is missing"):
        decode(Whole, {name: value for name, value in PLAIN.items() if name != key})


def test_bytes_are_hexadecimal() -> None:
    @dataclass(frozen=True, slots=True)
    class Raw:
        data: bytes | None

    assert decode(Raw, {"data": "00ff"}) == Raw(b"\x00\xff")
    assert decode(Raw, {"data": None}) == Raw(None)
    with pytest.raises(ValueError, match="hexadecimal"):
        decode(Raw, {"data": "zz"})


@given(st.integers(0, 4_000_000_000))
def test_times_survive_the_trip_through_text(seconds: int) -> None:
    assert parse_iso(iso(seconds)) == seconds
