"""Flat YAML mappings of texts. All else in YAML is refused before anything is built of it."""

from collections.abc import Iterable, Mapping

from agent.retention.view import UnreadableError, View

LIMIT = 1 << 20
"""Bytes: thousands of entries."""
_BEGIN = ("StreamStartEvent", "DocumentStartEvent", "MappingStartEvent")
_END = ("MappingEndEvent", "DocumentEndEvent", "StreamEndEvent")


def flat_mapping(view: View, name: str) -> Mapping[str, str] | None:
    """Keys and values of that file, as they stand in it; None where there is none.

    Raises UnreadableError, also where it is no YAML, or anything but one mapping of scalars.
    """
    raw = view.read(name, LIMIT)
    if raw is None:
        return None
    import yaml  # noqa: PLC0415 - a worker that meets no such file does without it

    try:
        return _mapping(yaml.parse(raw, Loader=yaml.CSafeLoader))
    except (yaml.YAMLError, ValueError):
        raise UnreadableError("is no flat YAML mapping") from None


def _mapping(events: Iterable[object]) -> Mapping[str, str]:
    """Raises ValueError."""
    kinds: list[str] = []
    texts: list[str] = []
    for event in events:
        kind = type(event).__name__
        if kind == "ScalarEvent":
            texts.append(getattr(event, "value", ""))
        elif kind in _BEGIN + _END:
            kinds.append(kind)
        else:
            raise ValueError(kind)
    if tuple(kinds) != _BEGIN + _END:
        raise ValueError("more or less than one mapping")
    return dict(zip(texts[::2], texts[1::2], strict=True))
