"""kohya's scripts: names with a stem, models with their states, results that are never touched."""

import pytest

from agent.retention.formats import kohya
from agent.retention.view import DIRECTORY, FILE, LINK, Entry
from tests.unit.retention.made import safetensors_file, torch_file
from tests.unit.retention.saved import kohya_model, kohya_state
from tests.unit.retention.trees import Sized, Unreadable
from tests.unit.retention.written import evidence, without

FAMILY = kohya.FAMILY
EPOCH, STEP = "cat-000003", "cat-step00000500"


@pytest.mark.parametrize(
    ("name", "kind", "stem", "series", "order"),
    [
        ("cat-000003.safetensors", FILE, "cat", "epoch", 3),
        ("cat-000003.ckpt", FILE, "cat", "epoch", 3),
        ("cat-000003.pt", FILE, "cat", "epoch", 3),
        ("cat-step00000500.safetensors", FILE, "cat", "step", 500),
        ("cat-000003-state", DIRECTORY, "cat", "epoch", 3),
        ("cat-step00000500-state", DIRECTORY, "cat", "step", 500),
        ("epoch-000003.safetensors", FILE, "epoch", "epoch", 3),
        ("at-step00000500.safetensors", FILE, "at", "step", 500),
        ("my-cat-v2-000010-000003.safetensors", FILE, "my-cat-v2-000010", "epoch", 3),
        ("cat\n-000003.safetensors", FILE, "cat\n", "epoch", 3),
    ],
)
def test_a_name(name: str, kind: str, stem: str, series: str, order: int) -> None:
    said = FAMILY.named(Entry(name, kind))
    assert said is not None
    assert (said.stem, said.series, said.order) == (stem, series, order)
    assert said.side == (kind == DIRECTORY)
    assert said.step == (order if series == "step" else None)


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("cat.safetensors", FILE),
        ("last.safetensors", FILE),
        ("cat-state", DIRECTORY),
        ("last-state", DIRECTORY),
        ("cat-00003.safetensors", FILE),
        ("cat-0000003.safetensors", FILE),
        ("cat-step0000500.safetensors", FILE),
        ("-000003.safetensors", FILE),
        ("cat-000003.safetensors.tmp", FILE),
        ("cat-000003.safetensors\n", FILE),
        ("cat-000003.bin", FILE),
        ("cat-000003", DIRECTORY),
        ("cat-000003-state", FILE),
        ("cat-000003.safetensors", DIRECTORY),
        ("cat-000003.safetensors", LINK),
        ("cat-000003-state", LINK),
    ],
)
def test_results_and_other_names_are_never_candidates(name: str, kind: str) -> None:
    assert FAMILY.named(Entry(name, kind)) is None


def test_a_model_and_its_state_are_one_unit() -> None:
    model = FAMILY.named(Entry("cat-000003.safetensors", FILE))
    state = FAMILY.named(Entry("cat-000003-state", DIRECTORY))
    other = FAMILY.named(Entry("dog-000003-state", DIRECTORY))
    assert model is not None
    assert state is not None
    assert other is not None
    assert model.unit() == state.unit() != other.unit()


@pytest.mark.parametrize(
    ("name", "raw"),
    [
        (f"{EPOCH}.safetensors", kohya_model()),
        (f"{STEP}.safetensors", kohya_model("outputs/cat")),
        (f"{EPOCH}.safetensors", safetensors_file({"ss_network_dim": "4"})),
        ("epoch-000003.safetensors", kohya_model("None")),
        ("at-step00000500.safetensors", kohya_model("None")),
    ],
)
def test_a_whole_model(name: str, raw: bytes) -> None:
    found = evidence(FAMILY, {name: raw})[name]
    assert found.genuine
    assert found.complete


@pytest.mark.parametrize(
    "raw",
    [
        safetensors_file(),
        safetensors_file({"format": "pt"}),
        safetensors_file({"modelspec.title": "x"}),
        kohya_model("cat-000003"),
        kohya_model("dog"),
        kohya_model("None"),
        b"",
        b"{}",
    ],
)
def test_a_model_of_another_writer_or_another_run_is_not_genuine(raw: bytes) -> None:
    assert not evidence(FAMILY, {f"{EPOCH}.safetensors": raw})[f"{EPOCH}.safetensors"].genuine


def test_a_result_whose_name_ends_like_an_epoch_is_not_genuine() -> None:
    """Trained as `cat-000003`, it is what the user wants to keep."""
    found = evidence(FAMILY, {"cat-000003.safetensors": kohya_model("cat-000003")})
    assert found["cat-000003.safetensors"].why == "its metadata call the run 'cat-000003'"


def test_a_torn_model_is_incomplete() -> None:
    found = evidence(FAMILY, {f"{EPOCH}.safetensors": kohya_model()[:-1]})[f"{EPOCH}.safetensors"]
    assert (found.genuine, found.complete) == (True, False)


def test_a_model_that_cannot_be_read_is_broken() -> None:
    assert evidence(FAMILY, {f"{EPOCH}.safetensors": Unreadable("EIO")})[
        f"{EPOCH}.safetensors"
    ].broken
    huge = Sized(1 << 40, (1 << 30).to_bytes(8, "little"))
    assert evidence(FAMILY, {f"{EPOCH}.safetensors": huge})[f"{EPOCH}.safetensors"].broken


@pytest.mark.parametrize("kind", ["ckpt", "pt"])
def test_a_model_by_torch_is_told_by_its_state(kind: str) -> None:
    name = f"{EPOCH}.{kind}"
    alone = evidence(FAMILY, {name: torch_file({})})[name]
    assert (alone.genuine, alone.complete) == (False, True)
    beside = evidence(FAMILY, {name: torch_file({}), f"{EPOCH}-state": kohya_state()})[name]
    assert (beside.genuine, beside.complete) == (True, True)
    torn = evidence(FAMILY, {name: torch_file({})[:-1], f"{EPOCH}-state": kohya_state()})[name]
    assert (torn.genuine, torn.complete) == (True, False)


def test_shards_of_a_data_set_are_not_genuine() -> None:
    tree = {f"shard-{number:06d}.pt": torch_file({"x": number}) for number in range(3)}
    assert not any(one.genuine for one in evidence(FAMILY, tree).values())


def test_a_whole_state() -> None:
    found = evidence(FAMILY, {f"{EPOCH}-state": kohya_state()})[f"{EPOCH}-state"]
    assert found.genuine
    assert found.complete


def test_a_state_without_its_record_is_not_genuine() -> None:
    found = evidence(FAMILY, {f"{EPOCH}-state": without(kohya_state(), "train_state.json")})
    assert not found[f"{EPOCH}-state"].genuine


def test_a_state_of_before_records_is_told_by_its_model() -> None:
    state = without(kohya_state(), "train_state.json")
    found = evidence(FAMILY, {f"{EPOCH}-state": state, f"{EPOCH}.safetensors": kohya_model()})
    assert found[f"{EPOCH}-state"].genuine
    found = evidence(FAMILY, {f"{EPOCH}-state": state, f"{EPOCH}.safetensors": kohya_model("dog")})
    assert not found[f"{EPOCH}-state"].genuine


def test_a_state_without_its_last_file_is_incomplete() -> None:
    found = evidence(FAMILY, {f"{EPOCH}-state": without(kohya_state(), "random_states_0.pkl")})
    assert (found[f"{EPOCH}-state"].genuine, found[f"{EPOCH}-state"].complete) == (True, False)


@pytest.mark.parametrize("node", [b"{", b"", Unreadable("EIO")])
def test_a_record_that_cannot_be_read_breaks_the_state(node: object) -> None:
    found = evidence(FAMILY, {f"{EPOCH}-state": {**kohya_state(), "train_state.json": node}})
    assert found[f"{EPOCH}-state"].broken
