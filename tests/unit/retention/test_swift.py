"""What ms-swift writes beside and inside its checkpoints, the Trainer's way and Megatron's."""

import json
from typing import Any

import pytest

from agent.retention.formats import hf
from agent.retention.formats.swift import FAMILY
from agent.retention.view import DIRECTORY
from tests.unit.retention.trees import ODD, Link, Unreadable
from tests.unit.retention.written import (
    complete,
    evidence,
    matched,
    megatron_swift,
    records,
    swift_run,
    trainer_run,
    without,
)

GOOD = swift_run(300, 400, 500)
MEGATRON = {f"checkpoint-{step}": megatron_swift(step) for step in (300, 400, 500)}
TRACKER = "latest_checkpointed_iteration.txt"


def lines(*entries: Any) -> bytes:
    """A logging.jsonl."""
    return b"".join(json.dumps(entry).encode() + b"\n" for entry in entries)


LOG = lines(
    {"loss": 2.0, "grad_norm": 1.0, "iteration": "300/2000", "memory(GiB)": 3.5},
    {"eval_loss": 1.5, "iteration": "300/2000", "elapsed_time": "1m 2s"},
    {"eval_loss": 1.4, "iteration": "400/2000"},
    {"eval_loss": 1.3, "iteration": "450/2000"},
)


def test_merged_weights_are_no_checkpoint() -> None:
    names = ["checkpoint-500", "checkpoint-500-merged", "last", "best", "v0-20260101-120000"]
    assert matched(FAMILY, names, DIRECTORY) == ["checkpoint-500"]


def test_the_trainers_way_is_complete_with_its_state() -> None:
    assert complete(FAMILY, GOOD) == ["checkpoint-300", "checkpoint-400", "checkpoint-500"]


def test_without_swifts_arguments_it_is_a_plain_trainers() -> None:
    tree = trainer_run(500)
    assert complete(FAMILY, tree) == []
    assert complete(hf.FAMILY, tree) == ["checkpoint-500"]


def test_a_broken_state_is_broken() -> None:
    tree = {**GOOD, "checkpoint-500": {**GOOD["checkpoint-500"], "trainer_state.json": b"{"}}
    assert evidence(FAMILY, tree)["checkpoint-500"].broken
    assert "checkpoint-500/trainer_state.json" in records(FAMILY, tree).leave


def test_links_point_by_the_last_part_of_their_targets() -> None:
    tree = {**GOOD, "best": Link("checkpoint-300"), "last": Link("/gone/v0/checkpoint-500")}
    found = records(FAMILY, tree)
    assert found.leave == ""
    assert found.pointed == {"checkpoint-300": "link best", "checkpoint-500": "link last"}
    assert found.best == {"checkpoint-300": "link best"}


def test_what_the_state_calls_best_may_be_the_link() -> None:
    tree = {
        **swift_run(300, 500, best_model_checkpoint="/output/v0/best"),
        "best": Link("checkpoint-300"),
    }
    assert records(FAMILY, tree).best == {"checkpoint-300": "best_model_checkpoint"}


@pytest.mark.parametrize("link", ["last", "best"])
@pytest.mark.parametrize("target", ["checkpoint-100", "/", "..", "", "checkpoint-500-merged"])
def test_a_link_to_what_is_gone_leaves_the_run(link: str, target: str) -> None:
    assert records(FAMILY, {**GOOD, link: Link(target)}).leave.startswith(f"link {link} leads to")


@pytest.mark.parametrize("node", [{}, b"checkpoint-300", ODD])
def test_what_is_no_link_points_to_nothing(node: Any) -> None:
    found = records(FAMILY, {**GOOD, "best": node})
    assert (found.leave, found.best) == ("", None)


def test_flash_mode_is_complete_up_to_its_tracker() -> None:
    found = records(FAMILY, {**GOOD, "dlrover_latest.txt": b"400\n"})
    assert found.upto == 400
    assert found.pointed == {"checkpoint-400": "dlrover_latest.txt", "checkpoint-500": "link last"}


def test_elastic_training_resumes_from_another() -> None:
    assert records(FAMILY, {**GOOD, "ucp.txt": b"300"}).pointed["checkpoint-300"] == "ucp.txt"
    assert records(FAMILY, {**GOOD, "ucp.txt": b"100"}).leave.startswith("ucp.txt names")


def test_megatrons_way_is_complete_where_the_inner_tracker_leads() -> None:
    assert complete(FAMILY, MEGATRON) == ["checkpoint-300", "checkpoint-400", "checkpoint-500"]


@pytest.mark.parametrize(
    ("change", "why", "broken"),
    [
        ({TRACKER: b"400"}, f"{TRACKER} names iter_0000400, which is not there", False),
        ({TRACKER: b"release"}, "says 'release', which is no number", True),
        ({TRACKER: b""}, "is empty", True),
        ({TRACKER: Unreadable()}, "input/output error", True),
        ({TRACKER: Link("../checkpoint-400/" + TRACKER)}, "is no regular file", True),
        ({"iter_0000500": {"__0_0.distcp": b""}}, ".metadata is missing", False),
        ({"iter_0000500": Unreadable(kind=DIRECTORY)}, "input/output error", True),
    ],
)
def test_otherwise_it_is_not(change: dict[str, Any], why: str, broken: bool) -> None:
    tree = {**MEGATRON, "checkpoint-500": {**MEGATRON["checkpoint-500"], **change}}
    found = evidence(FAMILY, tree)["checkpoint-500"]
    assert why in found.why
    assert (found.complete, found.broken) == (False, broken)


def test_an_iteration_without_tracker_is_genuine_and_incomplete() -> None:
    tree = {**MEGATRON, "checkpoint-500": without(MEGATRON["checkpoint-500"], TRACKER)}
    found = evidence(FAMILY, tree)["checkpoint-500"]
    assert (found.genuine, found.complete, found.why) == (True, False, f"{TRACKER} is missing")


def test_an_empty_iteration_is_no_evidence() -> None:
    tree = {"checkpoint-500": {"iter_0000500": {}, TRACKER: b"500"}}
    assert not evidence(FAMILY, tree)["checkpoint-500"].genuine


def test_megatrons_metrics_stand_in_the_log() -> None:
    found = records(FAMILY, {**MEGATRON, "logging.jsonl": LOG})
    assert found.metrics == {
        300: {"loss": 2.0, "grad_norm": 1.0, "memory(GiB)": 3.5, "eval_loss": 1.5},
        400: {"eval_loss": 1.4},
    }
    assert found.best is None


def test_and_so_does_the_best_one_once_it_has_ended() -> None:
    end = lines({"best_model_checkpoint": "/out/checkpoint-400", "last_model_checkpoint": "x"})
    tree = {**MEGATRON, "logging.jsonl": LOG + end}
    assert records(FAMILY, tree).best == {
        "checkpoint-400": "best_model_checkpoint in logging.jsonl"
    }
    gone = records(FAMILY, {**without(MEGATRON, "checkpoint-400"), "logging.jsonl": LOG + end})
    assert (gone.leave, gone.best) == ("", {})
    assert gone.findings == ("the best checkpoint, 'checkpoint-400', is gone",)


def test_lines_that_are_cut_or_odd_are_passed_over() -> None:
    odd = b'{"iteration": "300/20\n\n[1]\n' + b"[" * 5000 + b"\n\xff\n" + lines({"iteration": 300})
    tree = {**MEGATRON, "logging.jsonl": odd + LOG + b'{"eval_loss": 9, "iteration": "500/2'}
    assert set(records(FAMILY, tree).metrics) == {300, 400}


def test_a_log_that_cant_be_read_leaves_the_run() -> None:
    assert records(FAMILY, {**MEGATRON, "logging.jsonl": Unreadable()}).leave
