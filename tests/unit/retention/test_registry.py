"""Which family wrote what: evidence decides between those that know a name."""

import pytest

from agent.config.retention_schema import FORMATS
from agent.retention.facts import Evidence, Named
from agent.retention.formats import registry
from agent.retention.view import DIRECTORY, Entry
from tests.unit.retention import made, saved, written
from tests.unit.retention.trees import Link, Tree, TreeView


def found(run: Tree, name: str) -> tuple[Named, Evidence] | None:
    """What the first family says that finds its own in it; else the first that knows the name."""
    view = TreeView(run)
    known = registry.candidates(view.entries()[name])
    said = [(named, family.evidence(view, named)) for family, named in known]
    return next((one for one in said if one[1].genuine), said[0] if said else None)


def test_each_family_has_one_name() -> None:
    names = [family.name for family in registry.FAMILIES]
    assert len(set(names)) == len(names)
    assert set(names) == set(FORMATS)


NEMO = "llama--val_loss=1.25-epoch=0-step=500"


@pytest.mark.parametrize(
    ("family", "name", "tree"),
    [
        ("hf", "checkpoint-500", written.trainer(500)),
        ("swift", "checkpoint-500", {**written.trainer(500), "args.json": b"{}"}),
        ("swift", "checkpoint-500", written.megatron_swift(500)),
        ("diffusers", "checkpoint-500", written.accelerated()),
        ("llamafactory", "checkpoint-500", written.factory(500)),
        ("deepspeed", "global_step500", written.deepspeed_run("x", 500)["global_step500"]),
        ("megatron", "iter_0000500", written.distributed()),
        ("verl", "global_step_500", written.verl_run("500", 500)["global_step_500"]),
        ("lightning", "epoch=0-step=500.ckpt", made.lightning_file()),
        ("lightning", "epoch=0-step=500.ckpt", saved.lightning_deepspeed()),
        ("nemo", NEMO, saved.nemo_checkpoint()),
        ("automodel", "epoch_0_step_500", saved.automodel_checkpoint()),
        ("torchtune", "epoch_0", saved.torchtune_checkpoint()),
        ("torchtune", "step_500", saved.torchtune_checkpoint()),
        ("torchtitan", "step-500", saved.torchtitan_checkpoint()),
        ("kohya", "cat-000003.safetensors", saved.kohya_model()),
        ("orbax", "500", saved.orbax_checkpoint()),
        ("orbax", "step_500", saved.orbax_checkpoint()),
        ("orbax", "epoch_0", saved.orbax_checkpoint()),
        ("orbax", "epoch_0_step_500", saved.orbax_checkpoint()),
        ("orbax", "global_step_500", saved.orbax_checkpoint()),
        ("orbax", "iter_0000500", saved.orbax_checkpoint()),
        ("orbax", "checkpoint_500", saved.orbax_checkpoint()),
    ],
)
def test_what_a_framework_writes_is_its_own(family: str, name: str, tree: object) -> None:
    one = found({name: tree}, name)
    assert one is not None
    named, evidence = one
    assert named.family == family
    assert evidence.genuine
    assert evidence.complete


@pytest.mark.parametrize(
    ("name", "tree"),
    [
        ("000", {"00000.jpg": b"x"}),
        ("001", {}),
        ("train_2017", {"0.jpg": b"x"}),
        ("shard-000123.pt", b"x"),
        ("epoch_1", {"model.safetensors": b"x"}),
        ("step-1", {"photo.png": b"x"}),
        ("checkpoint-5", {"notes.txt": b"x"}),
        ("model-000010.safetensors", made.safetensors_file({"format": "pt"})),
    ],
)
def test_a_name_alone_never_suffices(name: str, tree: object) -> None:
    one = found({name: tree}, name)
    assert one is not None
    assert not one[1].genuine
    assert one[1].why


@pytest.mark.parametrize("node", [b"x", {}, Link("checkpoint-5")])
def test_other_names_are_nobodys(node: object) -> None:
    assert found({"results": node}, "results") is None


def test_links_are_nobodys() -> None:
    assert found({"checkpoint-5": Link("x"), "500": Link("y")}, "checkpoint-5") is None


@pytest.mark.parametrize(
    "name", ["tmp-checkpoint-5", "5.orbax-checkpoint-tmp-1", "epoch_0_step_5.reserving-a"]
)
def test_staging_of_any_family(name: str) -> None:
    entry = Entry(name, DIRECTORY)
    assert any(family.staging(entry) for family in registry.FAMILIES)
    assert not registry.candidates(entry)
