"""Want of space: what goes for it, what never does, and that it is made good once."""

from agent.config.sizes import Share
from agent.retention.facts import Records, Space
from agent.retention.plan import plan
from agent.retention.policy import Best, FreeSpace
from tests.unit.retention.runs import (
    DAY,
    GIB,
    NOW,
    gone,
    only,
    planned,
    rule,
    run,
    stays,
    steps,
    unit,
    why,
)

WISH = FreeSpace(Share(10), Share(15))
TIGHT = Space(total=100 * GIB, free=9 * GIB)
"""6 GiB are wanted."""


def test_just_the_shortfall_goes_oldest_first() -> None:
    wide = rule(1, every_steps=1, free_space=WISH)
    plan = only(wide, run(*steps(*range(1, 11))), space=TIGHT)
    assert gone(plan) == [1, 2, 3, 4, 5, 6]
    said = "free_space: 9% is free, less than 10%: the oldest of what may go for that, until"
    assert why(plan, 1) == (
        f"{said} 15% will be",
        "only that kept it: every_steps: 1 is a multiple of 1",
    )


def test_nothing_goes_while_enough_is_free_or_nothing_is_known() -> None:
    wide = rule(1, every_steps=1, free_space=WISH)
    for space in (
        Space(100 * GIB, 10 * GIB),
        Space(100 * GIB, 14 * GIB),
        None,
        Space(0, 0),
        Space(100 * GIB, 9 * GIB, in_trash=6 * GIB),
    ):
        assert gone(only(wide, run(*steps(*range(1, 11))), space=space)) == []


def test_sizes_do_as_well_as_shares() -> None:
    wide = rule(1, every_steps=1, free_space=FreeSpace(10 * GIB, 11 * GIB))
    assert gone(only(wide, run(*steps(1, 2, 3, 4)), space=TIGHT)) == [1, 2]


def test_what_goes_anyway_and_what_lies_in_the_trash_count() -> None:
    wide = rule(1, every_steps=2, free_space=WISH)
    space = Space(100 * GIB, 9 * GIB, in_trash=2 * GIB)
    # 1 and 3 go by the rule, 2 GiB are in the trash: two more are wanted.
    assert gone(only(wide, run(*steps(*range(1, 11))), space=space)) == [1, 3, 5, 7, 9]
    assert gone(only(wide, run(*steps(1, 2, 4, 6, 8, 10)), space=space)) == [1, 2, 4, 6]


def test_newer_than_yields_and_what_is_needed_does_not() -> None:
    records = Records(
        best={"checkpoint-1": "best_model_checkpoint"},
        pointed={"checkpoint-2": "latest"},
        metrics={3: {"loss": 0.1}},
    )
    units = [
        unit(step, newest=NOW - DAY + step, **({"pinned": ".keep"} if step == 4 else {}))
        for step in range(1, 11)
    ]
    wish = FreeSpace(Share(98), Share(99))
    wide = rule(2, newer_than=9 * DAY, best=Best(1, "loss", "min"), free_space=wish)
    found = only(wide, run(*units, records=records), space=TIGHT)
    assert (gone(found), stays(found)) == ([5, 6, 7, 8], [1, 2, 3, 4, 9, 10])


def test_one_flood_does_not_evict_what_others_keep() -> None:
    flood = run(*[unit(s, newest=NOW - DAY + s) for s in range(1, 41)], path="checkpoints/flood")
    quiet = run(*steps(1, 2, 3), path="checkpoints/quiet")
    wide = rule(3, newer_than=2 * DAY, free_space=FreeSpace(Share(50), Share(60)))
    found = planned(wide, quiet, flood, space=TIGHT)
    assert gone(found.runs[0]) == []
    assert stays(found.runs[1]) == [38, 39, 40]
    assert found.findings == ("free_space: with all that may go for it, 14GiB are missing",)


def test_the_shortfall_is_made_good_once_for_all_rules() -> None:
    wide = rule(1, every_steps=1, free_space=WISH)
    runs = [run(*steps(*range(1, 11)), path=path) for path in ("a", "b")]
    plans = plan([(wide, runs[:1]), (wide, runs[1:])], now=NOW, space=TIGHT, whole=True)
    went = [gone(one) for each in plans for one in each.runs]
    assert went == [[1, 2, 3], [1, 2, 3]], "the oldest of both"


def test_only_rules_that_ask_for_it_shrink() -> None:
    asks, does_not = rule(1, every_steps=1, free_space=WISH), rule(1, every_steps=1)
    pairs = [(each, [run(*steps(1, 2, 3))]) for each in (does_not, asks)]
    went = [gone(p.runs[0]) for p in plan(pairs, now=NOW, space=TIGHT, whole=True)]
    assert went == [[], [1, 2]]


def test_unknown_sizes_are_asked_for_by_dooming() -> None:
    wide = rule(1, every_steps=1, free_space=WISH)
    first = [unit(step, size=None, walked=False, fingerprint="") for step in range(1, 11)]
    asked = only(wide, run(*first), space=TIGHT, whole=False)
    assert gone(asked) == list(range(1, 10))
    second = [unit(s) if s in gone(asked) else first[s - 1] for s in range(1, 11)]
    assert gone(only(wide, run(*second), space=TIGHT)) == [1, 2, 3, 4, 5, 6]


def test_what_was_not_looked_at_whole_does_not_go_for_space() -> None:
    wide = rule(1, every_steps=1, free_space=WISH)
    plan = only(wide, run(unit(1, walked=False), *steps(2, 3)), space=TIGHT)
    assert (gone(plan), why(plan, 1)) == ([2], ("every_steps: 1 is a multiple of 1",))


def test_max_size() -> None:
    wide = rule(1, every_steps=1, max_size=4 * GIB)
    plan = planned(wide, run(*steps(*range(1, 8))))
    assert gone(plan.runs[0]) == [1, 2, 3]
    assert why(plan.runs[0], 1)[0] == "max_size: over 4GiB, and the oldest of what may go for that"
    assert plan.findings == ()


def test_max_size_is_over_all_runs_of_the_rule() -> None:
    wide = rule(1, every_steps=1, max_size=4 * GIB)
    old, new = run(*steps(1, 2, 3), path="a"), run(*steps(4, 5, 6), path="b")
    assert [gone(each) for each in planned(wide, new, old).runs] == [[], [1, 2]]


def test_max_size_takes_nothing_that_has_to_stay() -> None:
    plan = planned(rule(3, every_steps=1, max_size=GIB), run(*steps(1, 2, 3, 4)))
    assert stays(plan.runs[0]) == [2, 3, 4]
    assert plan.findings == ("max_size: what has to stay is 3GiB, over 1GiB",)


def test_max_size_says_which_sizes_are_not_known() -> None:
    plan = planned(rule(1, every_steps=1, max_size=GIB), run(*steps(1, 2, size=None)))
    assert gone(plan.runs[0]) == []
    assert plan.findings == ("max_size: the size of 2 checkpoints is not known",)
