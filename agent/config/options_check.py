"""Checks the `options` of a mount against the tables, with the advice for what is wrong."""

import difflib
import re
from collections.abc import Mapping

from agent.config.options_table import (
    IGNORED,
    KNOWN,
    REFUSED,
    WARNINGS,
    Choice,
    Flag,
    Kind,
    Number,
    OptionValue,
    Switch,
    Text,
)
from agent.config.problems import Place, Several
from agent.config.tree import Ambiguous
from agent.config.volume_options import FICTION, FOR_SHORT, REAL

_NAMES = (*KNOWN, *IGNORED, *REFUSED)
_SHOWABLE = re.compile(r"[0-9]{1,12}(\.[0-9]{1,4})?([KMGT]i?B|%|s)?", re.ASCII)


def canonical(value: object, volume: str) -> dict[str, OptionValue]:
    """The options that have an effect, in the given order. volume: for advice in messages.

    Raises Several with a sentence for each wrong option, ValueError if it is no mapping.
    """
    if not isinstance(value, Mapping):
        raise ValueError("must be a mapping, e.g. {acl: true, attribute-timeout: 120}")
    good: dict[str, OptionValue] = {}
    bad: list[tuple[Place, str]] = []
    for name, given in value.items():
        if _ignored(name):
            continue
        try:
            _take(name, given, volume, good)
        except ValueError as error:
            bad.append(((name,), str(error)))
    bad += _contradictions(value)
    if bad:
        raise Several(bad)
    return good


def warnings(value: object) -> list[tuple[str, str]]:
    """(option, sentence) for what is dropped, and for what is taken but worth a word."""
    found = []
    for name in value if isinstance(value, Mapping) else ():
        why = _ignored(name) or WARNINGS.get(name)
        if why:
            found.append((name, why))
    return found


def _ignored(name: str) -> str | None:
    if name.startswith("x-"):
        return "is ignored by mount.glusterfs; remove it"
    return IGNORED.get(name)


def _take(name: str, given: object, volume: str, good: dict[str, OptionValue]) -> None:
    kind = KNOWN.get(name)
    if kind is None:
        raise ValueError(_advice(name, given, volume))
    if not isinstance(kind, Flag):
        good[name] = _value(kind, given)
    elif not isinstance(given, bool):
        raise ValueError(_boolean(given))
    elif kind.opposite:
        if not given:  # `exec: false` is `noexec: true`; `exec: true` is what holds anyway
            good[kind.opposite] = True
    elif given:
        good[name] = True


def _contradictions(value: Mapping[str, object]) -> list[tuple[Place, str]]:
    return [
        ((name,), f"contradicts {kind.opposite}; remove one of them")
        for name, kind in KNOWN.items()
        if isinstance(kind, Flag)
        and isinstance(value.get(name), bool)
        and value.get(name) is value.get(kind.opposite)
    ]


def _value(kind: Kind, given: object) -> OptionValue:
    match kind:
        case Switch():
            if isinstance(given, bool):
                return given
            raise ValueError(_boolean(given))
        case Number():
            return _number(kind, given)
        case Choice():
            return _choice(kind, given)
        case Text():
            if isinstance(given, str) and re.fullmatch(kind.pattern, given, re.ASCII):
                return given
            raise ValueError(f"is not in the form of {kind.like}")
        case Flag():
            raise TypeError("a flag has no value")


def _boolean(given: object) -> str:
    if given is None:
        return "has no value; write true or false"
    return "must be true or false" + (", without quotes" if isinstance(given, str) else "")


def _number(kind: Number, given: object) -> int | float:
    unit = f" of {kind.unit}" if kind.unit else ""
    whole = "" if kind.decimals else "whole "
    if isinstance(given, bool) or not isinstance(given, int | float):
        raise ValueError(f"must be a {whole}number{unit}, without quotes or unit")
    if isinstance(given, float) and not kind.decimals:
        raise ValueError(f"must be a whole number{unit}")
    if not kind.low <= given <= kind.high:
        raise ValueError(f"is out of range; it may be {kind.low} to {kind.high}")
    return int(given) if given == int(given) else round(given, 3)


def _choice(kind: Choice, given: object) -> str:
    if isinstance(given, bool) and kind.booleans:
        return kind.booleans[0] if given else kind.booleans[1]
    if isinstance(given, str):
        word = given.upper() if kind.upper else given
        if word in kind.words:
            return word
    raise ValueError(f"must be one of {', '.join(kind.words)}")


def _advice(name: str, given: object, volume: str) -> str:
    if name in REFUSED:
        return REFUSED[name]
    if name in FICTION:
        real = FICTION[name]
        if not real:
            return "does not exist in GlusterFS; remove it"
        return f"does not exist in GlusterFS, {real} does; {_volume_set(real, given, volume)}"
    real = name if name in REAL else FOR_SHORT.get(name, "")
    if real:
        return f"is a volume option, not a mount option; {_volume_set(real, given, volume)}"
    near = difflib.get_close_matches(name, _NAMES, n=1, cutoff=0.72)
    if near:
        return f"is no option of mount.glusterfs; did you mean {near[0]}?"
    near = difflib.get_close_matches(name, (*REAL, *FOR_SHORT), n=1, cutoff=0.8)
    if near:
        real = FOR_SHORT.get(near[0], near[0])
        return (
            f"is no option of mount.glusterfs; if {real} is meant, that is a volume option;"
            f" {_volume_set(real, given, volume)}"
        )
    return "is no option of mount.glusterfs; remove it"


def _volume_set(option: str, given: object, volume: str) -> str:
    return f"on a storage node run: gluster volume set {volume} {option} {_shown(given)}"


def _shown(given: object) -> str:
    """The value for the advice; what is neither a boolean nor a size is not repeated."""
    text = given.text if isinstance(given, Ambiguous) else given
    if text is True or str(text).lower() in {"on", "yes", "enable", "true"}:
        return "on"
    if text is False or str(text).lower() in {"off", "no", "disable", "false"}:
        return "off"
    return str(text) if _SHOWABLE.fullmatch(str(text)) else "VALUE"
