"""The `retention` of a mount: which checkpoints are kept, where, and for how long the others are.

Pure. What rules demand of each other stands in `between.py`.
"""

from typing import Annotated, Any, Literal, get_args

from pydantic import BeforeValidator, Field, field_validator

from agent.config import inner_paths, patterns, sizes
from agent.config.durations import Between
from agent.config.keep_schema import KeepConfig
from agent.config.problems import Place, Several
from agent.config.sizes import Amount, Share
from agent.config.strict import GIVEN, Strict, kind

Format = Literal[
    "hf",
    "swift",
    "diffusers",
    "llamafactory",
    "deepspeed",
    "megatron",
    "verl",
    "lightning",
    "nemo",
    "automodel",
    "torchtune",
    "torchtitan",
    "orbax",
    "kohya",
]
"""Who writes checkpoints, as they stand in `format:`."""
FORMATS: tuple[str, ...] = get_args(Format)

MOST_RULES = 200
"""Of one mount: each is compared with each."""

_YEARS = 10 * 365 * 86400
_AMOUNT = kind("a share or a size")


def rule_path(value: object) -> str:
    """The pattern of a rule, as given. Raises ValueError."""
    path = inner_paths.directory(value)
    for part in path.split("/"):
        if "**" in part:
            raise ValueError("has ** in it; runs are found to a depth of 6 anyway: leave it out")
        if any(patterns.matches(part, name) for name in inner_paths.RESERVED):
            raise ValueError("has a pattern for the agent's or GlusterFS's own directories in it")
        if not {"[", "]", "{", "}", "\\"}.isdisjoint(part):
            raise ValueError("may have * and ? for letters of a name, and no [ ] { } \\")
    return path


class FreeSpaceConfig(Strict):
    """When what need not stay goes early."""

    start_below: Annotated[
        Amount,
        BeforeValidator(sizes.amount),
        Field(
            description="While less is free, the trash is emptied early, and if that is not enough,"
            " the oldest of what only every_steps and newer_than keep goes too.",
            json_schema_extra=_AMOUNT,
        ),
    ]
    stop_above: Annotated[
        Amount,
        BeforeValidator(sizes.amount),
        Field(description="Until so much of the volume is free.", json_schema_extra=_AMOUNT),
    ]


class RuleConfig(Strict):
    """What holds for the runs below some directories."""

    path: Annotated[
        str,
        BeforeValidator(rule_path),
        Field(
            description="Where the runs are: a directory below the mount's path, or a pattern with"
            " * and ? in its names. Of several rules the one with more names without these wins.",
            json_schema_extra=kind("a path, also with * and ?"),
        ),
    ]
    keep: Annotated[
        KeepConfig,
        Field(description="What is kept: whatever one of these wants. At least one is needed."),
    ]
    quiet_for: Annotated[
        float,
        BeforeValidator(Between(1, 30 * 86400)),
        Field(
            description="One that was written to more recently is still being written. Also how"
            " long a checkpoint must have been about to go, unchanged, before it goes."
        ),
    ] = 900.0
    format: Annotated[
        Format | None,
        GIVEN,
        Field(
            description="Who writes here. Names of this format then need no other evidence that"
            " they are checkpoints: only for directories where nothing else lies."
        ),
    ] = None
    free_space: Annotated[
        FreeSpaceConfig | None,
        GIVEN,
        Field(description="When the volume is nearly full."),
    ] = None
    max_size: Annotated[
        int | None,
        BeforeValidator(sizes.parse),
        Field(
            description="When the rule's checkpoints are larger than this, the oldest of what only"
            " every_steps and newer_than keep goes.",
            json_schema_extra=kind("a size"),
        ),
    ] = None

    @field_validator("keep", mode="after")
    @classmethod
    def _something_is_kept(cls, value: KeepConfig) -> KeepConfig:
        if value == KeepConfig():
            raise ValueError("is empty; say what is kept, e.g. {last: 3}")
        return value

    @field_validator("free_space", mode="after")
    @classmethod
    def _stops_above(cls, value: FreeSpaceConfig | None) -> FreeSpaceConfig | None:
        if value is None:
            return value
        start, stop = value.start_below, value.stop_above
        here: Place = ("stop_above",)
        if isinstance(start, Share) != isinstance(stop, Share):
            raise Several([(here, "must be a share or a size as start_below is")])
        if not _bare(start) < _bare(stop):
            raise Several([(here, "must be more than start_below")])
        return value


def _bare(amount: Amount) -> int:
    return amount.percent if isinstance(amount, Share) else amount


class TrashConfig(Strict):
    """What becomes of what was deleted."""

    keep_for: Annotated[
        float,
        BeforeValidator(Between(1, _YEARS)),
        Field(description="How long it can still be restored."),
    ] = 259200.0


class RetentionConfig(Strict):
    """All of it. rules: in the order of the file."""

    mode: Annotated[
        Literal["report", "enforce"],
        Field(description="Whether it is said what would go, or done."),
    ] = "report"
    every: Annotated[
        float,
        BeforeValidator(Between(1, 30 * 86400)),
        Field(description="How often the volume is looked at."),
    ] = 3600.0
    trash: Annotated[TrashConfig, Field(description="Where deleted ones stay for a while.")] = (
        TrashConfig()
    )
    rules: Annotated[
        tuple[RuleConfig, ...],
        Field(
            description="What is kept where. What no rule is about is never touched.",
            json_schema_extra=kind("list of mappings"),
        ),
    ]

    @field_validator("rules", mode="before")
    @classmethod
    def _a_list(cls, value: Any) -> tuple[Any, ...]:
        if not isinstance(value, list | tuple):
            raise ValueError("must be a list, e.g. [{path: checkpoints, keep: {last: 3}}]")
        if not value:
            raise ValueError("is empty; write a rule, or remove retention")
        if len(value) > MOST_RULES:
            raise ValueError(f"has more than {MOST_RULES} rules; use patterns in their paths")
        return tuple(value)
