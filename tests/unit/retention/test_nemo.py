"""NeMo 2 and NeMo Automodel: names, markers, pointers, losses."""

import pytest

from agent.retention.formats import automodel, nemo
from agent.retention.view import DIRECTORY, FILE, LINK, Entry
from tests.unit.retention.saved import Run, automodel_checkpoint, nemo_checkpoint
from tests.unit.retention.trees import Link, Unreadable
from tests.unit.retention.written import evidence, records, without

NAME = "llama--val_loss=1.25-epoch=0-step=500"


@pytest.mark.parametrize(
    ("name", "stem", "series", "order", "metrics"),
    [
        (NAME, "llama", "step", 500, {"val_loss": 1.25}),
        (f"{NAME}-v1", "llama", "step", 500, {"val_loss": 1.25}),
        (
            "a--reduced_train_loss=0.50-epoch=1-consumed_samples=800.0",
            "a",
            "consumed_samples",
            800,
            {"reduced_train_loss": 0.5},
        ),
        (
            "model_name=0--val_loss=0.00-step=9-consumed_samples=5120.0",
            "model_name=0",
            "step",
            9,
            {"val_loss": 0.0},
        ),
        ("my--model--val_loss=nan-step=2", "my--model", "step", 2, {}),
        ("m--reward=-1.5-step=3", "m", "step", 3, {"reward": -1.5}),
    ],
)
def test_a_name_of_nemo(
    name: str, stem: str, series: str, order: int, metrics: dict[str, float]
) -> None:
    said = nemo.FAMILY.named(Entry(name, DIRECTORY))
    assert said is not None
    assert (said.stem, said.series, said.order, said.metrics) == (stem, series, order, metrics)
    assert said.step == (order if series == "step" else None)
    assert not said.pointer


@pytest.mark.parametrize(
    "name",
    [
        "llama-val_loss=1.25-step=500",
        "llama--val_loss=1.25-epoch=3",
        "llama--step=5.5",
        "llama--step=5-merged",
        "llama--step=5-unfinished",
        "llama--step=5.ckpt",
        "--step=5",
        "llama--step=5-step=6",
        "checkpoint-500",
    ],
)
def test_other_names_are_not_nemos(name: str) -> None:
    assert nemo.FAMILY.named(Entry(name, DIRECTORY)) is None


def test_nemo_writes_directories() -> None:
    assert nemo.FAMILY.named(Entry(NAME, FILE)) is None
    assert nemo.FAMILY.named(Entry(NAME, LINK)) is None


def test_the_last_one_is_a_pointer() -> None:
    said = nemo.FAMILY.named(Entry(f"{NAME}-last", DIRECTORY))
    assert said is not None
    assert (said.pointer, said.stem) == (True, "llama")


def test_a_whole_checkpoint_of_nemo() -> None:
    found = evidence(nemo.FAMILY, {NAME: nemo_checkpoint(), f"{NAME}-last": nemo_checkpoint()})
    assert all(one.genuine and one.complete for one in found.values())


@pytest.mark.parametrize("name", [NAME, f"{NAME}-last"])
def test_the_marker_beside_it_says_unfinished(name: str) -> None:
    tree = {NAME: nemo_checkpoint(), f"{NAME}-last": nemo_checkpoint(), f"{name}-unfinished": b""}
    found = evidence(nemo.FAMILY, tree)
    assert {other for other, one in found.items() if not one.complete} == {name}
    assert all(one.genuine for one in found.values())


def test_a_checkpoint_of_nemo_without_weights_is_incomplete() -> None:
    assert not evidence(nemo.FAMILY, {NAME: without(nemo_checkpoint(), "weights")})[NAME].complete
    assert not evidence(nemo.FAMILY, {NAME: {**nemo_checkpoint(), "weights": {}}})[NAME].complete


def test_a_name_of_nemo_alone_says_nothing() -> None:
    assert not evidence(nemo.FAMILY, {NAME: {"weights": {"a.bin": b"x"}}})[NAME].genuine


def test_a_link_of_nemo_points() -> None:
    last = f"{NAME}-last"
    assert records(nemo.FAMILY, {NAME: nemo_checkpoint(), last: Link(NAME)}).pointed == {
        NAME: f"link {last}"
    }
    assert records(nemo.FAMILY, {NAME: nemo_checkpoint(), last: Link("gone")}).leave


def automodel_run(*steps: int, **more: object) -> Run:
    return {f"epoch_0_step_{step}": automodel_checkpoint(1 / step) for step in steps} | more


def test_a_name_of_automodel_is_of_its_step() -> None:
    said = automodel.FAMILY.named(Entry("epoch_2_step_500", DIRECTORY))
    assert said is not None
    assert (said.series, said.order, said.step) == ("step", 500, 500)


@pytest.mark.parametrize(
    "name", ["epoch_2", "step_500", "epoch_2_step_500_old", "epoch_2_step_x", "xepoch_2_step_500"]
)
def test_other_names_are_not_automodels(name: str) -> None:
    assert automodel.FAMILY.named(Entry(name, DIRECTORY)) is None


def test_what_automodel_reserves_is_staging() -> None:
    entry = Entry("epoch_0_step_500.reserving-0af3", DIRECTORY)
    assert automodel.FAMILY.staging(entry)
    assert automodel.FAMILY.named(entry) is None
    assert not automodel.FAMILY.staging(Entry("epoch_0_step_500", DIRECTORY))


def test_a_published_checkpoint() -> None:
    found = evidence(automodel.FAMILY, automodel_run(100))["epoch_0_step_100"]
    assert found.genuine
    assert found.complete


@pytest.mark.parametrize("more", [{".incomplete": b""}])
def test_an_unpublished_checkpoint_is_incomplete(more: Run) -> None:
    tree = {"epoch_0_step_100": {**automodel_checkpoint(), **more}}
    found = evidence(automodel.FAMILY, tree)["epoch_0_step_100"]
    assert (found.genuine, found.complete) == (True, False)


@pytest.mark.parametrize("part", ["config.yaml", "model"])
def test_an_automodel_checkpoint_without_a_part_is_incomplete(part: str) -> None:
    tree = {"epoch_0_step_100": without(automodel_checkpoint(), part)}
    assert not evidence(automodel.FAMILY, tree)["epoch_0_step_100"].complete


def test_losses_that_cannot_be_read_break_it() -> None:
    tree = {"epoch_0_step_100": {**automodel_checkpoint(), "losses.json": b'{"train'}}
    found = evidence(automodel.FAMILY, tree)["epoch_0_step_100"]
    assert (found.genuine, found.complete, found.broken) == (True, False, True)


def test_pointers_and_losses_of_automodel() -> None:
    tree = automodel_run(
        1, 2, LATEST=Link("epoch_0_step_2"), **{"LOWEST_VAL.txt": b"epoch_0_step_1\n"}
    )
    found = records(automodel.FAMILY, tree)
    assert found.pointed == {"epoch_0_step_2": "LATEST", "epoch_0_step_1": "LOWEST_VAL"}
    assert found.best == {"epoch_0_step_1": "LOWEST_VAL"}
    assert found.metrics == {
        1: {"train_loss": 2.0, "val_loss": 1.0},
        2: {"train_loss": 1.5, "val_loss": 0.5},
    }


def test_without_lowest_val_nothing_is_best() -> None:
    assert records(automodel.FAMILY, automodel_run(1)).best is None


@pytest.mark.parametrize(
    "more",
    [
        {"LATEST": Link("epoch_0_step_9")},
        {"LOWEST_VAL": Link("/elsewhere/epoch_0_step_9")},
        {"LATEST.txt": b"epoch_0_step_9"},
        {"LATEST.txt": b""},
        {"LATEST.txt": b"\xff"},
        {"LATEST.txt": Unreadable("EIO")},
        {"LOWEST_VAL.txt": b"x" * 5000},
    ],
)
def test_a_pointer_of_automodel_that_leads_nowhere_keeps_the_run(more: Run) -> None:
    assert records(automodel.FAMILY, automodel_run(1, **more)).leave
