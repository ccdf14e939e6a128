"""All families. Where several know a name, it belongs to the first that finds its own in it."""

from agent.retention.facts import Named
from agent.retention.formats import (
    automodel,
    deepspeed,
    diffusers,
    hf,
    kohya,
    lightning,
    llamafactory,
    megatron,
    nemo,
    orbax,
    swift,
    torchtitan,
    torchtune,
    verl,
)
from agent.retention.formats.family import Family
from agent.retention.view import Entry

FAMILIES: tuple[Family, ...] = (
    swift.FAMILY,
    llamafactory.FAMILY,
    hf.FAMILY,
    diffusers.FAMILY,
    verl.FAMILY,
    megatron.FAMILY,
    deepspeed.FAMILY,
    nemo.FAMILY,
    lightning.FAMILY,
    automodel.FAMILY,
    torchtune.FAMILY,
    torchtitan.FAMILY,
    kohya.FAMILY,
    orbax.FAMILY,
)
"""In the order they are asked: where the evidence of two fits, the narrower one comes first."""


def candidates(entry: Entry) -> tuple[tuple[Family, Named], ...]:
    """The families whose whole name it is. None looks into it."""
    return tuple(
        (family, named) for family in FAMILIES if (named := family.named(entry)) is not None
    )
