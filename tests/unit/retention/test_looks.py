"""Nothing goes that an earlier pass did not plan to delete just as it is now."""

import json

from agent.retention.facts import Unit
from agent.retention.looks import Look, Target, from_rows, look, to_rows
from agent.retention.policy import Rule
from tests.unit.retention.runs import planned, rule, run, steps, unit

RULE = rule(1, quiet_for=900.0)
ONE = Target("checkpoints/a", ("checkpoint-1",))


def a_pass(
    memory: dict[Target, Look], now: float, *units: Unit, given: Rule = RULE
) -> tuple[list[str], dict[Target, Look]]:
    ripe, after = look(memory, [(given, planned(given, run(*units)))], now)
    assert all(each.target in after for each in ripe)
    return [each.doomed.path for each in ripe], after


def test_the_second_look_must_be_late_enough() -> None:
    ripe, memory = a_pass({}, 1000.0, *steps(1, 2))
    assert ripe == []
    assert memory == {ONE: Look("of 1", 1000.0)}
    ripe, memory = a_pass(memory, 1899.0, *steps(1, 2))
    assert ripe == []
    ripe, memory = a_pass(memory, 1900.0, *steps(1, 2))
    assert ripe == ["checkpoints/a/checkpoint-1"]
    assert memory == {ONE: Look("of 1", 1000.0)}, "it is as ripe where the rename failed"


def test_what_changed_begins_anew() -> None:
    _, memory = a_pass({}, 0.0, *steps(1, 2))
    ripe, memory = a_pass(memory, 5000.0, unit(1, fingerprint="changed"), unit(2))
    assert (ripe, memory) == ([], {ONE: Look("changed", 5000.0)})
    assert a_pass(memory, 5901.0, unit(1, fingerprint="changed"), unit(2))[0]


def test_what_was_kept_in_between_begins_anew() -> None:
    _, memory = a_pass({}, 0.0, *steps(1, 2))
    _, memory = a_pass(memory, 1000.0, unit(1, pinned=".keep"), unit(2))
    assert memory == {}
    assert a_pass(memory, 2000.0, *steps(1, 2))[0] == []


def test_another_name_beside_it_begins_anew() -> None:
    _, memory = a_pass({}, 0.0, *steps(1, 2))
    pair = unit(1, names=("checkpoint-1", "checkpoint-1-state"))
    ripe, memory = a_pass(memory, 1000.0, pair, unit(2))
    assert ripe == []
    assert list(memory) == [Target("checkpoints/a", pair.names)]


def test_a_look_of_another_boot_does_not_count() -> None:
    _, memory = a_pass({}, 9e6, *steps(1, 2))
    ripe, memory = a_pass(memory, 10.0, *steps(1, 2))
    assert (ripe, memory) == ([], {ONE: Look("of 1", 10.0)})
    ripe, memory = a_pass({ONE: Look("of 1", float("nan"))}, 10.0, *steps(1, 2))
    assert ripe == []


def test_without_a_fingerprint_nothing_is_ripe() -> None:
    _, memory = a_pass({}, 0.0, unit(1, fingerprint=""), unit(2))
    assert memory == {}
    assert a_pass({ONE: Look("", 0.0)}, 5000.0, unit(1, fingerprint=""), unit(2))[0] == []


def test_each_rule_has_its_own_quiet_for() -> None:
    slow = rule(1, quiet_for=5000.0)
    _, memory = a_pass({}, 0.0, *steps(1, 2), given=slow)
    assert a_pass(memory, 4999.0, *steps(1, 2), given=slow)[0] == []
    assert a_pass(memory, 5000.0, *steps(1, 2), given=slow)[0] != []


def test_ripe_says_by_which_rule_and_why() -> None:
    (ripe,), _ = look({ONE: Look("of 1", 0.0)}, [(RULE, planned(RULE, run(*steps(1, 2))))], 900.0)
    assert (ripe.rule, ripe.run.path, ripe.doomed.names) == (
        *("checkpoints", "checkpoints/a"),
        ("checkpoint-1",),
    )
    assert ripe.doomed.reasons


def test_the_memory_survives_as_rows() -> None:
    _, memory = a_pass({}, 1.5, unit(1, names=("a", "b")), unit(2))
    assert from_rows(json.loads(json.dumps(to_rows(memory)))) == memory
