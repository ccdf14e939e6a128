"""pydantic's findings -> Problems in the words of the user, with line and column."""

import difflib
from collections.abc import Iterator

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from agent.config import names
from agent.config.identities_schema import IdentitiesConfig, RemapConfig, UserConfig
from agent.config.keep_schema import BestConfig, KeepConfig
from agent.config.later import NAME
from agent.config.layout_schema import DirectoryConfig, DirectoryDefaults, LayoutConfig
from agent.config.options_table import IGNORED, KNOWN, REFUSED
from agent.config.problems import Place, Problem, Several
from agent.config.retention_schema import (
    FreeSpaceConfig,
    RetentionConfig,
    RuleConfig,
    TrashConfig,
)
from agent.config.schema import Config, HealthConfig, MountConfig, ProbeConfig, RecoveryConfig
from agent.config.strict import KEY
from agent.config.tree import Tree, dotted

NO_MOUNTS = "mounts: {} says that there are none"
_RULE = ("mounts", NAME, "retention", "rules", NAME)
_MODELS: dict[tuple[str, ...], type[BaseModel]] = {
    ("health",): HealthConfig,
    ("mounts", NAME): MountConfig,
    ("mounts", NAME, "probe"): ProbeConfig,
    ("mounts", NAME, "recovery"): RecoveryConfig,
    ("mounts", NAME, "layout"): LayoutConfig,
    ("mounts", NAME, "layout", "defaults"): DirectoryDefaults,
    ("mounts", NAME, "layout", "directories", NAME): DirectoryConfig,
    ("mounts", NAME, "retention"): RetentionConfig,
    ("mounts", NAME, "retention", "trash"): TrashConfig,
    _RULE: RuleConfig,
    (*_RULE, "keep"): KeepConfig,
    (*_RULE, "keep", "best"): BestConfig,
    (*_RULE, "free_space"): FreeSpaceConfig,
    ("identities",): IdentitiesConfig,
    ("identities", "users", NAME): UserConfig,
    ("identities", "remap"): RemapConfig,
}
"""What stands where, but for the top of the file."""

_PATH_WORDS = frozenset({"mountpoint", "mount_point", "mount-point", "mount", "target", "where"})
"""What other tools call the path."""

_WRONG_TYPE = {
    **dict.fromkeys(("model_type", "dict_type", "mapping_type"), "must be a mapping of keys"),
    "string_type": names.QUOTE_IT,
    "bool_type": "must be true or false, without quotes",
    "int_type": "must be a whole number, without quotes",
    "int_from_float": "must be a whole number",
}
"""What pydantic calls an error -> what we call it."""


def problems(error: ValidationError, tree: Tree) -> Iterator[Problem]:
    """Every finding of one validation."""
    for found in error.errors(include_url=False, include_input=True):
        yield from _one(found, tree)


def _one(found: ErrorDetails, tree: Tree) -> Iterator[Problem]:
    place: Place = found["loc"]
    if place[-1] == KEY:
        yield tree.problem(place, str(found["ctx"]["error"]))
        return
    if found["type"] == "extra_forbidden":
        yield tree.problem((*place, KEY), _unknown_key(place))
        return
    if found["type"] == "missing":
        message = f"is missing{_example(place)}"
        yield Problem(*tree.key_at(place[:-1]), dotted(place), message)
        return
    if found["type"] == "value_error":
        cause = found["ctx"]["error"]
        inner = cause.found if isinstance(cause, Several) else (((), str(cause)),)
        for below, message in inner:
            # What is no option is wrong as a key, all else as a value.
            is_key = place[-1] == "options" and below and below[0] not in KNOWN
            yield tree.problem((*place, *below, *((KEY,) if is_key else ())), message)
        return
    yield tree.problem(place, _type_message(found))


def _type_message(found: ErrorDetails) -> str:
    kind, context = found["type"], found.get("ctx", {})
    if found["input"] is None:
        only = found["loc"] == ("mounts",)
        return "is empty; " + ("write mounts: {} for none" if only else "fill it in, or remove it")
    if kind == "dict_type" and found["loc"] == ("mounts",):
        return "must be a mapping from names of yours to mounts, e.g. model-share: {volume: ...}"
    if kind == "literal_error":
        return f"must be {context['expected'].replace(chr(39), '')}"
    if kind == "greater_than_equal":
        return f"must be at least {context['ge']}"
    if kind == "less_than_equal":
        return f"must be at most {context['le']}"
    return _WRONG_TYPE.get(kind, f"is not right: {found['msg']}")


def _unknown_key(place: Place) -> str:
    model, key = _model_at(place[:-1]), str(place[-1])
    known = list(model.model_fields)
    if model is MountConfig and key.lower() in _PATH_WORDS:
        return "is no key here; did you mean path?"
    near = difflib.get_close_matches(key, known, n=1, cutoff=0.6)
    if near:
        return f"is no key here; did you mean {near[0]}?"
    if model is MountConfig and (key in KNOWN or key in IGNORED or key in REFUSED):
        return "is an option of mount.glusterfs; write it under options:"
    return f"is no key here; there are {', '.join(known)}"


def _model_at(place: Place) -> type[BaseModel]:
    for pattern, model in _MODELS.items():
        if len(pattern) == len(place) and all(
            part in (NAME, given) for part, given in zip(pattern, place, strict=True)
        ):
            return model
    return Config


def _example(place: Place) -> str:
    if place == ("mounts",):
        return f"; {NO_MOUNTS}"
    examples = {
        "volume": "model-store",
        "servers": "[node1, node2, node3]",
        "path": "/mnt/model-share",
        "directories": "{cache: {}}",
        "uid": "20001",
        "group": "ml",
        "rules": "[{path: checkpoints, keep: {last: 3}}]",
        "keep": "{last: 3}",
        "start_below": "10%",
        "stop_above": "15%",
    }
    if "rules" in place[2:]:
        examples["path"] = "checkpoints/finetune"
    example = examples.get(str(place[-1]))
    return f", e.g. {place[-1]}: {example}" if example else ""
