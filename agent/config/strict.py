"""What all models of the schema have in common."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Self, TypeVar

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, PlainSerializer

KEY = "[key]"
"""The last part of a Place that means the key itself; pydantic calls it so too."""

K = TypeVar("K")
V = TypeVar("V")


class Strict(BaseModel):
    """Can't be changed, knows all its keys, converts nothing by itself."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    def __deepcopy__(self, memo: dict[int, Any] | None = None) -> Self:
        """Itself, as it can't be changed; pydantic copies defaults so."""
        return self


def kind(words: str) -> dict[str, Any]:
    """For Field(json_schema_extra=...): what may stand there, where the type does not say it."""
    return {"kind": words}


def _frozen(value: Mapping[K, V]) -> Mapping[K, V]:
    return MappingProxyType(dict(value))


FREEZE, THAW = AfterValidator(_frozen), PlainSerializer(dict)
"""Of a mapping: it keeps the order of the file and can't be changed; it is dumped as a dict."""


def _not_null(value: Any) -> Any:
    if value is None:
        raise ValueError("is empty; fill it in, or remove it")
    return value


GIVEN = BeforeValidator(_not_null)
"""Of a key that can be left out: where it stands it has a value."""
