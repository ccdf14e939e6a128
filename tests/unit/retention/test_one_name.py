"""Four families write `checkpoint-<step>`: which one it was, what lies inside decides."""

from typing import Any

import pytest

from agent.retention.formats import diffusers, hf, llamafactory, swift
from agent.retention.view import DIRECTORY
from tests.unit.retention.trees import Link, Unreadable
from tests.unit.retention.written import (
    WEIGHTS,
    accelerated,
    complete,
    evidence,
    factory,
    megatron_swift,
    records,
    swift_run,
    trainer,
    without,
)

FAMILIES = (swift.FAMILY, llamafactory.FAMILY, hf.FAMILY, diffusers.FAMILY)
NAME = "checkpoint-500"
MARKER = llamafactory.MARKER


def claimed(inside: Any) -> list[str]:
    """The families that find their own evidence in it, in the order they are asked."""
    tree = {NAME: inside}
    return [family.name for family in FAMILIES if evidence(family, tree)[NAME].genuine]


@pytest.mark.parametrize(
    ("inside", "first"),
    [
        (swift_run(500)[NAME], "swift"),
        (megatron_swift(500), "swift"),
        (trainer(500), "hf"),
        ({**trainer(500), "random_states_0.pkl": WEIGHTS}, "hf"),
        (factory(500), "llamafactory"),
        (without(factory(500), MARKER), "llamafactory"),
        (accelerated(), "diffusers"),
    ],
)
def test_the_first_that_finds_its_evidence(inside: Any, first: str) -> None:
    assert claimed(inside)[0] == first
    assert len(claimed(inside)) == (
        2 if "args.json" in inside and "iter_0000500" not in inside else 1
    )


@pytest.mark.parametrize(
    "inside",
    [
        {},
        {"model.safetensors": WEIGHTS, "config.json": b"{}"},
        {"README.md": b"results of step 500"},
        {"optimizer.bin": WEIGHTS, "scheduler.bin": WEIGHTS},
        {"random_states_0.pkl": Link("/home/alice/random_states_0.pkl")},
        {"metadata.json": b'{"global_step": 500}'},
        Unreadable(kind=DIRECTORY),
    ],
)
def test_a_name_alone_never_suffices(inside: Any) -> None:
    assert claimed(inside) == []


def test_diffusers_has_nothing_more_to_say() -> None:
    tree = {NAME: accelerated(), "checkpoint-000600": accelerated()}
    assert complete(diffusers.FAMILY, tree) == [NAME, "checkpoint-000600"]
    found = records(diffusers.FAMILY, tree)
    assert (found.leave, found.pointed, found.best, found.upto) == ("", {}, None, None)


def test_a_torn_checkpoint_of_another_trainer_is_not_diffusers() -> None:
    """LLaMA-Factory v1 saves through Accelerate, too: it would be whole before its marker is."""
    for torn in (b"", b"{", Unreadable()):
        inside = {**without(factory(500), MARKER), "metadata.json": torn}
        assert "diffusers" not in claimed(inside)
    assert claimed({**accelerated(), "trainer_state.json": b"{"}) == ["hf"]


def test_llamafactory_is_complete_with_its_marker() -> None:
    tree = {NAME: factory(500), "checkpoint-600": without(factory(600), MARKER)}
    found = evidence(llamafactory.FAMILY, tree)
    assert found[NAME].complete
    assert (found["checkpoint-600"].genuine, found["checkpoint-600"].complete) == (True, False)
    assert found["checkpoint-600"].why == f"{MARKER} is missing"


@pytest.mark.parametrize("node", [b"", b"{", b"[]", b"[" * 50_000, Unreadable(), Link("x")])
def test_llamafactory_with_unreadable_metadata_is_broken(node: Any) -> None:
    tree = {NAME: {**factory(500), "metadata.json": node}}
    found = evidence(llamafactory.FAMILY, tree)[NAME]
    assert (found.genuine, found.complete, found.broken) == (True, False, True)
