"""torchtune, torchtitan and Orbax: directories with a number, told by what lies in them."""

import json

import pytest

from agent.retention.formats import orbax, torchtitan, torchtune
from agent.retention.view import DIRECTORY, FILE, LINK, Entry
from tests.unit.retention.made import safetensors_file, torch_file
from tests.unit.retention.saved import (
    Run,
    orbax_checkpoint,
    torchtitan_checkpoint,
    torchtitan_for_hf,
    torchtune_checkpoint,
)
from tests.unit.retention.trees import TreeView, Unreadable
from tests.unit.retention.written import evidence, records, without


def test_epochs_and_steps_of_torchtune() -> None:
    epoch = torchtune.FAMILY.named(Entry("epoch_3", DIRECTORY))
    step = torchtune.FAMILY.named(Entry("step_3", DIRECTORY))
    assert epoch is not None
    assert step is not None
    assert (epoch.series, epoch.order, epoch.step) == ("epoch", 3, None)
    assert (step.series, step.order, step.step) == ("step", 3, 3)


@pytest.mark.parametrize(
    "name", ["epoch_", "epoch_1_old", "epoch-1", "step_1.tmp", "xstep_1", "epoch_1_step_2"]
)
def test_other_names_are_not_torchtunes(name: str) -> None:
    assert torchtune.FAMILY.named(Entry(name, DIRECTORY)) is None


@pytest.mark.parametrize(
    "tree",
    [
        torchtune_checkpoint(),
        {"recipe_state.pt": torch_file({}), "model.safetensors": safetensors_file()},
        {"model-00001-of-00001.bin": torch_file({})},
        {"ft-model-00001-of-00001.safetensors": safetensors_file()},
        {"adapter_model.pt": torch_file({}), "adapter_config.json": b"{}"},
        {"recipe_state.pt": torch_file({}), ".metadata": b"x", "__0_0.distcp": b"x"},
        {"recipe_state.pt": torch_file({}), "adapter_model": {".metadata": b"x"}},
    ],
)
def test_a_whole_checkpoint_of_torchtune(tree: Run) -> None:
    found = evidence(torchtune.FAMILY, {"epoch_0": tree})["epoch_0"]
    assert found.genuine
    assert found.complete


@pytest.mark.parametrize(
    "tree",
    [
        {},
        torchtune_checkpoint(last=True),
        {
            "model.safetensors": safetensors_file(),
            "optimizer.bin": b"x",
            "random_states_0.pkl": b"x",
        },
        {"0001.jpg": b"x"},
    ],
)
def test_what_other_scripts_leave_is_not_torchtunes(tree: Run) -> None:
    assert not evidence(torchtune.FAMILY, {"epoch_0": tree})["epoch_0"].genuine


@pytest.mark.parametrize(
    "tree",
    [
        without(torchtune_checkpoint(), "model-00002-of-00002.safetensors"),
        {"recipe_state.pt": torch_file({})},
        {"recipe_state.pt": torch_file({}), ".metadata": b""},
        {**torchtune_checkpoint(), "recipe_state.pt": torch_file({})[:-1]},
    ],
)
def test_an_unfinished_checkpoint_of_torchtune(tree: Run) -> None:
    found = evidence(torchtune.FAMILY, {"step_5": tree})["step_5"]
    assert (found.genuine, found.complete) == (True, False)


def test_one_state_for_all_epochs_lies_beside_them() -> None:
    whole = torchtune_checkpoint(last=True)
    epochs = {
        "epoch_0": whole,
        "epoch_1": without(whole, "model.safetensors.index.json"),
        "epoch_2": {"model.safetensors": safetensors_file()},
    }
    run = {**epochs, "recipe_state": {"recipe_state.pt": torch_file({})}}
    found = evidence(torchtune.FAMILY, run)
    assert {name: (one.genuine, one.complete) for name, one in found.items()} == {
        "epoch_0": (True, True),
        "epoch_1": (True, False),
        "epoch_2": (False, True),
    }
    without_state = evidence(torchtune.FAMILY, {**epochs, "recipe_state": {}})
    assert not any(one.genuine for one in without_state.values())


@pytest.mark.parametrize("tree", [torchtitan_checkpoint(), torchtitan_for_hf()])
def test_a_whole_checkpoint_of_torchtitan(tree: Run) -> None:
    found = evidence(torchtitan.FAMILY, {"step-100": tree})["step-100"]
    assert found.genuine
    assert found.complete


@pytest.mark.parametrize(
    "tree",
    [
        without(torchtitan_checkpoint(), ".metadata"),
        {**torchtitan_checkpoint(), ".metadata": b""},
        without(torchtitan_for_hf(), "model.safetensors.index.json"),
    ],
)
def test_an_unfinished_checkpoint_of_torchtitan(tree: Run) -> None:
    found = evidence(torchtitan.FAMILY, {"step-100": tree})["step-100"]
    assert (found.genuine, found.complete) == (True, False)


@pytest.mark.parametrize("tree", [{}, {".metadata": b"x"}, {"model.safetensors.index.json": b"{}"}])
def test_a_name_of_torchtitan_alone_says_nothing(tree: Run) -> None:
    assert not evidence(torchtitan.FAMILY, {"step-100": tree})["step-100"].genuine


@pytest.mark.parametrize("name", ["step-", "step-1-old", "step_1", "tmp-step-1"])
def test_other_names_are_not_torchtitans(name: str) -> None:
    assert torchtitan.FAMILY.named(Entry(name, DIRECTORY)) is None


@pytest.mark.parametrize(
    ("name", "stem", "step"),
    [
        ("500", "", 500),
        ("000500", "", 500),
        ("0", "", 0),
        ("state_500", "state", 500),
        ("my_state_0500", "my_state", 500),
    ],
)
def test_a_name_of_orbax(name: str, stem: str, step: int) -> None:
    said = orbax.FAMILY.named(Entry(name, DIRECTORY))
    assert said is not None
    assert (said.stem, said.order, said.step) == (stem, step, step)


@pytest.mark.parametrize(
    "name",
    ["-1", "_500", "state-500", "500_state", "9" * 19, "500.orbax-checkpoint-tmp-17_5", "٣"],
)
def test_other_names_are_not_orbaxs(name: str) -> None:
    assert orbax.FAMILY.named(Entry(name, DIRECTORY)) is None


def test_orbax_writes_directories() -> None:
    assert orbax.FAMILY.named(Entry("500", FILE)) is None
    assert orbax.FAMILY.named(Entry("500", LINK)) is None


@pytest.mark.parametrize(
    "name",
    [
        "500.orbax-checkpoint-tmp",
        "500.orbax-checkpoint-tmp-1796048553",
        "state_5.orbax-checkpoint-tmp-1",
    ],
)
def test_what_orbax_has_not_renamed_yet_is_staging(name: str) -> None:
    assert orbax.FAMILY.staging(Entry(name, DIRECTORY))


def orbax_changed(**changes: object) -> Run:
    """A checkpoint without the commit file, with other metadata."""
    tree = without(orbax_checkpoint(), "commit_success.txt")
    metadata = json.loads(tree["_CHECKPOINT_METADATA"]) | changes
    return {**tree, "_CHECKPOINT_METADATA": json.dumps(metadata).encode()}


@pytest.mark.parametrize("tree", [orbax_checkpoint(), orbax_changed()])
def test_a_committed_checkpoint_of_orbax(tree: Run) -> None:
    found = evidence(orbax.FAMILY, {"500": tree})["500"]
    assert found.genuine
    assert found.complete


@pytest.mark.parametrize(
    "tree",
    [
        orbax_changed(commit_timestamp_nsecs=None),
        orbax_changed(commit_timestamp_nsecs="soon"),
        {**orbax_checkpoint(), "state.orbax-checkpoint-tmp-17": {}},
    ],
)
def test_an_unfinished_checkpoint_of_orbax(tree: Run) -> None:
    found = evidence(orbax.FAMILY, {"500": tree})["500"]
    assert (found.genuine, found.complete, found.broken) == (True, False, False)


@pytest.mark.parametrize("node", [b"{", b"[]", b"", Unreadable("EIO")])
def test_metadata_of_orbax_that_cannot_be_read_break_it(node: object) -> None:
    found = evidence(orbax.FAMILY, {"500": {**orbax_checkpoint(), "_CHECKPOINT_METADATA": node}})[
        "500"
    ]
    assert found.broken
    assert not found.complete


def test_the_directories_of_a_data_set_are_not_even_listed() -> None:
    class Unlisted(TreeView):
        def entries(self) -> dict[str, Entry]:
            raise AssertionError

    class Run(TreeView):
        def below(self, name: str) -> TreeView:
            return Unlisted({"00001.jpg": b"x"})

    said = orbax.FAMILY.named(Entry("000", DIRECTORY))
    assert said is not None
    assert not orbax.FAMILY.evidence(Run({"000": {}}), said).genuine


def test_metrics_of_orbax() -> None:
    tree = {
        "1": orbax_checkpoint({"loss": 0.5, "note": "x", "bad": float("nan")}),
        "2": orbax_checkpoint(),
        "3": {"_CHECKPOINT_METADATA": b"{"},
    }
    found = records(orbax.FAMILY, tree)
    assert found.metrics == {1: {"loss": 0.5}}
    assert found.best is None
    assert not found.leave


def test_metrics_of_orbax_are_an_item_of_the_checkpoint() -> None:
    item = {"metrics": b'{"loss": 0.5, "odd": NaN}', "commit_success.txt": b""}
    tree = {"500": {**orbax_checkpoint(), "metrics": item}}
    assert evidence(orbax.FAMILY, tree)["500"].complete
    assert records(orbax.FAMILY, tree).metrics == {500: {"loss": 0.5}}


def test_metrics_of_orbax_that_cannot_be_read_make_it_incomplete() -> None:
    tree = {"500": {**orbax_checkpoint(), "metrics": {"metrics": b'{"loss"'}}}
    found = evidence(orbax.FAMILY, tree)["500"]
    assert (found.genuine, found.complete, found.broken) == (True, False, True)
    assert records(orbax.FAMILY, tree).metrics == {}
