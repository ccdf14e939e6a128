"""The retention of a mount: what is taken, and every refusal at its line and column."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agent.config import later, sizes
from agent.config.diff import Altered, Part, diff
from agent.config.load import load
from agent.config.problems import ConfigInvalid
from agent.config.retention_schema import FORMATS, RetentionConfig, rule_path
from agent.config.sizes import Share
from tests.unit.config.test_load import check_places, outcome

HEAD = """\
mounts:
  m:
    volume: vol
    servers: [n1]
    path: /mnt/m
"""
GOOD = (
    HEAD
    + """\
    retention:
      mode: report
      every: 1h
      trash: {keep_for: 3d}
      rules:
        - path: checkpoints/finetune
          keep: {last: 3, every_steps: 1000, best: 1, newer_than: 2d}
          quiet_for: 15m
          free_space: {start_below: 10%, stop_above: 15%}
        - path: checkpoints/pretrain
          keep: {last: 5}
          max_size: 20TiB
        - {path: "projects/*/checkpoints", keep: {best: {metric: loss, mode: min}}, format: kohya}
"""
)


@pytest.fixture(autouse=True)
def _all_sections(monkeypatch: pytest.MonkeyPatch) -> None:
    """As if all were wired in."""
    monkeypatch.setattr(later, "LATER", ())


def lines(text: str) -> list[str]:
    with pytest.raises(ConfigInvalid) as caught:
        load(text, "agent.yaml")
    return list(caught.value.lines)


def retention(text: str) -> RetentionConfig:
    found = load(text, "agent.yaml").config.mounts["m"].retention
    assert found is not None
    return found


def test_the_example_of_the_contract() -> None:
    found = retention(GOOD)
    assert (found.mode, found.every, found.trash.keep_for) == ("report", 3600.0, 259200.0)
    finetune, pretrain, projects = found.rules
    assert (finetune.keep.last, finetune.keep.every_steps) == (3, 1000)
    assert finetune.keep.best is not None
    assert (finetune.keep.best.count, finetune.keep.best.metric) == (1, None)
    assert (finetune.keep.newer_than, finetune.quiet_for) == (172800.0, 900.0)
    assert finetune.free_space is not None
    assert finetune.free_space.start_below == Share(10)
    assert finetune.free_space.stop_above == Share(15)
    assert (pretrain.max_size, pretrain.quiet_for, pretrain.free_space) == (20 << 40, 900.0, None)
    assert projects.keep.best is not None
    assert (projects.keep.best.metric, projects.keep.best.mode) == ("loss", "min")
    assert (projects.keep.best.count, projects.format) == (1, "kohya")


def test_defaults() -> None:
    found = retention(HEAD + "    retention: {rules: [{path: a, keep: {last: 1}}]}\n")
    assert (found.mode, found.every, found.trash.keep_for) == ("report", 3600.0, 259200.0)


def test_it_is_part_of_the_fingerprint() -> None:
    one, two = load(GOOD, "f"), load(GOOD.replace("10%", "11%"), "f")
    assert one.fingerprint != two.fingerprint
    assert load(GOOD.replace("1000,", "1000  ,"), "f").fingerprint == one.fingerprint


def test_a_reload_tells_of_a_change() -> None:
    one, two = load(GOOD, "f").config, load(GOOD.replace("last: 5", "last: 4"), "f").config
    (change,) = diff(one, two)
    assert isinstance(change, Altered)
    assert change.parts == {Part.RETENTION}


@pytest.mark.parametrize("name", FORMATS)
def test_every_format(name: str) -> None:
    assert retention(GOOD.replace("kohya", name)).rules[2].format == name


PATHS = [
    ("/checkpoints", "must be relative to the mount's path"),
    ("/", "must be relative to the mount's path"),
    (".", "is the volume's root"),
    ("''", "is empty; write a path below the mount's"),
    ("..", "must not have .. in it"),
    ("a/../b", "must not have .. in it"),
    ("a//b", "must be normalised"),
    ("a/", "must be normalised"),
    ("./a", "must be normalised"),
    (".gluster-ml/trash", "goes through .gluster-ml, which is the agent's own directory"),
    ("'.*/a'", "has a pattern for the agent's or GlusterFS's own directories"),
    ("'.gluster-?l'", "has a pattern for the agent's or GlusterFS's own directories"),
    ("'a/**/b'", "has ** in it; runs are found to a depth of 6 anyway"),
    ("'a[bc]'", "may have * and ? for letters of a name, and no"),
    ("'{a,b}'", "may have * and ? for letters of a name, and no"),
    ("2026", "must be text"),
    ("[a]", "must be text"),
    ("", "must be text"),
]


@pytest.mark.parametrize(("path", "said"), PATHS, ids=range(len(PATHS)))
def test_paths(path: str, said: str) -> None:
    (found,) = lines(
        HEAD
        + f"    retention:\n      rules:\n        - path: {path}\n          keep: {{last: 3}}\n"
    )
    assert found.startswith("agent.yaml:8:")
    assert ": mounts.m.retention.rules[0].path: " in found
    assert said in found


RULE = "mounts.m.retention.rules[0]"
KEEPS = [
    ("{}", f"8:17: {RULE}.keep:", "is empty; say what is kept, e.g. {last: 3}"),
    ("", f"8:16: {RULE}.keep:", "is empty; fill it in"),
    ("3", f"8:17: {RULE}.keep:", "must be a mapping of keys"),
    ("{last: 0}", f"8:24: {RULE}.keep.last:", "must be at least 1"),
    ("{last: -1}", f"8:24: {RULE}.keep.last:", "must be at least 1"),
    ("{last: '3'}", f"8:24: {RULE}.keep.last:", "must be a whole number, without quotes"),
    ("{last: 1.5}", f"8:24: {RULE}.keep.last:", "must be a whole number"),
    ("{last: }", f"8:23: {RULE}.keep.last:", "is empty; fill it in, or remove it"),
    ("{last: true}", f"8:24: {RULE}.keep.last:", "must be a whole number"),
    ("{lasts: 3}", f"8:18: {RULE}.keep.lasts:", "is no key here; did you mean last?"),
    ("{x: 3}", f"8:18: {RULE}.keep.x:", "there are last, every_steps, best, newer_than"),
    ("{every_steps: 0}", f"8:31: {RULE}.keep.every_steps:", "must be at least 1"),
    ("{every_steps: 1k}", f"8:31: {RULE}.keep.every_steps:", "must be a whole number"),
    ("{newer_than: 2}", f"8:30: {RULE}.keep.newer_than:", "is a number without a unit"),
    ("{newer_than: 0s}", f"8:30: {RULE}.keep.newer_than:", "is out of range"),
    ("{newer_than: }", f"8:29: {RULE}.keep.newer_than:", "is not a duration"),
    ("{best: 0}", f"8:24: {RULE}.keep.best:", "must be 1 to 1000"),
    ("{best: yes}", f"8:24: {RULE}.keep.best:", "must be a number or a mapping"),
    ("{best: eval_loss}", f"8:24: {RULE}.keep.best:", "must be a number or a mapping; write 1"),
    ("{best: {}}", f"8:24: {RULE}.keep.best:", "names no metric; write 1 for what"),
    ("{best: {mode: min}}", f"8:24: {RULE}.keep.best:", "names no metric"),
    ("{best: {count: 2}}", f"8:24: {RULE}.keep.best:", "names no metric"),
    ("{best: {metric: loss}}", f"8:24: {RULE}.keep.best:", "has no mode, and it is never guessed"),
    ("{best: {metric: 1, mode: min}}", f"8:33: {RULE}.keep.best.metric:", "quote it"),
    ("{best: {metric: a, mode: less}}", f"8:42: {RULE}.keep.best.mode:", "must be min or max"),
    ("{best: {metric: a, mode: min, count: 0}}", f"8:54: {RULE}.keep.best.count:", "at least 1"),
    ("{best: {metric: a, modus: min}}", f"8:36: {RULE}.keep.best.modus:", "did you mean mode?"),
]


@pytest.mark.parametrize(("keep", "place", "said"), KEEPS, ids=range(len(KEEPS)))
def test_keeps(keep: str, place: str, said: str) -> None:
    found = lines(
        HEAD
        + f"    retention:\n      rules:\n        - keep: {keep}\n          path: checkpoints\n"
    )
    # What is given without a value is told where its key stands.
    assert found[0].startswith(f"agent.yaml:{place}")
    assert said in found[0]
    assert len(found) == 1


KEEP = "keep: {last: 3}"
SECTIONS = [
    ("{}", "6:5: mounts.m.retention.rules:", "is missing, e.g. rules: [{path: checkpoints, keep:"),
    ("{rules: []}", "6:24: mounts.m.retention.rules:", "is empty; write a rule, or remove"),
    ("{rules: }", "6:23: mounts.m.retention.rules:", "must be a list"),
    ("{rules: {path: a}}", "6:24: mounts.m.retention.rules:", "must be a list, e.g. [{path:"),
    ("{rules: [a]}", "6:25: mounts.m.retention.rules[0]:", "must be a mapping"),
    ("{rules: [{keep: {last: 3}}]}", f"6:25: {RULE}", "is missing, e.g. path: checkpoints"),
    ("{rules: [{path: a}]}", f"6:25: {RULE}", "is missing, e.g. keep: {last: 3}"),
    (f"{{rules: [{{path: a, {KEEP}, keeps: 1}}]}}", "6:52:", "did you mean keep?"),
    (f"{{rules: [{{path: a, {KEEP}, x: 1}}]}}", "6:52:", "there are path, keep, quiet_for,"),
    (f"{{rules: [{{path: a, {KEEP}}}], mode: on}}", "6:60:", "must be report or enforce"),
    (f"{{rules: [{{path: a, {KEEP}}}], every: 0s}}", "6:61:", "is out of range"),
    (f"{{rules: [{{path: a, {KEEP}}}], trash: {{keep: 1d}}}}", "6:62:", "did you mean keep_for?"),
    (f"{{rules: [{{path: a, {KEEP}}}], trash: {{keep_for: 3}}}}", "6:72:", "without a unit"),
    (f"{{rules: [{{path: a, {KEEP}, quiet_for: 0s}}]}}", "6:63:", "is out of range"),
    (f"{{rules: [{{path: a, {KEEP}, format: hff}}]}}", "6:60:", "must be hf, swift, diffusers"),
    (f"{{rules: [{{path: a, {KEEP}, max_size: 20}}]}}", "6:62:", "is a number without a unit"),
    (f"{{rules: [{{path: a, {KEEP}, max_size: 20T}}]}}", "6:62:", "write it with its unit (KiB,"),
    (f"{{rules: [{{path: a, {KEEP}, max_size: 1.5TB}}]}}", "6:62:", "is a fraction"),
    (f"{{rules: [{{path: a, {KEEP}, max_size: 10%}}]}}", "6:62:", "is not a size"),
    (f"{{rules: [{{path: a, {KEEP}, max_size: 0GB}}]}}", "6:62:", "is out of range"),
]


@pytest.mark.parametrize(("section", "place", "said"), SECTIONS, ids=range(len(SECTIONS)))
def test_sections(section: str, place: str, said: str) -> None:
    (found,) = lines(HEAD + f"    retention: {section}\n")
    assert found.startswith(f"agent.yaml:{place}")
    assert said in found


SPACES = [
    ("{start_below: 10%}", "is missing, e.g. stop_above: 15%"),
    ("{start_below: 10%, stop_above: 10%}", "must be more than start_below"),
    ("{start_below: 15%, stop_above: 10%}", "must be more than start_below"),
    ("{start_below: 2TB, stop_above: 1TiB}", "must be more than start_below"),
    ("{start_below: 10%, stop_above: 2TB}", "must be a share or a size as start_below is"),
    ("{start_below: 10, stop_above: 15%}", "is a number without a unit"),
    ("{start_below: 0%, stop_above: 15%}", "is out of range; it may be 1% to 99%"),
    ("{start_below: 1.5%, stop_above: 15%}", "is a fraction"),
    ("{start_below: 10 %, stop_above: 15%}", "is not a share, e.g. 10%"),
    ("{start_below: ten, stop_above: 15%}", "is not a size"),
    ("10%", "must be a mapping"),
    ("", "is empty; fill it in, or remove it"),
]


@pytest.mark.parametrize(("space", "said"), SPACES, ids=range(len(SPACES)))
def test_free_space(space: str, said: str) -> None:
    (found,) = lines(
        HEAD + "    retention:\n      rules:\n        - path: a\n"
        f"          keep: {{last: 1}}\n          free_space: {space}\n"
    )
    assert found.startswith("agent.yaml:10:")
    assert f": {RULE}.free_space" in found
    assert said in found


def two_rules(one: str, two: str) -> str:
    rules = "".join(f'        - {{path: "{path}", keep: {{last: 1}}}}\n' for path in (one, two))
    return HEAD + "    retention:\n      rules:\n" + rules


TIES = [
    ("a", "a", "is the path of rules[0] too"),
    ("a/*", "a/*", "is the path of rules[0] too"),
    ("a/*", "*/b", "can mean the same directories as rules[0] (a/*), and neither has more names"),
    ("*", "?", "can mean the same directories as rules[0] (*)"),
    ("a", "a/*", "can mean the same directories as rules[0] (a)"),
    ("*/b", "a", "can mean the same directories as rules[0] (*/b)"),
    ("projects/*/checkpoints", "projects/alice", "can mean the same directories"),
    ("a/x*", "a/*x", "can mean the same directories"),
]


@pytest.mark.parametrize(("one", "two", "said"), TIES, ids=range(len(TIES)))
def test_ties(one: str, two: str, said: str) -> None:
    (found,) = lines(two_rules(one, two))
    assert found.startswith("agent.yaml:9:18: mounts.m.retention.rules[1].path:")
    assert said in found


@pytest.mark.parametrize(
    ("one", "two"),
    [("a", "b"), ("a", "a/b"), ("a/*", "a/b"), ("a/*", "b/*"), ("a/x*", "a/y*"), ("*/a", "*/b")],
)
def test_no_ties(one: str, two: str) -> None:
    load(two_rules(one, two), "f")
    load(two_rules(two, one), "f")


def test_all_problems_are_told_at_once() -> None:
    text = GOOD.replace("last: 5", "last: 0").replace("1h", "1").replace("10%", "20%")
    text += '        - {path: "projects/*/checkpoints", keep: {last: 1}}\n'
    found = lines(text)
    assert [line.split(":")[1] for line in found] == ["8", "14", "16", "19"]


@pytest.mark.parametrize("option", ["ro: true", "rw: false", "worm: true"])
def test_none_on_a_read_only_mount(option: str) -> None:
    (found,) = lines(GOOD.replace("    retention:", f"    options: {{{option}}}\n    retention:"))
    assert found.startswith(
        "agent.yaml:7:5: mounts.m.retention: is not possible with the mount option"
    )


@pytest.mark.parametrize(("one", "two"), [("v", "v"), ("v", "v/s"), ("v/s/t", "v/s")])
def test_one_retention_for_one_part_of_a_volume(one: str, two: str) -> None:
    given = "servers: [n], retention: {rules: [{path: a, keep: {last: 1}}]}"
    mounts = "mounts:\n" + "".join(
        f"  {name}: {{volume: {volume}, path: /mnt/{name}, {given}}}\n"
        for name, volume in (("a", one), ("b", two))
    )
    (found,) = lines(mounts)
    assert ": mounts.b.retention: is about checkpoints that mounts.a has a retention for" in found
    load(mounts.replace(f"volume: {two}, path: /mnt/b", "volume: w, path: /mnt/b"), "f")


def test_a_retention_left_empty_is_none() -> None:
    assert load(HEAD + "    retention:\n", "f").config.mounts["m"].retention is None


def test_nothing_of_it_can_be_changed() -> None:
    with pytest.raises(ValueError, match="frozen"):
        retention(GOOD).rules[0].keep.last = 1  # type: ignore[misc]


@pytest.mark.parametrize(
    ("text", "size"),
    [("1kB", 1000), ("1KiB", 1024), ("500GiB", 500 << 30), ("2TB", 2 * 10**12), ("3PiB", 3 << 50)],
)
def test_sizes(text: str, size: int) -> None:
    assert sizes.parse(text) == size


@pytest.mark.parametrize("value", ["", "1", "1 GB", "1gb", "-1GB", "1e3GB", None, True, 5, [], "%"])
def test_no_sizes(value: object) -> None:
    with pytest.raises(ValueError, match=r"is .*"):
        sizes.parse(value)
    with pytest.raises(ValueError, match=r"is .*"):
        sizes.amount(value)


@given(st.integers(1, sizes.LARGEST))
def test_a_size_is_shown_in_two_figures_at_least(size: int) -> None:
    shown = sizes.text(size)
    try:
        read = sizes.parse(shown)
    except ValueError:
        assert size < 10 * 1024
        return
    assert 0 <= size - read < max(1, size / 10)


@given(st.text(alphabet="ab*?./ []", max_size=12))
def test_a_rule_stays_inside(text: str) -> None:
    try:
        path = rule_path(text)
    except ValueError:
        return
    assert path == text
    assert not path.startswith("/")
    assert not {"", ".", ".."} & set(path.split("/"))


BITS = st.sampled_from(
    ["{}", "[]", "1", "a", "null", "true", "1e3", "10%", "1GB", ": ", "- ", "\n", "  ", "'", "*"]
)


@settings(deadline=None, max_examples=300)
@given(st.data())
def test_the_example_damaged_anywhere(data: st.DataObject) -> None:
    """Whatever stands where, it is taken or refused at a place in the file."""
    start = data.draw(st.integers(0, len(GOOD)))
    end = data.draw(st.integers(start, min(len(GOOD), start + 30)))
    text = GOOD[:start] + "".join(data.draw(st.lists(BITS, max_size=4))) + GOOD[end:]
    check_places(text, outcome(text))
