"""Runs with a tracker or `latest` beside their checkpoints: Megatron-LM, verl, DeepSpeed."""

from typing import Any

import pytest

from agent.retention.formats import deepspeed, megatron, verl
from agent.retention.formats.family import Family
from agent.retention.view import DIRECTORY, FILE, LINK
from tests.unit.retention.trees import ODD, Link, Sized, Tree, TreeView, Unreadable
from tests.unit.retention.written import (
    WEIGHTS,
    complete,
    deepspeed_run,
    distributed,
    evidence,
    matched,
    named,
    records,
    verl_run,
    without,
)
from tests.unit.retention.written import megatron as megatron_run

TRACKER = megatron.TRACKER
RUNS: list[tuple[Family, Tree, str, str]] = [
    (megatron.FAMILY, megatron_run("400\n", 300, 400, 500), TRACKER, "iter_0000400"),
    (verl.FAMILY, verl_run("400", 300, 400, 500), TRACKER, "global_step_400"),
    (deepspeed.FAMILY, deepspeed_run("global_step400", 300, 400, 500), "latest", "global_step400"),
]
each_run = pytest.mark.parametrize(
    ("family", "tree", "pointer", "newest"), RUNS, ids=["megatron", "verl", "deepspeed"]
)


@each_run
def test_complete_is_what_the_pointer_names_and_what_is_older(
    family: Family, tree: Tree, pointer: str, newest: str
) -> None:
    found = records(family, tree)
    assert (found.leave, found.upto, found.pointed) == ("", 400, {newest: pointer})
    assert len(complete(family, tree)) == 3
    assert not family.staging(TreeView(tree).entries()[newest])


@each_run
def test_a_pointer_to_what_is_gone_leaves_the_run(
    family: Family, tree: Tree, pointer: str, newest: str
) -> None:
    assert records(family, without(tree, newest)).leave == f"{pointer} names " + (
        f"{newest}, which is gone" if pointer == TRACKER else f"'{newest}', which is gone"
    )
    for node in (WEIGHTS, Link("."), ODD):
        assert records(family, {**tree, newest: node}).leave.endswith("which is gone")


@each_run
def test_without_pointer_nothing_is_known_to_be_complete(
    family: Family, tree: Tree, pointer: str, newest: str
) -> None:
    assert records(family, without(tree, pointer)).leave.startswith(f"there is no {pointer}")


@pytest.mark.parametrize(
    "node",
    [
        b"",
        b" \n",
        b"\xff\xfe",
        b"400\x00",
        b"400\n500",
        b"/etc",
        b"..",
        b"../400",
        "\u0664\u0660\u0660".encode(),
        b"+400",
        b"4_00",
        b"-1",
        b"4" * 19,
        b"best",
        Sized(1 << 20, b"400"),
        Unreadable(),
        Link("elsewhere"),
        {},
        ODD,
    ],
)
@each_run
def test_a_pointer_that_says_anything_else_leaves_the_run(
    family: Family, tree: Tree, pointer: str, newest: str, node: Any
) -> None:
    found = records(family, {**tree, pointer: node})
    assert found.leave.startswith(pointer)
    assert found.upto is None


@each_run
def test_a_name_without_files_of_ranks_is_not_genuine(
    family: Family, tree: Tree, pointer: str, newest: str
) -> None:
    for inside in ({}, {"shard-000001.pt": WEIGHTS, "README": b""}, {"data.pt": WEIGHTS}):
        found = evidence(family, {**tree, newest: inside})[newest]
        assert (found.genuine, found.complete) == (False, False)
        assert found.why == "no file of a rank is in it"


@each_run
def test_a_checkpoint_that_cant_be_listed_is_broken(
    family: Family, tree: Tree, pointer: str, newest: str
) -> None:
    found = evidence(family, {**tree, newest: Unreadable(kind=DIRECTORY)})[newest]
    assert (found.genuine, found.complete, found.broken) == (False, False, True)


@pytest.mark.parametrize(
    ("family", "yes", "no"),
    [
        (
            megatron.FAMILY,
            ["iter_0000500", "iter_0000000", "iter_12345678"],
            ["iter_500", "iter_00000500", "iter_000050", "release", "iter_0000500.bak", "iter_"],
        ),
        (
            verl.FAMILY,
            ["global_step_500", "global_step_0"],
            [
                "global_step500",
                "global_step_",
                "global_step_5a",
                "global_step__5",
                "global_step_\u0665",
            ],
        ),
        (
            deepspeed.FAMILY,
            ["global_step500", "global_step0"],
            ["global_step_500", "global_step500_universal", "best", "latest", "epoch3", "500"],
        ),
    ],
)
def test_names(family: Family, yes: list[str], no: list[str]) -> None:
    assert matched(family, yes + no, DIRECTORY) == yes
    assert matched(family, yes, FILE) == matched(family, yes, LINK) == []


def test_iterations_are_ordered_by_number() -> None:
    tree = megatron_run("9999999", 9999999, 10000000, 900000)
    assert [one.order for one in named(megatron.FAMILY, tree)] == [900000, 9999999, 10000000]


@pytest.mark.parametrize("node", [{}, b"", Link("iter_0000300")])
def test_release_beside_iterations_leaves_the_run(node: Any) -> None:
    tree = {**megatron_run("400", 300, 400), "release": node}
    assert records(megatron.FAMILY, tree).leave == "release lies beside the iterations"


def test_a_tracker_that_says_release_leaves_the_run() -> None:
    assert records(megatron.FAMILY, megatron_run("release", 300)).leave == f"{TRACKER} says release"


def test_distributed_shards_are_complete_with_their_metadata() -> None:
    tree = {"iter_0000500": distributed(), "iter_0000600": without(distributed(), ".metadata")}
    found = evidence(megatron.FAMILY, tree)
    assert found["iter_0000500"].complete
    assert (found["iter_0000600"].genuine, found["iter_0000600"].complete) == (True, False)


def test_a_save_of_megatron_core_that_had_only_begun_is_not_complete() -> None:
    tree = {
        "iter_0000500": {"common.pt": WEIGHTS},
        "iter_0000600": without(distributed(), "metadata.json"),
        "iter_0000700": without(distributed(), "common.pt", "metadata.json"),
    }
    found = evidence(megatron.FAMILY, tree)
    assert all(one.genuine for one in found.values())
    assert [name for name, one in found.items() if one.complete] == ["iter_0000700"]


@pytest.mark.parametrize("rank", ["mp_rank_00", "mp_rank_01_003", "mp_rank_00_000_007"])
def test_ranks_of_tensors_pipelines_and_experts(rank: str) -> None:
    tree = {"iter_0000500": {rank: {"model_optim_rng.pt": WEIGHTS}}}
    assert complete(megatron.FAMILY, tree) == ["iter_0000500"]


def test_gradients_saved_for_debugging_are_no_checkpoint() -> None:
    assert complete(megatron.FAMILY, {"iter_0000500": {"mp_rank_00.pth": WEIGHTS}}) == []


def test_an_empty_directory_of_a_rank_is_no_evidence() -> None:
    assert complete(megatron.FAMILY, {"iter_0000500": {"mp_rank_00": {}}}) == []


@pytest.mark.parametrize(
    "inside",
    [
        {"actor": {"model_world_size_8_rank_0.pt": WEIGHTS}},
        {"critic": {"optim_world_size_8_rank_7.pt": WEIGHTS}},
        {"actor": {"dist_ckpt": {}, "huggingface": {}}},
        {"extra_state_world_size_1_rank_0.pt": WEIGHTS, "data_0.pt": WEIGHTS},
    ],
)
def test_files_of_verl(inside: Tree) -> None:
    assert complete(verl.FAMILY, {"global_step_5": inside}) == ["global_step_5"]


def test_roles_are_not_reached_through_links() -> None:
    assert complete(verl.FAMILY, {"global_step_5": {"actor": Link("../global_step_4/actor")}}) == []


@pytest.mark.parametrize(
    "name",
    [
        "mp_rank_00_model_states.pt",
        "zero_pp_rank_0_mp_rank_00_model_states.pt",
        "zero_pp_rank_12_mp_rank_03_model_states.pt",
    ],
)
def test_model_states_of_deepspeed(name: str) -> None:
    assert complete(deepspeed.FAMILY, {"global_step5": {name: WEIGHTS}}) == ["global_step5"]
    assert complete(deepspeed.FAMILY, {"global_step5": {name: Link("/etc/passwd")}}) == []


@pytest.mark.parametrize(
    "name",
    [
        "zero_pp_rank_0_mp_rank_00_optim_states.pt",
        "zero_pp_rank_0_mp_rank_00optim_states.pt",
        "bf16_zero_pp_rank_1_mp_rank_00_optim_states.pt",
    ],
)
def test_optimizer_states_alone_are_genuine_and_incomplete(name: str) -> None:
    found = evidence(deepspeed.FAMILY, {"global_step5": {name: WEIGHTS}})["global_step5"]
    assert (found.genuine, found.complete) == (True, False)


def test_a_tag_of_peoples_own_has_no_place_in_the_order() -> None:
    tree = {**deepspeed_run("best", 300, 400), "best": {"mp_rank_00_model_states.pt": WEIGHTS}}
    assert (
        records(deepspeed.FAMILY, tree).leave
        == "latest names 'best', which has no place in the order"
    )


def test_universal_checkpoints_are_pointed_to_as_well() -> None:
    tree = {**deepspeed_run("global_step400", 300, 400), "latest_universal": b"global_step300"}
    assert records(deepspeed.FAMILY, tree).pointed == {
        "global_step400": "latest",
        "global_step300": "latest_universal",
    }
    gone = {**tree, "latest_universal": b"global_step300_universal"}
    assert records(deepspeed.FAMILY, gone).leave.startswith("latest_universal names")
    there = {**gone, "global_step300_universal": {}}
    assert records(deepspeed.FAMILY, there).leave == ""
