"""What the words of a rule mean, each with the reason that people are told."""

import json
from typing import Any

import pytest

from agent.retention.facts import Records
from agent.retention.policy import Best, Keep, Rule
from tests.unit.retention.runs import (
    DAY,
    HOUR,
    MINUTE,
    NOW,
    epoch,
    gone,
    logged,
    only,
    paths,
    planned,
    rule,
    run,
    stays,
    steps,
    unit,
    why,
)

LOSS = Best(1, "eval_loss", "min")


def test_last_keeps_the_newest_by_number_not_by_text() -> None:
    plan = only(rule(2), run(*steps(9, 10, 100, 99)))
    assert (stays(plan), gone(plan)) == ([99, 100], [9, 10])
    assert why(plan, 100) == ("last 2: the newest by step", "the newest complete one")
    assert why(plan, 99) == ("last 2: the 2nd newest by step",)
    assert why(plan, 9) == ("3 complete ones are newer by step",)
    assert plan.findings == ()


def test_a_new_run_in_an_old_directory_keeps_both_and_says_so() -> None:
    old = [unit(step, newest=NOW - 10 * DAY + step) for step in (500, 600, 700)]
    new = [unit(step, newest=NOW - DAY + step) for step in (80, 90, 100)]
    plan = only(rule(2), run(*old, *new))
    assert (stays(plan), gone(plan)) == ([90, 100, 600, 700], [80, 500])
    assert why(plan, 100) == ("last 2: the newest by time", "the newest complete one by time")
    assert why(plan, 90) == ("last 2: the 2nd newest by time",)
    (finding,) = plan.findings
    assert finding.startswith("checkpoint-100 is among the newest by time and not by step")


@pytest.mark.parametrize(
    "change",
    [
        {"complete": False, "why": "no trainer_state.json"},
        {"newest": NOW - MINUTE},
        {"newest": NOW + HOUR},
        {"busy": ".nfs0001"},
        {"pointer": True},
        {"skipped": "another file system is mounted in it"},
    ],
    ids=str,
)
def test_only_complete_and_quiet_ones_count(change: dict[str, Any]) -> None:
    plan = only(rule(1), run(*steps(1, 2), unit(3, **change)))
    assert (stays(plan), gone(plan)) == ([2, 3], [1])
    assert "newer than the newest complete one" in " ".join(why(plan, 3))


def test_the_newest_complete_one_stays_under_any_rule() -> None:
    for keep in ({"every_steps": 7}, {"newer_than": HOUR}, {"best": LOSS}):
        plan = only(rule(**keep), run(*steps(1, 2, 3), records=logged("eval_loss", {1: 0.1})))
        assert why(plan, 3) == ("the newest complete one",)
        assert gone(plan) == ([2] if "best" in keep else [1, 2])


def test_a_run_without_a_complete_one_loses_nothing() -> None:
    plan = only(rule(1), run(*steps(1, 2, 3, complete=False)))
    assert (stays(plan), gone(plan)) == ([1, 2, 3], [])
    assert why(plan, 1) == ("no complete and quiet checkpoint is there yet",)


def test_every_steps() -> None:
    plan = only(rule(1, every_steps=1000), run(*steps(500, 1000, 1500, 2000, 2500)))
    assert (stays(plan), gone(plan)) == ([1000, 2000, 2500], [500, 1500])
    assert why(plan, 1000) == ("every_steps: 1000 is a multiple of 1000",)
    assert why(plan, 1500) == (
        "2 complete ones are newer by step",
        "step 1500 is no multiple of 1000",
    )


def test_every_steps_says_where_it_does_not_apply() -> None:
    plan = only(rule(1, every_steps=2), run(*map(epoch, (1, 2, 3))))
    assert gone(plan) == [1, 2]
    assert plan.findings == ("every_steps selects nothing: the names have no steps",)
    assert plan.keep[0].reasons[0] == "last 1: the newest by epoch"


def test_newer_than() -> None:
    aged = {1: 5 * DAY, 2: 2 * DAY, 3: 2 * DAY - 1, 4: 20 * MINUTE}
    units = [unit(step, newest=NOW - age) for step, age in aged.items()]
    plan = only(rule(1, newer_than=2 * DAY), run(*units))
    assert (stays(plan), gone(plan)) == ([3, 4], [1, 2])
    assert why(plan, 3) == ("newer than 2d: written to 1d23h ago",)
    assert why(plan, 1)[-1] == "written to 5d ago, newer_than is 2d"


def test_the_future_is_fresh() -> None:
    plan = only(rule(1), run(unit(1, newest=NOW + HOUR), *steps(2, 3)))
    assert (stays(plan), gone(plan)) == ([1, 3], [2])
    assert "written to in the future, by this host's clock, quiet_for is 15m" in why(plan, 1)


def test_what_was_written_to_is_let_alone() -> None:
    plan = only(rule(1, quiet_for=900.0), run(unit(1, newest=NOW - 5 * MINUTE), *steps(2, 3)))
    assert gone(plan) == [2]
    assert "written to 5m ago, quiet_for is 15m" in why(plan, 1)
    plan = only(rule(1, quiet_for=300.0), run(unit(1, newest=NOW - 5 * MINUTE), *steps(2, 3)))
    # Quiet now, and the newest by time.
    assert "last 1: the newest by time" in why(plan, 1)


BEST = [
    (LOSS, {1: 0.5, 2: 0.42, 3: 0.9}, 2, "best: eval_loss 0.42 is the lowest of 3"),
    (Best(1, "acc", "max"), {1: 0.5, 2: 0.42}, 1, "best: acc 0.5 is the highest of 2"),
    (LOSS, {1: float("nan"), 2: 0.42, 3: float("-inf")}, 2, "eval_loss 0.42 is the lowest of 1"),
    (LOSS, {1: 0.42, 2: 0.42, 3: 0.5}, 2, "best: eval_loss 0.42 is the lowest of 3"),
]


@pytest.mark.parametrize(("best", "values", "kept", "said"), BEST, ids=range(len(BEST)))
def test_best_by_a_metric(best: Best, values: dict[int, float], kept: int, said: str) -> None:
    records = logged(str(best.metric), values)
    plan = only(rule(1, best=best), run(*steps(1, 2, 3, 4), records=records))
    assert stays(plan) == [kept, 4]
    assert said in why(plan, kept)[0]


def test_the_best_few() -> None:
    records = logged("eval_loss", {1: 3.0, 2: 1.0, 3: 2.0, 4: 4.0})
    plan = only(
        rule(1, best=Best(2, "eval_loss", "min")), run(*steps(1, 2, 3, 4, 5), records=records)
    )
    assert stays(plan) == [2, 3, 5]
    assert why(plan, 3) == ("best: eval_loss 2 is the 2nd lowest of 4",)
    assert why(plan, 1)[-1] == "eval_loss 3 is not one of the 2 lowest of 4"


def test_a_metric_in_the_name_is_a_record() -> None:
    units = [
        unit(step, metrics={"val_loss": loss}) for step, loss in ((1, 0.2), (2, 0.3), (3, 0.4))
    ]
    plan = only(rule(1, best=Best(1, "val_loss", "min")), run(*units))
    assert stays(plan) == [1, 3]
    assert why(plan, 2)[-1] == "val_loss 0.3 is not the lowest of 3"


def test_an_incomplete_one_is_never_best() -> None:
    records = logged("eval_loss", {1: 0.1, 2: 0.2, 3: 0.3})
    units = [unit(1, complete=False), *steps(2, 3, 4)]
    assert stays(only(rule(1, best=LOSS), run(*units, records=records))) == [2, 4]


def test_a_metric_that_nobody_recorded_selects_nothing_and_says_so() -> None:
    plan = only(rule(1, best=LOSS), run(*steps(1, 2)))
    assert gone(plan) == [1]
    assert plan.findings == ("best selects nothing: no eval_loss is recorded",)
    assert why(plan, 1)[-1] == "no eval_loss is recorded for it"


def test_what_the_framework_calls_best() -> None:
    records = Records(best={"checkpoint-1": "best_model_checkpoint"})
    plan = only(rule(1, best=1), run(*steps(1, 2, 3), records=records))
    assert (stays(plan), plan.findings) == ([1, 3], ())
    assert why(plan, 1) == ("best: best_model_checkpoint says so",)
    assert why(plan, 2)[-1] == "not what the framework calls its best"
    none = only(rule(1, best=1), run(*steps(1, 2, 3)))
    assert gone(none) == [1, 2]
    assert none.findings == ("best selects nothing: the framework recorded none that is there",)
    two = only(rule(1, best=2), run(*steps(1, 2, 3), records=records))
    assert two.findings == ("best: 2 are asked for, the framework names 1",)


def test_what_the_framework_calls_best_stays_unasked_too() -> None:
    records = Records(best={"checkpoint-1": "best_model_checkpoint"})
    assert stays(only(rule(1), run(*steps(1, 2, 3), records=records))) == [1, 3]


def test_where_no_keeper_can_tell_nothing_goes() -> None:
    for keep in ({"best": LOSS}, {"best": 1}):
        plan = only(rule(**keep), run(*steps(1, 2, 3)))
        assert gone(plan) == []
        assert why(plan, 1) == ("none of the rule's keepers can tell here",)
    assert gone(only(rule(every_steps=2), run(*map(epoch, (1, 2, 3))))) == []


KEPT: list[tuple[dict[str, Any], str]] = [
    ({"pinned": ".keep"}, "pinned by .keep"),
    ({"linked": "models/prod"}, "the link models/prod leads to it"),
    ({"pointer": True}, "a pointer by its name: it repeats another"),
    ({"busy": ".fuse_hidden01"}, "in use: .fuse_hidden01"),
    ({"skipped": "another file system is mounted in it"}, "left alone: another file system is"),
]


@pytest.mark.parametrize(("change", "said"), KEPT, ids=range(len(KEPT)))
def test_what_keeps_one_checkpoint(change: dict[str, Any], said: str) -> None:
    plan = only(rule(1), run(unit(1, **change), *steps(2, 3)))
    assert (stays(plan), gone(plan)) == ([1, 3], [2])
    assert said in why(plan, 1)[0]


def test_what_is_mounted_in_is_told_as_skipped() -> None:
    plan = only(rule(1), run(unit(1, skipped="something is mounted in it"), *steps(2, 3)))
    assert [(each.path, each.reason) for each in plan.skipped] == [
        ("checkpoints/a/checkpoint-1", "something is mounted in it")
    ]


def test_the_target_of_a_pointer_stays() -> None:
    plan = only(rule(1), run(*steps(1, 2, 3), records=Records(pointed={"checkpoint-1": "latest"})))
    assert (stays(plan), gone(plan)) == ([1, 3], [2])
    assert why(plan, 1) == ("latest points to it",)


def test_a_pointer_to_any_name_of_a_unit_keeps_it() -> None:
    pair = unit(1, names=("checkpoint-1", "checkpoint-1-state"))
    plan = only(
        rule(1), run(pair, *steps(2, 3), records=Records(pointed={"checkpoint-1-state": "x"}))
    )
    assert stays(plan) == [1, 3]


WHOLE: list[tuple[dict[str, Any], str, str]] = [
    ({"pinned": ".keep"}, "the run is pinned by .keep", ""),
    ({"linked": "models/prod"}, "the link models/prod leads to the run", ""),
    (
        {"unreadable": "EIO"},
        "the run is left alone: not all of it is known: EIO",
        "not all of it is known: EIO",
    ),
    (
        {"records": Records(leave="latest names global_step9, which is not there")},
        "the run is left alone: latest names global_step9, which is not there",
        "latest names global_step9, which is not there",
    ),
]


@pytest.mark.parametrize(("change", "said", "skipped"), WHOLE, ids=range(len(WHOLE)))
def test_what_keeps_a_whole_run(change: dict[str, Any], said: str, skipped: str) -> None:
    plan = only(rule(1), run(*steps(1, 2, 3), **change))
    assert (stays(plan), gone(plan)) == ([1, 2, 3], [])
    assert why(plan, 1)[0] == said
    assert [each.reason for each in plan.skipped] == ([skipped] if skipped else [])
    assert all(each.path == "checkpoints/a" for each in plan.skipped)


def test_a_newest_one_that_cannot_be_read_keeps_the_run() -> None:
    broken = {"complete": False, "broken": True, "why": "trainer_state.json is no JSON"}
    plan = only(rule(1), run(*steps(1, 2), unit(3, **broken)))
    assert gone(plan) == []
    assert plan.skipped[0].reason == (
        "its newest checkpoint checkpoint-3 can't be read: trainer_state.json is no JSON"
    )
    late = unit(1, newest=NOW - DAY, **broken)
    assert gone(only(rule(1), run(late, *steps(2, 3)))) == [], "the newest by time, too"


def test_an_old_one_that_cannot_be_read_is_incomplete() -> None:
    broken = unit(1, complete=False, broken=True, why="trainer_state.json is no JSON")
    plan = only(rule(1), run(broken, *steps(2, 3)))
    assert gone(plan) == [1, 2]
    assert why(plan, 1)[0].startswith("a leftover: incomplete (trainer_state.json is no JSON)")


def test_leftovers() -> None:
    def left(age: float, step: int = 1) -> list[int]:
        old = unit(step, complete=False, why="no trainer_state.json", newest=NOW - age)
        newer = [unit(each, newest=NOW - HOUR) for each in (5, 6)]
        return gone(only(rule(2), run(old, *newer)))

    assert left(DAY) == [1]
    assert left(DAY - 1) == []
    assert left(HOUR) == []
    assert left(9 * DAY, step=7) == [], "newer than the newest complete one"


def test_a_leftover_is_older_by_time_too() -> None:
    crashed = unit(1, complete=False, newest=NOW - 3 * DAY)
    plan = only(rule(1), run(crashed, *[unit(s, newest=NOW - 9 * DAY) for s in (5, 6)]))
    assert stays(plan) == [1, 6]
    assert why(plan, 1) == ("written to after the newest complete one, and incomplete",)


def test_nothing_beyond_the_tracker_is_complete() -> None:
    plan = only(rule(1), run(*steps(1, 2, 3, 4), records=Records(upto=2)))
    assert (stays(plan), gone(plan)) == ([2, 3, 4], [1])
    assert why(plan, 2)[0] == "last 1: the newest by step"


def test_series_are_kept_each_on_its_own() -> None:
    plan = only(rule(1), run(*map(epoch, (1, 2)), *steps(100, 200)))
    assert paths(plan.keep) == ["checkpoints/a/checkpoint-200", "checkpoints/a/n-000002.pt"]
    assert paths(plan.delete) == ["checkpoints/a/checkpoint-100", "checkpoints/a/n-000001.pt"]
    alone = only(rule(1), run(*[epoch(e, complete=False) for e in (1, 2)], *steps(100, 200)))
    assert gone(alone) == [100], "a series without a complete one loses nothing"


def test_what_was_not_looked_at_whole_stays_in_the_second_asking() -> None:
    units = [unit(1, walked=False), *steps(2, 3)]
    assert gone(only(rule(1), run(*units), whole=False)) == [1, 2]
    plan = only(rule(1), run(*units))
    assert (gone(plan), why(plan, 1)) == ([2], ("not looked at whole",))


def test_keepers_unite() -> None:
    records = Records(metrics={2: {"eval_loss": 0.1}, 9: {"eval_loss": 0.5}})
    both = rule(1, every_steps=5, best=LOSS, newer_than=DAY)
    plan = only(both, run(unit(1, newest=NOW - HOUR), *steps(2, 3, 5, 8, 9), records=records))
    assert (stays(plan), gone(plan)) == ([1, 2, 5, 9], [3, 8])


def test_odd_names_are_told() -> None:
    plan = only(rule(1), run(*steps(1, 2), odd=(("checkpoint-7-merged", "not a checkpoint"),)))
    assert [(each.path, each.reason) for each in plan.skipped] == [
        ("checkpoints/a/checkpoint-7-merged", "not a checkpoint")
    ]


def test_what_is_doomed_is_told_whole() -> None:
    pair = unit(1, names=("checkpoint-1", "checkpoint-1-state"), size=7, fingerprint="f")
    (doomed,) = only(rule(1), run(pair, *steps(2))).delete
    assert (doomed.path, doomed.step, doomed.size) == ("checkpoints/a/checkpoint-1", 1, 7)
    assert (doomed.names, doomed.fingerprint) == (pair.names, "f")


def test_a_run_at_the_root_has_no_slash_before_its_names() -> None:
    assert paths(only(rule(1), run(*steps(1, 2), path="")).delete) == ["checkpoint-1"]


def test_the_rows_are_those_of_the_contract() -> None:
    plan = planned(rule(1), run(*steps(1, 2), odd=(("x", "y"),)))
    assert json.loads(json.dumps(plan.to_row())) == {
        "path": "checkpoints",
        "findings": [],
        "runs": [
            {
                "path": "checkpoints/a",
                "format": "hf",
                "keep": [
                    {
                        "path": "checkpoints/a/checkpoint-2",
                        "step": 2,
                        "reasons": ["last 1: the newest by step", "the newest complete one"],
                    }
                ],
                "delete": [
                    {
                        "path": "checkpoints/a/checkpoint-1",
                        "step": 1,
                        "reasons": ["1 complete one is newer by step"],
                        "bytes": 1 << 30,
                    }
                ],
                "skipped": [{"path": "checkpoints/a/x", "reason": "y"}],
                "findings": [],
            }
        ],
    }


def test_an_empty_run_is_no_trouble() -> None:
    plan = only(Rule("c", Keep(last=1)), run())
    assert (plan.keep, plan.delete, plan.skipped) == ((), (), ())
