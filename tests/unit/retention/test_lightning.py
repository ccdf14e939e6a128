"""Lightning: names by templates, files by their first keys and their end, links, best_k_models."""

import pytest

from agent.retention.formats import lightning
from agent.retention.view import DIRECTORY, FILE, LINK, OTHER, Entry
from tests.unit.retention.made import lightning_file, torch_file
from tests.unit.retention.saved import lightning_deepspeed, lightning_directory, lightning_run
from tests.unit.retention.trees import Link, Sized, TreeView, Unreadable
from tests.unit.retention.written import evidence, records, without

FAMILY = lightning.FAMILY
NAME = "epoch=3-step=500.ckpt"


@pytest.mark.parametrize(
    ("name", "series", "order", "metrics"),
    [
        ("epoch=3-step=500.ckpt", "step", 500, {}),
        ("epoch=3-step=500-v1.ckpt", "step", 500, {}),
        ("epoch=3-step=500-v12.ckpt", "step", 500, {}),
        ("step=7.ckpt", "step", 7, {}),
        ("epoch=003.ckpt", "epoch", 3, {}),
        (
            "epoch=2-val_loss=0.02-other_metric=0.03.ckpt",
            "epoch",
            2,
            {"val_loss": 0.02, "other_metric": 0.03},
        ),
        ("sample-mnist-epoch=02-val_loss=0.32.ckpt", "epoch", 2, {"val_loss": 0.32}),
        ("checkpoint_epoch=01-acc=01.ckpt", "epoch", 1, {"acc": 1.0}),
        ("model_epoch=3_step=40_reward=-1.5e-05.ckpt", "step", 40, {"reward": -1.5e-05}),
        ("epoch=1-step=9-val_loss=nan.ckpt", "step", 9, {}),
        ("epoch=1-step=9-loss=inf.ckpt", "step", 9, {}),
        ("epoch=1-step=9-loss=1e999.ckpt", "step", 9, {}),
        (
            "gpt--val_loss=1.25-step=100-consumed_samples=800.0.ckpt",
            "step",
            100,
            {"val_loss": 1.25, "consumed_samples": 800.0},
        ),
        ("hpc_ckpt_4.ckpt", "hpc", 4, {}),
    ],
)
def test_a_name_says_its_number(
    name: str, series: str, order: int, metrics: dict[str, float]
) -> None:
    said = FAMILY.named(Entry(name, FILE))
    assert said is not None
    assert (said.series, said.order, said.metrics) == (series, order, metrics)
    assert said.step == (order if series == "step" else None)
    assert not said.pointer
    assert FAMILY.named(Entry(name, DIRECTORY)) == said


@pytest.mark.parametrize(
    "name",
    [
        "best.ckpt",
        "model.ckpt",
        "on_exception.ckpt",
        "epoch3-step500.ckpt",
        "epoch=3-step=500",
        "epoch=3-step=500.ckpt.tmp",
        "epoch=3-step=500.pt",
        "epoch=3-step=5.5.ckpt",
        "step=5-step=6.ckpt",
        "train_step=5-val_step=6.ckpt",
        "timestep=5.ckpt",
        "epoch=-1.ckpt",
        f"step={'9' * 19}.ckpt",
        "foo-000010.ckpt",
        "hpc_ckpt_x.ckpt",
        "lastly.ckpt",
        ".ckpt",
    ],
)
def test_other_names_are_nobodys(name: str) -> None:
    assert FAMILY.named(Entry(name, FILE)) is None


@pytest.mark.parametrize("kind", [LINK, OTHER])
def test_links_are_no_checkpoints(kind: str) -> None:
    assert FAMILY.named(Entry(NAME, kind)) is None
    assert FAMILY.named(Entry("last.ckpt", kind)) is None


@pytest.mark.parametrize(
    "name", ["last.ckpt", "last-v1.ckpt", "epoch=3-last.ckpt", "a--step=5-last.ckpt"]
)
def test_the_last_one_repeats_another(name: str) -> None:
    said = FAMILY.named(Entry(name, FILE))
    assert said is not None
    assert said.pointer
    assert said.series == "last"


def test_versions_of_a_step_are_one_unit() -> None:
    names = ["epoch=3-step=500.ckpt", "epoch=3-step=500-v1.ckpt", "epoch=3-step=500-v2.ckpt"]
    said = [FAMILY.named(Entry(name, FILE)) for name in names]
    assert len({one.unit() for one in said if one}) == 1


def test_what_the_cluster_saves_has_an_order_of_its_own() -> None:
    hpc, step = (
        FAMILY.named(Entry("hpc_ckpt_3.ckpt", FILE)),
        FAMILY.named(Entry("step=3.ckpt", FILE)),
    )
    assert hpc is not None
    assert step is not None
    assert hpc.unit() != step.unit()


def test_a_whole_file() -> None:
    found = evidence(FAMILY, lightning_run(NAME, "hpc_ckpt_1.ckpt", "last.ckpt"))
    assert all(one.genuine and one.complete for one in found.values())
    assert len(found) == 3


def test_of_a_large_file_only_the_ends_are_read() -> None:
    raw = lightning_file()
    view = TreeView({NAME: Sized(100 << 30, raw[:4096], raw[-22:])})
    said = FAMILY.named(Entry(NAME, FILE))
    assert said is not None
    assert FAMILY.evidence(view, said).genuine


@pytest.mark.parametrize("cut", [1, 22, 1000])
def test_a_torn_file_is_incomplete(cut: int) -> None:
    found = evidence(FAMILY, {NAME: lightning_file()[:-cut]})[NAME]
    assert (found.genuine, found.complete, found.why) == (True, False, "is torn")


@pytest.mark.parametrize("raw", [b"", b"x", torch_file({"model": 1}), b"\x80\x02}pickle"])
def test_a_file_of_another_writer_is_not_genuine(raw: bytes) -> None:
    assert not evidence(FAMILY, {NAME: raw})[NAME].genuine


def test_a_pickle_of_old_days_is_left_alone() -> None:
    """Nothing says whether it is whole: it neither counts nor is it the rest of a torn save."""
    found = evidence(FAMILY, {NAME: b"\x80\x02 pytorch-lightning_version"})[NAME]
    assert (found.genuine, found.complete) == (False, True)


def test_a_file_that_cannot_be_read_is_broken() -> None:
    found = evidence(FAMILY, {NAME: Unreadable("EIO")})[NAME]
    assert found.broken
    assert not found.complete


@pytest.mark.parametrize("tree", [lightning_directory(), lightning_deepspeed()])
def test_a_whole_directory(tree: dict[str, object]) -> None:
    found = evidence(FAMILY, {NAME: tree})[NAME]
    assert found.genuine
    assert found.complete


@pytest.mark.parametrize("part", [".metadata", "meta.pt"])
def test_a_directory_without_what_is_written_last_is_incomplete(part: str) -> None:
    found = evidence(FAMILY, {NAME: without(lightning_directory(), part)})[NAME]
    assert not found.complete
    assert found.genuine == (part == ".metadata")


def test_a_directory_of_deepspeed_without_ranks_is_not_genuine() -> None:
    assert not evidence(FAMILY, {NAME: {**lightning_deepspeed(), "checkpoint": {}}})[NAME].genuine


def test_a_link_named_last_points() -> None:
    found = records(FAMILY, {**lightning_run(NAME, "step=9.ckpt"), "last.ckpt": Link(NAME)})
    assert found.pointed == {NAME: "link last.ckpt"}
    assert not found.leave


def test_a_link_by_an_absolute_path_counts_by_its_last_part() -> None:
    found = records(FAMILY, {**lightning_run(NAME), "last-v1.ckpt": Link(f"/mnt/other/run/{NAME}")})
    assert found.pointed == {NAME: "link last-v1.ckpt"}


def test_a_link_that_leads_nowhere_keeps_the_run() -> None:
    found = records(FAMILY, {**lightning_run(NAME), "last.ckpt": Link("step=900.ckpt")})
    assert found.leave == "last.ckpt leads to 'step=900.ckpt', which is gone"


def test_the_best_ones_are_those_of_the_record() -> None:
    long = "a" * 200
    text = (
        f"/x/run/{NAME}: 0.25\n? /x/{long}/step=9.ckpt\n: 0.5\n'/x/step=11.ckpt': .inf\n".encode()
    )
    found = records(
        FAMILY, {**lightning_run(NAME, "step=9.ckpt", "step=10.ckpt"), "best_k_models.yaml": text}
    )
    assert found.best == {NAME: "best_k_models.yaml", "step=9.ckpt": "best_k_models.yaml"}
    assert found.pointed == found.best
    assert found.findings == ("'step=11.ckpt' of best_k_models.yaml is gone",)


def test_without_a_record_there_is_no_best_one() -> None:
    assert records(FAMILY, lightning_run(NAME)).best is None
    assert records(FAMILY, {**lightning_run(NAME), "best_k_models.yaml": b"{}\n"}).best is None


@pytest.mark.parametrize(
    "text",
    [
        b"",
        b"a: &x 1\nb: *x\n",
        b"a: [1]\n",
        b"- a\n",
        b"a: 1\n---\nb: 2\n",
        b"[" * 100_000,
        b"a: {b: {c: 1}}",
        b"\x00",
        b"\xff\xfe\x00",
        b"a: 'unfinished",
        b"x" * (1 << 20) + b": 1\n",
    ],
)
def test_a_record_that_is_no_flat_mapping_keeps_the_run(text: bytes) -> None:
    found = records(FAMILY, {**lightning_run(NAME), "best_k_models.yaml": text})
    assert found.leave.startswith("best_k_models.yaml ")


def test_of_very_many_best_ones_that_are_gone_some_are_told() -> None:
    text = b"".join(b"gone%d.ckpt: 1\n" % number for number in range(1000))
    found = records(FAMILY, {**lightning_run(NAME), "best_k_models.yaml": text}).findings
    assert len(found) == 21
    assert found[-1] == "980 more of best_k_models.yaml are gone"
