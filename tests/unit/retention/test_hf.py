"""What the Trainer's checkpoints say, and what they don't."""

from typing import Any

import pytest

from agent.retention.formats.hf import FAMILY, TRAININGS
from agent.retention.view import DIRECTORY, FILE, LINK, Entry
from tests.unit.retention.trees import ODD, Link, Sized, TreeView, Unreadable
from tests.unit.retention.written import (
    WEIGHTS,
    complete,
    evidence,
    log,
    matched,
    named,
    records,
    state,
    trainer,
    trainer_run,
    without,
)

GOOD = trainer_run(300, 400, 500)
NEWEST = "checkpoint-500"
BROKEN = [
    b"",
    b"  \n",
    b"{",
    state(500)[:-40],
    b"[]",
    b"{}",
    b'{"global_step": "500"}',
    b"\x80\x02}",
    b"[" * 100_000,
    b'{"a":' * 100_000,
    b'{"global_step": ' + b"9" * 10_000 + b"}",
    Sized(65 << 20, b"{"),
    Sized(1 << 20),
    Unreadable(),
    Link("/etc/passwd"),
    ODD,
    {},
]


def changed(tree: dict[str, Any], path: str, node: Any) -> dict[str, Any]:
    """The tree with another node at that place."""
    name, _, rest = path.partition("/")
    return {**tree, name: changed(tree[name], rest, node) if rest else node}


@pytest.mark.parametrize(
    "name",
    [
        "checkpoint-500-merged",
        "checkpoint-",
        "checkpoint",
        "checkpoint-500 ",
        "checkpoint-500\n",
        " checkpoint-500",
        "checkpoint-+5",
        "checkpoint--5",
        "checkpoint-5_0",
        "checkpoint-5.0",
        "checkpoint-\u0665\u0660\u0660",
        "checkpoint-\u00b2",
        "checkpoint-1234567890123456789",
        "checkpoint-final",
        "checkpoint_500",
        "Checkpoint-500",
        "tmp-checkpoint-500",
        "old-checkpoint-500",
        "checkpoint-500.bak",
    ],
)
def test_other_names_are_never_touched(name: str) -> None:
    assert FAMILY.named(Entry(name, DIRECTORY)) is None


def test_a_file_or_a_link_is_no_checkpoint() -> None:
    assert matched(FAMILY, [NEWEST], FILE) == matched(FAMILY, [NEWEST], LINK) == []


def test_the_order_is_that_of_numbers() -> None:
    tree = trainer_run(100000, 9, 900000, 10)
    assert [one.step for one in named(FAMILY, tree)] == [9, 10, 100000, 900000]


@pytest.mark.parametrize(
    ("name", "kind", "staging"),
    [
        ("tmp-checkpoint-500", DIRECTORY, True),
        ("tmp-checkpoint-500", FILE, False),
        ("tmp-checkpoint-500-merged", DIRECTORY, False),
        (NEWEST, DIRECTORY, False),
        ("tmp", DIRECTORY, False),
    ],
)
def test_staging(name: str, kind: str, staging: bool) -> None:
    assert FAMILY.staging(Entry(name, kind)) is staging


def test_with_its_state_a_checkpoint_is_complete() -> None:
    assert complete(FAMILY, GOOD) == ["checkpoint-300", "checkpoint-400", NEWEST]


def test_a_search_has_a_run_in_each_directory() -> None:
    tree = {"run-0": trainer_run(100), "run-1": trainer_run(200)}
    assert named(FAMILY, tree) == []
    assert complete(FAMILY, tree["run-1"]) == ["checkpoint-200"]


def test_without_state_it_is_neither_genuine_nor_complete() -> None:
    tree = changed(GOOD, NEWEST, without(GOOD[NEWEST], "trainer_state.json"))
    found = evidence(FAMILY, tree)[NEWEST]
    assert (found.genuine, found.complete, found.broken) == (False, False, False)
    assert found.why == "trainer_state.json is missing"
    assert records(FAMILY, tree).leave == ""


@pytest.mark.parametrize("node", BROKEN)
def test_a_state_that_cant_be_read_is_broken_and_in_the_newest_leaves_the_run(node: Any) -> None:
    tree = changed(GOOD, f"{NEWEST}/trainer_state.json", node)
    found = evidence(FAMILY, tree)[NEWEST]
    assert found.broken
    assert not found.complete
    assert records(FAMILY, tree).leave.startswith(f"{NEWEST}/trainer_state.json can't be read")


@pytest.mark.parametrize("node", BROKEN)
def test_in_an_older_one_it_leaves_the_run_as_it_was(node: Any) -> None:
    tree = changed(GOOD, "checkpoint-400/trainer_state.json", node)
    assert evidence(FAMILY, tree)["checkpoint-400"].broken
    assert complete(FAMILY, tree) == ["checkpoint-300", NEWEST]
    assert records(FAMILY, tree) == records(FAMILY, GOOD)


def test_a_link_or_a_directory_in_the_states_place_is_no_evidence() -> None:
    nodes: list[Any] = [Link("../checkpoint-400/trainer_state.json"), {}, ODD]
    for node in nodes:
        tree = changed(GOOD, f"{NEWEST}/trainer_state.json", node)
        assert not evidence(FAMILY, tree)[NEWEST].genuine


def test_a_checkpoint_that_cant_be_listed_is_broken() -> None:
    tree = {**GOOD, NEWEST: Unreadable(kind=DIRECTORY)}
    found = evidence(FAMILY, tree)[NEWEST]
    assert (found.genuine, found.complete, found.broken) == (False, False, True)


@pytest.mark.parametrize(
    "recorded",
    [
        "/output/run/checkpoint-300",
        "/another/root/run/checkpoint-300/",
        "run\\checkpoint-300",
        "./checkpoint-300",
        "checkpoint-300",
    ],
)
def test_the_best_one_is_matched_by_name(recorded: str) -> None:
    tree = trainer_run(300, 400, 500, best_model_checkpoint=recorded)
    assert records(FAMILY, tree).best == {"checkpoint-300": "best_model_checkpoint"}


def test_the_newest_state_says_which_is_best() -> None:
    tree = {
        **trainer_run(300, 400, best_model_checkpoint="run/checkpoint-300"),
        **trainer_run(500, best_model_checkpoint="run/checkpoint-400"),
    }
    assert records(FAMILY, tree).best == {"checkpoint-400": "best_model_checkpoint"}


def test_a_best_one_that_is_gone_is_a_finding_only() -> None:
    tree = trainer_run(400, 500, best_model_checkpoint="run/checkpoint-300\x1b[2J")
    found = records(FAMILY, tree)
    assert (found.leave, found.best) == ("", {})
    assert found.findings == ("the best checkpoint, 'checkpoint-300\\x1b[2J', is gone",)


def test_where_none_was_recorded_there_is_no_best_one() -> None:
    assert records(FAMILY, GOOD).best is None


@pytest.mark.parametrize("recorded", [17, [], {}, "", "/", "..", None, True])
def test_what_is_no_path_records_none(recorded: object) -> None:
    assert records(FAMILY, trainer_run(500, best_model_checkpoint=recorded)).best is None


def test_a_best_step_serves_where_there_is_no_path() -> None:
    tree = trainer_run(300, 500, best_global_step=300)
    assert records(FAMILY, tree).best == {"checkpoint-300": "best_global_step"}


def test_metrics_stand_by_step() -> None:
    found = records(FAMILY, trainer_run(300, 400)).metrics
    assert set(found) == {300, 400}
    assert found[400] == {"epoch": 4.0, "loss": 1 + 1 / 400, "eval_loss": 1 + 2 / 400}


def test_what_cant_be_compared_is_no_metric() -> None:
    text = (
        '{"global_step": 1, "log_history": [{"step": 1, "a": NaN, "b": Infinity, "c": 1e999,'
        ' "d": true, "e": "3", "f": null, "g": [1], "h": -2, "i": %s},'
        ' 7, null, {"step": true, "a": 1}, {"step": -1, "a": 1}, {"step": 1.0, "j": 0.5},'
        ' {"step": "1", "k": 1}, {"l": 1}]}'
    )
    tree = {"checkpoint-1": {"trainer_state.json": (text % ("9" * 400)).encode()}}
    assert complete(FAMILY, tree) == ["checkpoint-1"]
    assert records(FAMILY, tree).metrics == {1: {"h": -2.0, "j": 0.5}}


@pytest.mark.parametrize("history", [None, 1, "log", {}, {"step": 1}])
def test_a_history_of_another_kind_is_none(history: object) -> None:
    assert records(FAMILY, trainer_run(100, log_history=history)).metrics == {}


def test_a_second_training_in_the_directory_has_its_own_best_and_metrics() -> None:
    """It begins anew at step 100, beside the old 700 and its log."""
    old = trainer_run(600, 700, best_model_checkpoint="run/checkpoint-600")
    new = trainer(100, best_model_checkpoint="run/checkpoint-100", log_history=log(100, loss=7))
    found = records(FAMILY, {**old, "checkpoint-100": new})
    assert set(found.best or ()) == {"checkpoint-600", "checkpoint-100"}
    assert found.metrics[100]["eval_loss"] == 7 + 2 / 100
    assert found.metrics[700]["eval_loss"] == 1 + 2 / 700


def test_one_training_has_one_best_though_it_was_evaluated_after_saving() -> None:
    early = log(300)[:1]
    tree = {
        "checkpoint-300": trainer(
            300, log_history=early, best_model_checkpoint="run/checkpoint-300"
        ),
        "checkpoint-400": trainer(
            400, log_history=log(300, 400), best_model_checkpoint="run/checkpoint-400"
        ),
    }
    found = records(FAMILY, tree)
    assert set(found.best or ()) == {"checkpoint-400"}
    assert found.metrics[300]["eval_loss"] == 1 + 2 / 300


def test_more_trainings_than_can_be_told_apart_leave_the_run() -> None:
    steps = range(100, 100 * (TRAININGS + 2), 100)
    tree = {f"checkpoint-{step}": trainer(step, log_history=log(step, loss=step)) for step in steps}
    assert "trainings have written here" in records(FAMILY, tree).leave
    fewer = {name: tree[name] for name in list(tree)[1:]}
    assert records(FAMILY, fewer).leave == ""


def test_flash_checkpoints_are_complete_up_to_the_tracker() -> None:
    found = records(FAMILY, {**GOOD, "dlrover_latest.txt": b"400"})
    assert (found.upto, found.pointed) == (400, {"checkpoint-400": "dlrover_latest.txt"})


@pytest.mark.parametrize(
    "said", [b"", b"200", b"4OO", "\u0664\u0660\u0660".encode(), b"-400", b"400 500", b"\xff"]
)
def test_a_tracker_that_names_nothing_leaves_the_run(said: bytes) -> None:
    assert records(FAMILY, {**GOOD, "dlrover_latest.txt": said}).leave.startswith("dlrover_latest")


def test_deepspeed_inside_belongs_to_the_checkpoint() -> None:
    inside = {
        "global_step500": {"mp_rank_00_model_states.pt": WEIGHTS},
        "latest": b"global_step500",
    }
    tree = {**GOOD, NEWEST: {**GOOD[NEWEST], **inside}}
    assert complete(FAMILY, tree) == complete(FAMILY, GOOD)


def test_a_run_that_cant_be_listed_is_left() -> None:
    assert FAMILY.records(TreeView(Unreadable(kind=DIRECTORY)), named(FAMILY, GOOD)).leave


def test_json_of_too_many_parts_is_not_read() -> None:
    bomb = b'{"global_step": 500, "x": [' + b"{}," * 4_000_001 + b"{}]}"
    assert len(bomb) < 64 << 20
    tree = changed(GOOD, f"{NEWEST}/trainer_state.json", bomb)
    assert records(FAMILY, tree).leave.endswith("is JSON of too many parts")
