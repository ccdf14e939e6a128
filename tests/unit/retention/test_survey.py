"""Surveys of real directories by the real worker: what is found, and what is planned of it."""

import os
import subprocess
from pathlib import Path

import pytest

from agent.errors import AgentError
from agent.retention.policy import Keep, Rule
from tests.unit.retention.disk import NOW, OLD, gone, grow, hf, keep, look, runs, skipped, why
from tests.unit.retention.saved import kohya_model, kohya_state, lightning_run, orbax_checkpoint
from tests.unit.retention.trees import Link


def test_the_oldest_by_number_go_and_each_has_its_reasons(tmp_path: Path) -> None:
    grow(tmp_path, {"runs": {"a": hf(9, 10, 100), "b": hf(5)}})
    found = look(tmp_path, keep(last=1))
    assert gone(found) == ["runs/a/checkpoint-9", "runs/a/checkpoint-10"]
    assert "newest" in why(found, "runs/a/checkpoint-100")
    assert list(runs(found)) == ["runs/a", "runs/b"]
    (first, _) = runs(found)["runs/a"].delete
    used = subprocess.run(
        ["du", "-s", "-B1", tmp_path / first.path], capture_output=True, text=True, check=True
    )
    assert first.size == int(used.stdout.split()[0])
    assert first.names == ("checkpoint-9",)
    assert len(first.fingerprint) == 32


def test_a_second_survey_says_the_same_and_a_touched_file_is_noticed(tmp_path: Path) -> None:
    grow(tmp_path, {"runs": hf(1, 2)})

    def fingerprint() -> str:
        (doomed,) = runs(look(tmp_path))["runs"].delete
        return doomed.fingerprint

    first = fingerprint()
    assert fingerprint() == first
    file = tmp_path / "runs/checkpoint-1/model.bin"
    old = file.stat()
    file.write_bytes(b"W" * 100)
    os.utime(file, ns=(old.st_atime_ns, old.st_mtime_ns))  # as cp -p would
    assert fingerprint() != first


def test_runs_are_found_to_a_depth_of_six(tmp_path: Path) -> None:
    grow(tmp_path / "runs/1/2/3/4/5/6", hf(1, 2))
    grow(tmp_path / "runs/1/2/3/4/5/6/7", hf(1, 2))
    assert list(runs(look(tmp_path))) == ["runs/1/2/3/4/5/6"]


def test_nothing_is_looked_for_in_checkpoints_and_dot_directories(tmp_path: Path) -> None:
    grow(tmp_path, {"runs": hf(7) | {".old": hf(1, 2)}})
    grow(tmp_path / "runs/checkpoint-7/inner", hf(1, 2))
    grow(tmp_path / "runs/.gluster-ml", hf(1, 2))
    assert list(runs(look(tmp_path))) == ["runs"]


def test_names_that_people_give_too_are_searched_unless_they_are_checkpoints(
    tmp_path: Path,
) -> None:
    grow(tmp_path, {"runs": {"alice_llama_20261130": hf(1, 2), "2026": {"x_3": hf(3, 4)}}})
    grow(tmp_path / "runs/orbax", {str(n): orbax_checkpoint() for n in (1, 2)} | {"7": {}})
    found = look(tmp_path)
    assert sorted(runs(found)) == ["runs/2026/x_3", "runs/alice_llama_20261130", "runs/orbax"]
    # 7 lies among Orbax's and holds nothing of Orbax's: no leftover, whatever its number.
    assert "runs/orbax/7" not in gone(found)
    grow(tmp_path / "runs/orbax/0", {"mine": b"x"})
    assert "runs/orbax/0" not in gone(look(tmp_path))


def test_a_name_without_evidence_is_no_checkpoint_but_under_its_format(tmp_path: Path) -> None:
    grow(tmp_path, {"runs": {"000": {"x": b"1"}, "001": {"x": b"1"}}})
    found = look(tmp_path)
    assert not runs(found)
    rule = Rule("runs", Keep(last=1), format="orbax")
    assert list(runs(look(tmp_path, rule))) == ["runs"]


def test_an_incomplete_one_among_complete_ones_is_told_so(tmp_path: Path) -> None:
    grow(tmp_path, {"runs": hf(10, 30) | {"checkpoint-20": {"model.bin": b"w"}}})
    grow(tmp_path, {"runs": {"checkpoint-40": {"model.bin": b"w"}}})
    found = look(tmp_path, keep(last=5))
    assert gone(found) == ["runs/checkpoint-20"]
    assert "incomplete" in why(found, "runs/checkpoint-40")


def test_the_most_specific_rule_holds_alone(tmp_path: Path) -> None:
    grow(tmp_path, {"p": {"a": {"ckpt": hf(1, 2, 3)}, "b": {"ckpt": hf(1, 2, 3)}}})

    def paths(*rules: Rule) -> list[list[str]]:
        return [[run.path for run in rule.runs] for rule in look(tmp_path, *rules).rules]

    assert paths(keep("p"), keep("p/a/ckpt")) == [["p/b/ckpt"], ["p/a/ckpt"]]
    assert paths(keep("p/*"), keep("p/a")) == [["p/b/ckpt"], ["p/a/ckpt"]]
    # What lies deeper is no more specific by that alone.
    assert paths(keep("p/a"), keep("p/*/*")) == [["p/a/ckpt"], ["p/b/ckpt"]]
    found = look(tmp_path, keep("p", last=1), keep("p/a/ckpt", last=3))
    assert gone(found) == ["p/b/ckpt/checkpoint-1", "p/b/ckpt/checkpoint-2"]


def test_a_rule_without_a_directory_is_told(tmp_path: Path) -> None:
    grow(tmp_path, {"runs": hf(1), "link": Link("runs"), "file": b""})
    found = look(tmp_path, keep(), keep("nowhere"), keep("link"), keep("file"), keep("x*"))
    assert [path for path, _ in skipped(found).items()] == ["nowhere", "link", "file", "x*"]


def test_pins(tmp_path: Path) -> None:
    grow(tmp_path, {"runs": {"a": hf(1, 2, 3), "b": hf(1, 2)} | hf(1, 2) | {".keep": b""}})
    (tmp_path / "runs/a/checkpoint-1/.keep").touch()
    (tmp_path / "runs/b/.keep").touch()
    found = look(tmp_path)
    assert gone(found) == ["runs/checkpoint-1", "runs/a/checkpoint-2"]
    assert "pinned" in why(found, "runs/a/checkpoint-1")
    assert "pinned" in why(found, "runs/b/checkpoint-1")


def test_files_are_checkpoints_too_and_pinned_beside(tmp_path: Path) -> None:
    names = [f"epoch={n}-step={n}00.ckpt" for n in (1, 2, 3)]
    grow(tmp_path, {"runs": lightning_run(*names) | {f"{names[0]}.keep": b""}})
    found = look(tmp_path)
    assert gone(found) == [f"runs/{names[1]}"]
    assert "pinned" in why(found, f"runs/{names[0]}")


def test_a_model_and_its_state_go_together_and_stems_apart(tmp_path: Path) -> None:
    tree = {f"cat-00000{n}.safetensors": kohya_model() for n in (1, 2)}
    tree |= {"cat-000001-state": kohya_state(), "cat.safetensors": kohya_model()}  # type: ignore[dict-item]
    tree |= {f"dog-00000{n}.safetensors": kohya_model("dog") for n in (1, 2)}
    grow(tmp_path / "runs", tree)
    found = look(tmp_path)
    doomed = [each for rule in found.rules for run in rule.runs for each in run.delete]
    assert [each.names for each in doomed] == [
        ("cat-000001-state", "cat-000001.safetensors"),
        ("dog-000001.safetensors",),
    ]
    assert [run.stem for run in found.rules[0].runs] == ["cat", "dog"]


def test_what_is_in_use_deep_inside_stays(tmp_path: Path) -> None:
    grow(tmp_path, {"runs": hf(1, 2, 3)})
    for step, name in ((1, ".nfs000001"), (2, ".fuse_hidden0001")):
        grow(tmp_path / f"runs/checkpoint-{step}/a/b", {name: b""})
    assert gone(look(tmp_path)) == []


def test_what_was_written_to_deep_inside_is_fresh(tmp_path: Path) -> None:
    grow(tmp_path, {"runs": hf(1, 2)})
    grow(tmp_path / "runs/checkpoint-1/a/b", {"x": b""}, age=0.0)
    for directory in ("a/b", "a", "."):
        os.utime(tmp_path / "runs/checkpoint-1" / directory, (NOW - OLD, NOW - OLD))
    found = look(tmp_path)
    assert gone(found) == []
    assert "quiet_for" in why(found, "runs/checkpoint-1")


def test_sizes_of_all_where_a_rule_needs_them(tmp_path: Path) -> None:
    grow(tmp_path, {"runs": hf(1, 2, 3)})
    rule = Rule("runs", Keep(last=1, newer_than=30 * 86400.0), max_size=20_000)
    found = look(tmp_path, rule)
    assert gone(found)[0] == "runs/checkpoint-1"
    assert all(d.size for d in runs(found)["runs"].delete)


def test_thousands_of_checkpoints_in_one_directory(tmp_path: Path) -> None:
    stem = "n" * 200
    tree = {f"{stem}-step{n:08}.safetensors": kohya_model(stem) for n in range(3000)}
    grow(tmp_path, {"runs": tree})
    found = look(tmp_path, keep(last=2))
    assert len(gone(found)) == 2998
    assert gone(found) == sorted(gone(found))


def test_a_root_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(AgentError, match="nowhere: No such file"):
        look(tmp_path / "nowhere")


def test_a_volume_that_is_not_mounted_there(tmp_path: Path) -> None:
    grow(tmp_path, {"runs": hf(1, 2)})
    with pytest.raises(AgentError, match="is not mounted there"):
        look(tmp_path, device=(0, 1))


def test_directories_that_no_rule_is_about(tmp_path: Path) -> None:
    grow(tmp_path, {"runs": {"a": hf(1, 2)}, "else": {"b": hf(1, 2)}})
    found = look(tmp_path, within=("else",))
    (run,) = found.unruled
    assert (run.path, run.delete) == ("else/b", ())
    assert run.keep[0].reasons == ("complete", "no rule is about it")
    inside = look(tmp_path, within=("runs/a",))
    assert not inside.unruled
    assert gone(inside) == ["runs/a/checkpoint-1"]
