"""All families, and which of them wrote a name that several know."""

from typing import NamedTuple

from agent.retention.facts import Evidence, Named
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
from agent.retention.view import Entry, View

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


class Found(NamedTuple):
    """A name, and what was found in it."""

    family: Family
    named: Named
    evidence: Evidence


def by_name(name: str) -> Family | None:
    """The family that `format:` calls so."""
    return next((family for family in FAMILIES if family.name == name), None)


def candidates(entry: Entry) -> tuple[tuple[Family, Named], ...]:
    """The families whose whole name it is. None looks into it."""
    return tuple(
        (family, named) for family in FAMILIES if (named := family.named(entry)) is not None
    )


def staging(entry: Entry) -> bool:
    """Whether any family writes a checkpoint under that name."""
    return any(family.staging(entry) for family in FAMILIES)


def resolve(run: View, entry: Entry) -> Found | None:
    """Which family wrote it: of those that know the name, the first that finds its own in it.

    Where none does, the first that knows the name stands for them, with what it misses. None where
    no family knows the name.
    """
    first: Found | None = None
    for family, named in candidates(entry):
        found = Found(family, named, family.evidence(run, named))
        if found.evidence.genuine:
            return found
        first = first or found
    return first
