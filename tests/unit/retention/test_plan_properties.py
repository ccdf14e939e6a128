"""What holds of every plan, whatever the volume says."""

import math
from collections.abc import Callable, Mapping
from operator import attrgetter
from typing import Any, TypeVar

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from agent.config.sizes import Share
from agent.retention.facts import Records, Run, Space, Unit
from agent.retention.looks import look
from agent.retention.plan import NOT_WHOLE, plan
from agent.retention.planned import Doomed, Kept, RunPlan
from agent.retention.policy import Best, FreeSpace, Keep, Rule
from tests.unit.retention.runs import DAY, GIB, NOW

T = TypeVar("T")

ODD_TIMES = [math.inf, -math.inf, math.nan, 0.0, NOW, NOW + 60, NOW - 60]
TIMES = st.one_of(
    st.sampled_from([NOW - days * DAY for days in range(1, 12)]),
    st.sampled_from([NOW - days * DAY for days in range(1, 12)]),
    st.floats(-3e9, 3e9),
    st.sampled_from(ODD_TIMES),
)


def rare(*odd: T, usual: T) -> st.SearchStrategy[T]:
    """Each of the odd ones once in twenty, so that most plans have something to delete."""
    return st.sampled_from([*[usual] * (20 - len(odd)), *odd])


WORDS = rare("x", usual="")
VALUES = st.sampled_from([0.1, 0.2, 0.3, 0.4, 0.5, -1.0, math.nan, math.inf, -math.inf])
METRICS = st.fixed_dictionaries({}, optional={"loss": VALUES, "acc": VALUES})
ORDERS = st.one_of(st.integers(0, 12), st.integers(0, 10**30))


@st.composite
def units(draw: st.DrawFn, series: str, order: int) -> Unit:
    return Unit(
        names=tuple(
            f"{series}-{order}{tail}" for tail in draw(st.sampled_from([("",), ("", "-s")]))
        ),
        series=series,
        order=order,
        step=order if series == "step" else None,
        complete=draw(st.sampled_from([True, True, True, True, False])),
        newest=draw(TIMES),
        why=draw(WORDS),
        broken=draw(rare(True, usual=False)),
        pointer=draw(rare(True, usual=False)),
        pinned=draw(WORDS),
        busy=draw(WORDS),
        skipped=draw(WORDS),
        linked=draw(WORDS),
        metrics=draw(METRICS),
        walked=draw(rare(False, usual=True)),
        size=draw(rare(None, 0, usual=GIB)),
        fingerprint=draw(rare("", "g", usual="f")),
    )


@st.composite
def runs(draw: st.DrawFn) -> Run:
    keys = draw(
        st.sets(st.tuples(st.sampled_from(["step"] * 4 + ["epoch", "hpc"]), ORDERS), max_size=10)
    )
    found = [draw(units(series, order)) for series, order in sorted(keys)]
    names = [name for unit in found for name in unit.names] or ["none"]
    pointed = st.sampled_from(names).map(lambda name: {name: "latest"})
    records = Records(
        pointed=draw(pointed | st.just({})),
        best=draw(st.none() | pointed),
        metrics=draw(st.dictionaries(ORDERS, METRICS, max_size=5)),
        upto=draw(rare(5, 10**20, usual=None)),
        leave=draw(WORDS),
    )
    return Run(
        path=draw(st.sampled_from(["", "a", "a/b"])),
        family="hf",
        stem="",
        units=tuple(found),
        records=records,
        pinned=draw(WORDS),
        linked=draw(WORDS),
        unreadable=draw(WORDS),
    )


AMOUNTS = [FreeSpace(Share(10), Share(15)), FreeSpace(5 * GIB, 50 * GIB)]
RULES = st.builds(
    Rule,
    st.just("checkpoints"),
    st.builds(
        Keep,
        last=st.sampled_from([None, 1, 1, 2, 3]),
        every_steps=st.none() | st.integers(1, 5),
        best=st.sampled_from([None, Best(1), Best(2, "loss", "min"), *[Best(1, "acc", "max")] * 2]),
        newer_than=st.sampled_from([None, 1.0, 4 * DAY, 9 * DAY]),
    ),
    quiet_for=st.sampled_from([1.0, 900.0]),
    free_space=st.sampled_from([None, *AMOUNTS]),
    max_size=st.none() | st.integers(1, 20 * GIB),
)
SPACES = st.none() | st.builds(
    Space,
    st.integers(0, 100 * GIB),
    st.integers(-1, 100 * GIB),
    st.integers(0, 100 * GIB),
)
PARTS = st.lists(st.tuples(RULES, st.lists(runs(), max_size=3)), min_size=1, max_size=2)


def each_run(
    parts: list[tuple[Rule, list[Run]]], space: Space | None, *, whole: bool = True
) -> list[tuple[Rule, Run, RunPlan, dict[tuple[str, ...], Unit]]]:
    """With the doomed units, by their names."""
    plans = plan(parts, now=NOW, space=space, whole=whole)
    found = []
    for (rule, found_runs), planned in zip(parts, plans, strict=True):
        for run, made in zip(found_runs, planned.runs, strict=True):
            by_names = {unit.names: unit for unit in run.units}
            found.append((rule, run, made, {d.names: by_names[d.names] for d in made.delete}))
    return found


CALM = settings(deadline=None, max_examples=300, suppress_health_check=[HealthCheck.too_slow])
"""Other tests run beside these: time is no matter."""

KEYS: tuple[Callable[[Unit], float], ...] = (attrgetter("order"), attrgetter("newest"))


def complete(run: Run, unit: Unit) -> bool:
    return unit.complete and (run.records.upto is None or unit.order <= run.records.upto)


def counts(rule: Rule, run: Run, unit: Unit) -> bool:
    left = unit.pointer or unit.busy or unit.skipped
    return complete(run, unit) and not left and NOW - unit.newest >= rule.quiet_for


@CALM
@given(PARTS, SPACES, st.booleans())
def test_each_checkpoint_stays_or_goes_with_a_reason(
    parts: list[tuple[Rule, list[Run]]], space: Space | None, whole: bool
) -> None:
    for _, run, made, _ in each_run(parts, space, whole=whole):
        told: list[Kept | Doomed] = [*made.keep, *made.delete]
        paths = [each.path for each in told]
        assert len(paths) == len(run.units)
        assert len(set(paths)) == len(paths)
        for each in told:
            assert each.reasons
            assert all(each.reasons)
        for row in (made.keep, made.delete):
            numbers = [each.step for each in row if each.step is not None]
            assert numbers == sorted(numbers)


@CALM
@given(PARTS, SPACES)
def test_the_newest_complete_one_and_what_is_newer_stay(
    parts: list[tuple[Rule, list[Run]]], space: Space | None
) -> None:
    for rule, run, _, doomed in each_run(parts, space):
        for series in {unit.series for unit in doomed.values()}:
            these = [unit for unit in run.units if unit.series == series]
            counted = [unit for unit in these if counts(rule, run, unit)]
            assert counted, "without a complete one nothing goes"
            gone = [unit for unit in doomed.values() if unit.series == series]
            count = rule.keep.last or 1
            for key in KEYS:
                newest = sorted(map(key, counted), reverse=True)
                assert all(key(unit) <= newest[0] for unit in gone)
                # Of those that are as new as the last of the newest, one may go.
                assert not any(key(unit) > newest[:count][-1] for unit in gone if unit in counted)
                assert len([unit for unit in counted if unit in gone]) <= max(
                    0, len(counted) - count
                )
            assert max(counted, key=lambda unit: unit.order) not in gone


@CALM
@given(PARTS, SPACES, st.booleans())
def test_what_is_guarded_never_goes(
    parts: list[tuple[Rule, list[Run]]], space: Space | None, whole: bool
) -> None:
    for rule, run, _, doomed in each_run(parts, space, whole=whole):
        if doomed:
            assert not any((run.pinned, run.linked, run.unreadable, run.records.leave))
        called = {**run.records.pointed, **(run.records.best or {})}
        for unit in doomed.values():
            held = (unit.pinned, unit.linked, unit.busy, unit.skipped, unit.pointer)
            assert not any(held)
            assert called.keys().isdisjoint(unit.names)
            assert NOW - unit.newest >= rule.quiet_for
            assert unit.walked or not whole
            if not complete(run, unit):
                assert NOW - unit.newest >= DAY


@CALM
@given(PARTS, SPACES)
def test_want_of_space_overrides_every_steps_and_newer_than_alone(
    parts: list[tuple[Rule, list[Run]]], space: Space | None
) -> None:
    free = {id(run): doomed for _, run, _, doomed in each_run(_unlimited(parts), None)}
    for _, run, made, doomed in each_run(parts, space):
        assert free[id(run)].keys() <= doomed.keys()
        for each in made.delete:
            if each.names not in free[id(run)]:
                assert each.reasons[0].startswith(("free_space: ", "max_size: "))
                assert all("only that kept it: " in reason for reason in each.reasons[1:])


def _unlimited(parts: list[tuple[Rule, list[Run]]]) -> list[tuple[Rule, list[Run]]]:
    return [(Rule(r.path, r.keep, r.quiet_for), runs) for r, runs in parts]


@CALM
@given(PARTS)
def test_the_best_stay(parts: list[tuple[Rule, list[Run]]]) -> None:
    for rule, run, _, doomed in each_run(parts, None):
        best = rule.keep.best
        if best is None or best.metric is None:
            continue
        sign = -1 if best.mode == "max" else 1
        for series in {unit.series for unit in doomed.values()}:
            these = [u for u in run.units if u.series == series and counts(rule, run, u)]
            values = {u.names: v for u in these if (v := _value(run, u, best.metric)) is not None}
            ranked = sorted(sign * value for value in values.values())
            for unit in doomed.values():
                if unit.names in values and unit.series == series:
                    better = sum(value <= sign * values[unit.names] for value in ranked)
                    assert better > best.count


def _value(run: Run, unit: Unit, metric: str) -> float | None:
    logged: Mapping[str, float] = run.records.metrics.get(unit.step or 0, {})
    value = (logged if unit.step is not None else {}).get(metric, unit.metrics.get(metric))
    return value if value is not None and math.isfinite(value) else None


@CALM
@given(PARTS)
def test_the_second_asking_deletes_nothing_that_the_first_did_not(
    parts: list[tuple[Rule, list[Run]]],
) -> None:
    """Where space is no matter, and nothing is learnt in between."""
    first = {id(r): doomed for _, r, _, doomed in each_run(_unlimited(parts), None, whole=False)}
    for _, run, made, doomed in each_run(_unlimited(parts), None):
        assert doomed.keys() <= first[id(run)].keys()
        for each in made.keep:
            if NOT_WHOLE in each.reasons:
                assert each.reasons == (NOT_WHOLE,)


@CALM
@given(PARTS, SPACES, st.integers(0, 5), st.floats(0, 3000))
def test_nothing_is_ripe_that_an_earlier_pass_did_not_plan(
    parts: list[tuple[Rule, list[Run]]], space: Space | None, passes: int, pause: float
) -> None:
    memory: dict[Any, Any] = {}
    rules = [rule for rule, _ in parts]
    for each in range(passes + 1):
        planned = plan(parts, now=NOW, space=space, whole=True)
        before = memory
        now = each * pause
        ripe, memory = look(before, list(zip(rules, planned, strict=True)), now)
        for one in ripe:
            seen = before[one.target]
            assert seen.fingerprint == one.doomed.fingerprint != ""
            assert now - seen.at >= min(rule.quiet_for for rule in rules)
