"""The `keep` of a rule of retention: which checkpoints of a run stay."""

from typing import Annotated, Literal

from pydantic import BeforeValidator, Field, field_validator

from agent.config.durations import Between
from agent.config.strict import GIVEN, Strict, kind

_BEST = "write 1 for what the framework calls its best, or {metric: eval_loss, mode: min}"
_YEARS = 10 * 365 * 86400


def _best(value: object) -> object:
    """`best: 1` is short for {count: 1}."""
    if isinstance(value, bool) or not isinstance(value, int | dict | BestConfig):
        raise ValueError(f"must be a number or a mapping; {_BEST}")
    if isinstance(value, int) and not 1 <= value <= 1000:
        raise ValueError("must be 1 to 1000; leave it out where the best one needs no keeping")
    if isinstance(value, dict) and "metric" not in value:
        raise ValueError(f"names no metric; {_BEST}")
    return {"count": value} if isinstance(value, int) else value


class BestConfig(Strict):
    """Which are the best. metric, mode: None where the framework says which."""

    metric: Annotated[
        str | None,
        GIVEN,
        Field(
            min_length=1,
            description="The metric, by its name in the run's records: eval_loss. Without one it is"
            " what the framework calls its best.",
        ),
    ] = None
    mode: Annotated[
        Literal["min", "max"] | None,
        GIVEN,
        Field(description="Whether less or more of the metric is better. It is never guessed."),
    ] = None
    count: Annotated[int, Field(ge=1, le=1000, description="How many of the best are kept.")] = 1


class KeepConfig(Strict):
    """What is kept; None: not by this."""

    last: Annotated[
        int | None,
        GIVEN,
        Field(
            ge=1,
            le=100_000,
            description="The newest complete ones of each run, by step and by time; the very newest"
            " stays in any case.",
        ),
    ] = None
    every_steps: Annotated[
        int | None,
        GIVEN,
        Field(
            ge=1,
            le=1_000_000_000,
            description="Those whose step is a multiple of it. Does not apply where names have"
            " epochs only.",
        ),
    ] = None
    best: Annotated[
        BestConfig | None,
        BeforeValidator(_best),
        Field(
            description="The best ones: 1 for the one that the framework recorded as such, or by a"
            " metric of the run's own records.",
            json_schema_extra=kind("1, or a mapping"),
        ),
    ] = None
    newer_than: Annotated[
        float | None,
        BeforeValidator(Between(1, _YEARS)),
        Field(description="Those that were written to since."),
    ] = None

    @field_validator("best", mode="after")
    @classmethod
    def _mode_is_said(cls, value: BestConfig | None) -> BestConfig | None:
        if value and value.metric and not value.mode:
            raise ValueError("has no mode, and it is never guessed; add mode: min or mode: max")
        return value
