"""Frozen dataclasses as plain values, those of JSON, and back: what comes in is checked for types.

By hand and not by pydantic: `status` and `wait` run in every job's prolog and by monitoring, and
must start in a fraction of pydantic's import time.
"""

from collections.abc import Mapping
from dataclasses import is_dataclass
from datetime import UTC, datetime
from enum import Enum
from functools import cache
from types import NoneType, UnionType
from typing import Annotated, Any, TypeVar, Union, cast, get_args, get_origin, get_type_hints

Epoch = Annotated[float, "ISO 8601"]
"""Seconds of the wall clock; as plain value text, to the second: "2026-11-30T15:59:44Z"."""

T = TypeVar("T")


def iso(time: float) -> str:
    """Wall clock seconds as ISO 8601 in UTC, to the second: "2026-11-30T15:59:44Z"."""
    return datetime.fromtimestamp(time, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def parse_iso(text: str) -> float:
    """The inverse of `iso`. Raises ValueError."""
    return datetime.strptime(text, "%Y-%m-%dT%H:%M:%SZ").replace(tzinfo=UTC).timestamp()


def encode(value: object) -> dict[str, Any]:
    """A dataclass as an object with its fields' names."""
    kind: Any = type(value)
    return {name: _plain(inner, getattr(value, name)) for name, inner in _kinds(kind).items()}


def decode(kind: type[T], value: object) -> T:
    """The inverse: of an object with all the fields' names; other keys are left aside.

    Bytes are hexadecimal text. Raises ValueError, which names the key.
    """
    return cast("T", _decoded(kind, value, kind.__name__))


def _plain(kind: Any, value: Any) -> Any:
    if value is None:
        return None
    if _bare(kind) == Epoch:
        return iso(value)
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, tuple):
        return [_plain(None, item) for item in value]
    return encode(value) if is_dataclass(value) else value


def _decoded(kind: Any, value: Any, name: str) -> Any:
    if (inner := _bare(kind)) is not kind:
        return None if value is None else _decoded(inner, value, name)
    if kind == Epoch:
        return parse_iso(typed(value, str, name))
    if get_origin(kind) is tuple:
        return _tuple(get_args(kind), typed(value, list, name), name)
    if is_dataclass(kind):
        return _object(kind, typed(value, dict, name))
    if issubclass(kind, Enum):
        return kind(typed(value, str, name))
    if kind is bytes:
        return bytes.fromhex(typed(value, str, name))
    return _float(value, name) if kind is float else typed(value, kind, name)


def _float(value: object, name: str) -> float:
    try:
        return float(typed(value, (int, float), name))
    except OverflowError as error:
        raise ValueError(f"{name} is too large") from error


def _object(kind: Any, value: Mapping[str, Any]) -> Any:
    kinds = _kinds(kind)
    for name in kinds:
        if name not in value:
            raise ValueError(f"{name} is missing")
    return kind(**{name: _decoded(inner, value[name], name) for name, inner in kinds.items()})


def _tuple(kinds: tuple[Any, ...], items: list[Any], name: str) -> tuple[Any, ...]:
    if kinds[-1] is Ellipsis:
        kinds = kinds[:1] * len(items)
    if len(items) != len(kinds):
        raise ValueError(f"{name} has the wrong length")
    return tuple(_decoded(kind, item, name) for kind, item in zip(kinds, items, strict=True))


def typed(value: object, kind: type[T] | tuple[type[T], ...], name: str) -> T:
    """The value, if it is of that type; a boolean is no number. Raises ValueError."""
    if not isinstance(value, kind) or (isinstance(value, bool) and kind is not bool):
        raise ValueError(f"{name} has the wrong type")
    return value


@cache
def _kinds(kind: Any) -> dict[str, Any]:
    return get_type_hints(kind, include_extras=True)


def _bare(kind: Any) -> Any:
    """What is in an optional; all else as it is."""
    if get_origin(kind) not in (Union, UnionType):
        return kind
    (inner,) = (each for each in get_args(kind) if each is not NoneType)
    return inner
