"""How long entries are seen in the trash, and which of them go."""

from hypothesis import given
from hypothesis import strategies as st

from agent.retention.due import AN_HOUR, Ages, due, early
from agent.retention.policy import FreeSpace, Keep, Rule
from agent.retention.trash import Entry

DAY = 86400.0


def entry(id_: str, size: int | None = 100, time: float = 0.0) -> Entry:
    return Entry(
        id=id_,
        inode=1,
        run="runs",
        names=("checkpoint-1",),
        owner=0,
        size=size,
        time=time,
        rule="runs",
        reasons=(),
        host="gpu1",
        whole=True,
    )


A, B, C = entry("a"), entry("b"), entry("c", size=None)


def test_ages_are_counted_from_when_this_host_first_saw_an_entry() -> None:
    ages = Ages().now([A], "boot", 1000.0)
    assert ages.of == {"a": 0.0}
    ages = ages.now([A, B], "boot", 1500.0)
    assert ages.of == {"a": 500.0, "b": 0.0}
    assert ages.now([B], "boot", 1600.0).of == {"b": 100.0}, "what is gone is forgotten"


def test_after_a_boot_the_time_since_it_counts() -> None:
    ages = Ages("before", 90_000.0, {"a": 500.0}).now([A], "after", 200.0)
    assert ages.of == {"a": 700.0}


def test_no_clock_that_can_be_set_makes_anything_older() -> None:
    old = entry("a", time=-1e12)
    ages = Ages().now([old], "boot", 1e9)
    assert due([old], ages, 3 * DAY) == []
    assert due([old], ages.now([old], "boot", 1e9 + 3 * DAY), 3 * DAY) == [old]


def test_nothing_goes_early_before_an_hour() -> None:
    ages = Ages("boot", 0.0, {"a": AN_HOUR - 1})
    assert due([A], ages, AN_HOUR) == []
    assert early([A], ages, [rule(50, 60)], total=1000, free=0) == []


def rule(below: int, above: int) -> Rule:
    return Rule("runs", Keep(last=1), free_space=FreeSpace(below, above))


def test_under_pressure_the_oldest_go_and_no_more_than_is_needed() -> None:
    ages = Ages("boot", 0.0, {"a": 5 * DAY, "b": 2 * DAY, "c": 9 * DAY})
    held = [A, B, C]
    assert early(held, ages, [rule(50, 60)], total=1000, free=50) == []
    assert early(held, ages, [rule(50, 60)], total=1000, free=49) == [C, A], "its size is unknown"
    assert early(held, ages, [rule(50, 300)], total=1000, free=49) == [C, A, B]
    assert early(held, ages, [rule(10, 300), rule(50, 60)], total=1000, free=49) == [C, A]
    assert early(held, ages, [Rule("runs", Keep(last=1))], total=1000, free=0) == []
    assert early(held, ages, [rule(50, 60)], total=0, free=0) == [], "nothing is known"


def test_a_row_and_back() -> None:
    ages = Ages("boot", 5.0, {"a": 1.5})
    assert Ages.from_row(ages.to_row()) == ages


@given(steps=st.lists(st.floats(0, 1e7), min_size=1, max_size=20), reboot=st.booleans())
def test_an_age_never_exceeds_the_time_that_passed(*, steps: list[float], reboot: bool) -> None:
    ages, at, passed = Ages().now([A], "0", 0.0), 0.0, 0.0
    for count, step in enumerate(steps):
        boot = str(count) if reboot else "0"
        at = step if reboot else at + step
        passed += step
        ages = ages.now([A], boot, at)
        assert ages.of["a"] <= passed * (1 + 1e-9)
