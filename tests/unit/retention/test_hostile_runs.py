"""Anybody may write into a run: whatever lies where a framework's files do, an answer comes."""

import json
import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.retention.facts import Evidence, Records
from agent.retention.formats import registry
from agent.retention.formats.family import Family
from agent.retention.view import DIRECTORY, FILE, LINK, OTHER, Entry
from tests.unit.retention.made import lightning_file, torch_file
from tests.unit.retention.saved import (
    automodel_checkpoint,
    kohya_model,
    kohya_state,
    lightning_deepspeed,
    lightning_directory,
    lightning_run,
    nemo_checkpoint,
    orbax_checkpoint,
    torchtitan_checkpoint,
    torchtitan_for_hf,
    torchtune_checkpoint,
)
from tests.unit.retention.trees import ODD, Link, Sized, Tree, TreeView, Unreadable
from tests.unit.retention.written import (
    accelerated,
    deepspeed_run,
    factory,
    megatron_swift,
    named,
    swift_run,
    trainer_run,
    verl_run,
)
from tests.unit.retention.written import megatron as megatron_run

FAMILIES: list[Family] = list(registry.FAMILIES)
NEMO = "m--val_loss=1.25-step=300"
KEYS = [
    "best_model_checkpoint",
    "best_global_step",
    "best_metric",
    "commit_timestamp_nsecs",
    "current_step",
    "global_step",
    "global_step/max_steps",
    "iteration",
    "metrics",
    "log_history",
    "num_training_steps",
    "step",
    "eval_loss",
]
RUNS: list[Tree] = [
    trainer_run(300, 400),
    {**swift_run(300, 400), "best": Link("checkpoint-300"), "ucp.txt": b"300"},
    {"checkpoint-300": megatron_swift(300), "logging.jsonl": b'{"iteration": "300/400"}\n'},
    {"checkpoint-300": accelerated(), "dlrover_latest.txt": b"300"},
    {"checkpoint-300": factory(300)},
    deepspeed_run("global_step400", 300, 400),
    megatron_run("400", 300, 400),
    verl_run("400", 300, 400),
    {
        **lightning_run("step=300.ckpt", "step=400.ckpt"),
        "best_k_models.yaml": b"step=300.ckpt: 1\n",
    },
    {"step=300.ckpt": lightning_directory(), "last.ckpt": Link("step=300.ckpt")},
    {"step=300.ckpt": lightning_deepspeed(), "hpc_ckpt_300.ckpt": lightning_file()},
    {NEMO: nemo_checkpoint(), f"{NEMO}-last": Link(NEMO), f"{NEMO}-unfinished": b""},
    {"epoch_0_step_300": automodel_checkpoint(), "LATEST": Link("epoch_0_step_300")},
    {"epoch_0_step_300": automodel_checkpoint(), "LOWEST_VAL.txt": b"epoch_0_step_300"},
    {"epoch_0": torchtune_checkpoint(), "step_300": torchtune_checkpoint(last=True)},
    {"step-300": torchtitan_checkpoint(), "step-400": torchtitan_for_hf()},
    {"300": orbax_checkpoint({"loss": 1.5}), "state_400": orbax_checkpoint()},
    {"cat-000300.safetensors": kohya_model(), "cat-000300-state": kohya_state()},
    {"cat-step00000300.pt": torch_file({}), "cat-step00000300-state": kohya_state()},
]
words = st.sampled_from(
    [
        "checkpoint-300",
        "checkpoint-400",
        "epoch_0_step_300",
        "global_step300",
        "iter_0000300",
        "step=300.ckpt",
        "300",
        "400",
        "release",
    ]
)
PREFIXES = {
    "checkpoint-",
    "global_step_",
    "global_step",
    "iter_",
    "step-",
    "step_",
    "epoch_",
    "",
}
values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text() | words,
    lambda inner: st.lists(inner) | st.dictionaries(st.sampled_from(KEYS) | st.text(), inner),
    max_leaves=20,
)
nodes = st.one_of(
    st.binary(),
    words.map(str.encode),
    values.map(lambda value: json.dumps(value).encode()),
    st.just(ODD),
    st.builds(Link, st.text() | words),
    st.builds(Unreadable, st.text(), st.sampled_from([FILE, DIRECTORY])),
    st.builds(Sized, st.integers(0, 100) | st.just(65 << 20), st.binary(max_size=8)),
    st.dictionaries(words, st.binary(), max_size=2),
)


def places(tree: Tree, path: tuple[str, ...] = ()) -> list[tuple[str, ...]]:
    """Every node in it."""
    found = []
    for name, node in tree.items():
        found.append((*path, name))
        if isinstance(node, dict):
            found.extend(places(node, (*path, name)))
    return found


def put(tree: Tree, place: tuple[str, ...], node: Any) -> Tree:
    """The tree with another node there; as it was where there is no such place any more."""
    name, *rest = place
    if not rest:
        return {**tree, name: node}
    inner = tree.get(name)
    return {**tree, name: put(inner, tuple(rest), node)} if isinstance(inner, dict) else tree


@st.composite
def attacked(draw: st.DrawFn) -> Tree:
    """A run in which one or more nodes are something else."""
    tree = draw(st.sampled_from(RUNS))
    for place in draw(st.lists(st.sampled_from(places(tree)), min_size=1, max_size=4)):
        tree = put(tree, place, draw(nodes))
    return tree


@pytest.mark.parametrize("family", FAMILIES, ids=lambda family: family.name)
@given(tree=attacked())
def test_every_question_has_an_answer(family: Family, tree: Tree) -> None:
    names = named(family, tree)
    for one in names:
        found = family.evidence(TreeView(tree), one)
        assert isinstance(found, Evidence)
        assert found.why or (found.genuine and found.complete)
        assert not (found.broken and found.complete)
    check(family.records(TreeView(tree), names), tree)


def check(records: Records, tree: Tree) -> None:
    """What decides about deletions is of the kind it says."""
    assert set(records.pointed) <= set(tree)
    assert set(records.best or ()) <= set(tree)
    assert records.upto is None or 0 <= records.upto < 10**18
    for values_of_step in records.metrics.values():
        assert all(math.isfinite(value) for value in values_of_step.values())
    assert all(finding.isprintable() for finding in records.findings)


@pytest.mark.parametrize("family", FAMILIES, ids=lambda family: family.name)
@given(
    name=st.text()
    | st.from_regex(
        r"(tmp-)?(checkpoint-|global_step_?|iter_|step[-_=]|epoch[_=]|x--step=|hpc_ckpt_|)\d{1,25}"
        r"(-merged|-last|-state|-v\d|\.ckpt|\.pt|\.orbax-checkpoint-tmp-1|\n)?",
        fullmatch=True,
    ),
    kind=st.sampled_from([FILE, DIRECTORY, LINK, OTHER]),
)
def test_a_name_matches_whole_or_not_at_all(family: Family, name: str, kind: str) -> None:
    entry = Entry(name, kind)
    found = family.named(entry)
    assert not (found is not None and family.staging(entry))
    if found is not None:
        assert kind in {FILE, DIRECTORY}
        assert 0 <= found.order < 10**18
        assert str(found.order) in name or found.series == "last"
        assert not name.endswith(("-merged", "\n"))
        if not found.stem and found.family != "lightning":
            assert name.isascii()
            assert name.endswith(str(found.order))
            assert name.rstrip("0123456789") in PREFIXES


@pytest.mark.parametrize("family", FAMILIES, ids=lambda family: family.name)
@given(tree=attacked())
def test_an_unreadable_pointer_never_lets_the_run_go(family: Family, tree: Tree) -> None:
    """Where pointers can't be listed at all, the run is left or says nothing is known of it."""
    names = named(family, tree)
    found = family.records(TreeView(Unreadable(kind=DIRECTORY)), names)
    assert found.leave or found == Records()
