"""What was looked at, put together; links; rows. All by plain values."""

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from agent.retention import links
from agent.retention.assemble import Group, Looked, Whole, groups, run, walked
from agent.retention.facts import Evidence, Named, Records, Run, Unit
from agent.retention.links import Link, Place
from agent.retention.planned import Doomed, Kept, RunPlan, Skipped
from agent.retention.rows import Joined, rows

GENUINE = Evidence(genuine=True, complete=True)
LACKS = Evidence(genuine=False, complete=False, why="x is missing")


def named(name: str, order: int = 1, family: str = "hf", **more: object) -> Named:
    return Named(name, family, "step", order, order, **more)  # type: ignore[arg-type]


def looked(answer: Named, evidence: Evidence = GENUINE, newest: float = 1.0) -> Looked:
    return Looked(answer.name, ((answer, evidence),), newest)


def test_what_lacks_the_evidence_belongs_to_the_family_of_its_siblings() -> None:
    both = ((named("c-2", 2, "hf"), LACKS), (named("c-2", 2, "diffusers"), LACKS))
    sure = looked(named("c-1", 1, "diffusers"))
    (group,) = groups([sure, Looked("c-2", both, 1.0)])
    assert group.family == "diffusers"
    assert [name.name for name in group.names] == ["c-1", "c-2"]


def test_what_is_whole_without_the_evidence_is_somebody_else_s() -> None:
    whole = replace(LACKS, complete=True)
    (group,) = groups([looked(named("c-1")), looked(named("c-2", 2), whole)])
    assert [name.name for name in group.names] == ["c-1"]
    assert [name for name, _ in group.odd] == ["c-2"]


def test_where_nobody_carries_the_evidence_there_is_no_checkpoint() -> None:
    (group,) = groups([looked(named("c-1"), LACKS)])
    assert not group.members
    assert group.odd == [("c-1", "has the name of a checkpoint of hf: x is missing")]
    assert groups([looked(named("12", 12, "orbax"), LACKS)]) == []
    (trusted,) = groups([looked(named("12", 12, "orbax"), LACKS)], trusted="orbax")
    assert trusted.members


def test_a_unit_is_complete_by_its_models() -> None:
    model, state = named("m"), named("m-state", side=True)
    torn = replace(GENUINE, complete=False, why="torn", broken=True)
    for models, sides, complete in ((GENUINE, torn, True), (torn, GENUINE, False)):
        (group,) = groups([looked(model, models), looked(state, sides, newest=7.0)])
        (unit,) = run("r", group, Records()).units
        assert (unit.names, unit.complete, unit.broken) == (("m", "m-state"), complete, True)
        assert unit.newest == 7.0
        assert bool(unit.why) != complete
    (alone,) = groups([looked(state)])
    assert run("r", alone, Records()).units[0].complete


def test_a_checkpoint_of_very_many_names_is_left_alone() -> None:
    (group,) = groups([looked(named(f"c-v{n}")) for n in range(201)])
    assert "200 names" in run("r", group, Records()).units[0].skipped


def test_what_was_walked_is_newer_at_most() -> None:
    unit = Unit(("a",), "step", 1, 1, complete=True, newest=5.0)
    whole = Whole("f" * 32, newest=3.0, size=7, busy=".nfs1")
    (found,) = walked(Run("r", "hf", "", (unit,)), {("a",): whole}).units
    assert (found.walked, found.newest, found.size, found.busy) == (True, 5.0, 7, ".nfs1")


def test_targets_of_links() -> None:
    def target(text: str, directory: str = "a/b") -> str | None:
        link = Link(directory, "x", text)
        return links.Ways([link, Link("", "way", "c/d")], "/mnt/s").end(link)

    assert target("../c") == "a/c"
    assert target("../../..") is None
    assert target("../..") == ""
    assert target("/mnt/s/a/../c/./d/") == "c/d"
    assert target("/mnt/s") == ""
    assert target("/mnt/sister/a") is None
    assert target("//mnt/s/a") == "a"
    assert target("") == "a/b"
    assert target("../../../s/c") == "c"
    assert target("../../../sister/c") is None
    assert target("/mnt/s/way/../e") == "c/e"
    assert target("/mnt/s/a/x") == "a/x"
    assert target("x/" * 2000) is None


names = st.text(st.characters(exclude_characters="/\0"), min_size=1, max_size=8)
texts = st.text(st.sampled_from("ab./"), max_size=12)


@given(st.lists(st.builds(Link, st.sampled_from(["", "a", "a/b", "b"]), names, texts), max_size=12))
def test_links_of_any_text_end(found: list[Link]) -> None:
    unit = Unit(("a",), "step", 1, 1, complete=True, newest=0.0)
    places = {
        path: Place((Run(path, "hf", "", (unit,)),), frozenset({"a", "b"}))
        for path in ("", "a", "a/b")
    }
    marked = links.linked(places, found, "/m")
    assert set(marked) == set(places)
    for link in found:
        path = links.Ways(found, "/m").end(link)
        # To a checkpoint, and not out of itself.
        for place in places:
            inside = f"{place}/a".lstrip("/")
            mine = link.path == inside or link.path.startswith(f"{inside}/")
            if path == inside and not mine:
                assert marked[place].runs[0].units[0].linked


step = st.none() | st.integers(0, 10**18)
reasons = st.lists(st.text(max_size=50_000), min_size=1, max_size=4).map(tuple)
plans = st.builds(
    RunPlan,
    path=names,
    format=names,
    keep=st.lists(st.builds(Kept, names, step, reasons), max_size=9).map(tuple),
    delete=st.lists(
        st.builds(
            Doomed, names, step, reasons, step, st.lists(names, min_size=1).map(tuple), names
        ),
        max_size=9,
    ).map(tuple),
    skipped=st.lists(st.builds(Skipped, names, names), max_size=9).map(tuple),
    findings=st.lists(names, max_size=3).map(tuple),
    stem=names,
)


@given(st.integers(-1, 9), plans)
def test_a_plan_comes_through_in_pieces(rule: int, plan: RunPlan) -> None:
    joined = Joined()
    *before, last = [joined.add(row) for row in rows(rule, plan)]
    assert before == [None] * len(before)
    assert last == (rule, plan)


def test_of_very_many_odd_names_some_are_told() -> None:
    """Those of a data set: each was a line in each plan, and in the daemon's memory."""
    odd = [(f"shard-{number:06}.pt", "is no checkpoint") for number in range(50_000)]
    found = run("r", Group("kohya", "shard", [], odd), Records()).odd
    assert len(found) == 100
    assert found[0] == odd[0]
    assert found[-1] == (odd[99][0], "is no checkpoint; and 49900 more names are left alone")
