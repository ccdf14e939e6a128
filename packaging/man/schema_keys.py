"""The keys of agent.yaml as the schema has them: type, range, default and description of each."""

import types
import typing
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from annotated_types import Ge, Le
from pydantic import BaseModel, BeforeValidator
from pydantic.fields import FieldInfo

from agent.config import durations
from agent.config.later import LATER, NAME
from agent.config.layout_schema import octal_mode
from agent.config.schema import Config

REQUIRED = "required"
ITEM = "[]"
"""Stands for the place in a list."""


@dataclass(frozen=True, slots=True)
class Key:
    """place: from the top of the file, NAME for a name of the user's, ITEM for an item of a list.

    kind: what may stand there; default: REQUIRED, or as one would write it, "" for a mapping of
    keys that have their own.
    """

    place: tuple[str, ...]
    kind: str
    default: str
    description: str

    @property
    def dotted(self) -> str:
        """As messages of the agent name it."""
        return ".".join(self.place).replace(f".{ITEM}", ITEM)


def keys(model: type[BaseModel] = Config, below: tuple[str, ...] = ()) -> Iterator[Key]:
    """All keys of a model, each mapping followed by its own keys."""
    for name, field in model.model_fields.items():
        place = (*below, name)
        if place in LATER:
            continue
        yield Key(place, _kind(field), _default(field), field.description or "")
        inner, step = _inner(field.annotation)
        if inner:
            yield from keys(inner, (*place, *step))


def _inner(annotation: object) -> tuple[type[BaseModel] | None, tuple[str, ...]]:
    """The model of a key, also in a mapping or list, and what stands between its key and theirs."""
    annotation = _without_none(annotation)
    if _is_model(annotation):
        return annotation, ()
    inner = typing.get_args(annotation)
    for is_kind, place, step in ((_is_mapping, 1, NAME), (_is_list, 0, ITEM)):
        value = inner[place] if is_kind(annotation) else None
        if _is_model(value):
            return value, (step,)
    return None, ()


def _without_none(annotation: object) -> object:
    """What an optional section holds if it is there."""
    left = [part for part in typing.get_args(annotation) if part is not type(None)]
    # Literal["a"] | None is no UnionType, but one of typing's own.
    is_union = typing.get_origin(annotation) in (types.UnionType, typing.Union)
    is_optional = is_union and len(left) == 1
    return left[0] if is_optional else annotation


def _is_model(annotation: object) -> typing.TypeGuard[type[BaseModel]]:
    return isinstance(annotation, type) and issubclass(annotation, BaseModel)


def _is_mapping(annotation: object) -> bool:
    return typing.get_origin(annotation) is Mapping


def _is_list(annotation: object) -> bool:
    return typing.get_origin(annotation) is tuple


def _kind(field: FieldInfo) -> str:
    """Raises TypeError for a type that it has no words for yet."""
    annotation = _without_none(field.annotation)
    between = _between(field)
    if between:
        return str(between)
    if isinstance(field.json_schema_extra, dict):
        return str(field.json_schema_extra["kind"])
    if typing.get_origin(annotation) is typing.Literal:
        *most, last = typing.get_args(annotation)
        return f"{', '.join(most)} or {last}"
    if annotation is int:
        low = next(m.ge for m in field.metadata if isinstance(m, Ge))
        high = next(m.le for m in field.metadata if isinstance(m, Le))
        return f"{low} to {high}"
    if _is_model(annotation) or _is_mapping(annotation):
        return "mapping"
    words: dict[object, str] = {bool: "boolean", str: "text", tuple[str, ...]: "list of text"}
    if annotation not in words:
        raise TypeError(f"no words for {annotation}: say in {__file__} what may stand there")
    return words[annotation]


def _default(field: FieldInfo) -> str:
    between, default = _between(field), field.default
    if field.is_required():
        return REQUIRED
    if isinstance(default, BaseModel):
        return ""
    if isinstance(default, bool):
        return str(default).lower()
    if between and default is None:
        return between.or_word or "none"
    if between:
        return durations.text(default)
    if isinstance(default, int) and _is_mode(field):
        return f"{default:04o}"
    return "none" if default in ({}, (), None) else str(default)


def _is_mode(field: FieldInfo) -> bool:
    return any(isinstance(m, BeforeValidator) and m.func is octal_mode for m in field.metadata)


def _between(field: FieldInfo) -> durations.Between | None:
    validators = (m.func for m in field.metadata if isinstance(m, BeforeValidator))
    return next((v for v in validators if isinstance(v, durations.Between)), None)
