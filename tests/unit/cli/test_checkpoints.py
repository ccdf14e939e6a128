"""`plan` and `checkpoints`: what they print, what they exit with, and that they only read."""

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from agent.cli.main import main
from agent.config import later
from tests.unit.retention.disk import grow, hf
from tests.unit.retention.saved import kohya_model, kohya_state, lightning_run
from tests.unit.retention.trees import Link, Sized

RULES = """
      rules:
        - path: runs
          keep: {last: 1}
        - path: none/*
          keep: {every_steps: 10}
          free_space: {start_below: 98%, stop_above: 99%}
"""
CONFIG = f"""
mounts:
  share:
    volume: vol
    servers: [n1]
    path: /mnt/share-of-no-host
    retention:{RULES}
  bare:
    volume: vol2
    servers: [n1]
    path: /mnt/another-of-no-host
"""
Call = Callable[..., tuple[int, str, str]]


@pytest.fixture
def call(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> Call:
    """Runs a command: exit code, stdout, stderr."""
    monkeypatch.setattr(later, "LATER", ())
    monkeypatch.setenv("RUNTIME_DIRECTORY", str(tmp_path / "run"))
    file = tmp_path / "agent.yaml"
    file.write_text(CONFIG)

    def run(*words: object) -> tuple[int, str, str]:
        code = main([*map(str, words), "--config", str(file)])
        said = capsys.readouterr()
        return code, said.out, said.err

    return run


def listing(path: Path) -> list[tuple[str, int, int]]:
    """All below, with sizes and times."""
    found = sorted(path.rglob("*"))
    return [(str(p), p.lstat().st_size, p.lstat().st_mtime_ns) for p in found]


def test_plan_as_json_has_the_keys_of_the_contract(tmp_path: Path, call: Call) -> None:
    volume = grow(tmp_path / "volume", {"runs": {"a": hf(9, 10) | {"checkpoint-3": {}}}})
    before = listing(volume)
    code, out, err = call("plan", "--json", "--root", volume)
    assert (code, err) == (0, "")
    said: dict[str, Any] = json.loads(out)
    rules = said.pop("rules")
    assert said == {"schema": 1, "mount": "share", "root": str(volume), "mode": "report"}
    assert [rule["path"] for rule in rules] == ["runs", "none/*"]
    (run,) = rules[0]["runs"]
    assert (run["path"], run["format"], run["skipped"]) == ("runs/a", "hf", [])
    (kept,) = run["keep"]
    assert set(kept) == {"path", "step", "reasons"}
    assert (kept["path"], kept["step"]) == ("runs/a/checkpoint-10", 10)
    assert all(isinstance(reason, str) for reason in kept["reasons"])
    doomed = run["delete"]
    assert [each["step"] for each in doomed] == [3, 9]
    assert set(doomed[0]) == {"path", "step", "reasons", "bytes"}
    assert all(type(each["bytes"]) is int for each in doomed)
    (unread,) = rules[1]["runs"]
    assert unread["skipped"] == [{"path": "none/*", "reason": "there is no such directory"}]
    assert (unread["format"], unread["keep"], unread["delete"]) == (None, [], [])
    assert listing(volume) == before


def test_plan_as_a_table_escapes_foreign_names(tmp_path: Path, call: Call) -> None:
    stem = os.fsdecode(b"\x1b[31m\xffred\n")
    tree = {f"{stem}-00000{n}.safetensors": kohya_model("\x1b[31mred") for n in (1, 2)}
    tree |= {f"cat-00000{n}.safetensors": kohya_model() for n in (1, 2)}
    volume = grow(tmp_path / "volume", {"runs": tree})
    grow(volume / "runs/evil\x1b]0;x\x07", hf(1, 2))
    code, out, _ = call("plan", "--root", volume)
    assert code == 0
    assert all(char.isprintable() or char == "\n" for char in out)
    assert "cat-000001.safetensors" in out
    assert "would go" in out
    assert out.splitlines()[-1].endswith("mode is report")


def test_plan_of_a_root_that_cannot_be_read(tmp_path: Path, call: Call) -> None:
    code, out, err = call("plan", "--root", tmp_path / "nowhere")
    assert (code, out) == (1, "")
    assert "nowhere: No such file or directory" in err
    code, out, err = call("plan")
    assert (code, out) == (1, "")
    assert "is not mounted there" in err


def test_plan_takes_absolute_links_below_the_mount_s_path_as_below_the_root(
    tmp_path: Path, call: Call
) -> None:
    link = Link("/mnt/share-of-no-host/runs/checkpoint-1")
    volume = grow(tmp_path / "volume", {"runs": hf(1, 2, 3) | {"x": {"link": link}}})
    _, out, _ = call("plan", "--json", "--root", volume)
    (run,) = json.loads(out)["rules"][0]["runs"]
    assert [each["step"] for each in run["delete"]] == [2]


def test_which_mount(call: Call, tmp_path: Path) -> None:
    assert "no mount is named x; there is: share, bare" in call("plan", "--mount", "x")[2]
    assert "the mount bare has no retention" in call("plan", "--mount", "bare")[2]
    file = tmp_path / "agent.yaml"
    file.write_text(CONFIG + f"    retention:{RULES}")
    assert "several mounts have retention: share, bare; add --mount" in call("plan")[2]


def test_list_of_any_directory(tmp_path: Path, call: Call) -> None:
    grow(tmp_path / "runs", hf(1, 2) | {"checkpoint-3": {"model.bin": b"x"}})
    code, out, _ = call("checkpoints", "list", tmp_path / "runs")
    assert code == 0
    assert "checkpoint-2" in out
    assert "complete; no rule is about it" in out
    assert "incomplete (trainer_state.json is missing)" in out
    code, out, _ = call("checkpoints", "list", tmp_path / "runs", "--json")
    said = json.loads(out)
    assert [each["step"] for run in said["runs"] for each in run["keep"]] == [1, 2, 3]
    assert call("checkpoints", "list", tmp_path / "nowhere")[0] == 1
    grow(tmp_path / "empty", {})
    assert call("checkpoints", "list", tmp_path / "empty")[1] == "no checkpoints are there\n"


def test_latest_passes_over_half_a_state_beside_a_whole_model(tmp_path: Path, call: Call) -> None:
    half = {"train_state.json": b'{"current_epoch": 2, "current_step": 20}'}
    tree = {f"cat-00000{n}.safetensors": kohya_model() for n in (1, 2)}
    run = grow(tmp_path / "run", {**tree, "cat-000001-state": kohya_state()})
    grow(run / "cat-000002-state", half)
    code, out, err = call("checkpoints", "latest", run / "cat")
    assert (code, out) == (0, f"{run}/cat-000002.safetensors\n")
    assert "passed over cat-000002-state" in err


def test_latest_passes_over_what_is_not_whole(tmp_path: Path, call: Call) -> None:
    run = grow(tmp_path / "run", hf(9, 10, 11, 100))
    assert call("checkpoints", "latest", run)[:2] == (0, f"{run}/checkpoint-100\n")
    model = kohya_model()
    grow(run / "checkpoint-200", {"model.safetensors": model})
    grow(run, hf(300, **{"model.safetensors": model[:-1]}))
    grow(run, hf(400, **{"model.safetensors": b""}))
    archive = next(iter(lightning_run("x.ckpt").values()))
    grow(run, hf(500, **{"optimizer.pt": archive[:-30]}))
    grow(run, {"checkpoint-600": {"trainer_state.json": b'{"glo'}})
    code, out, err = call("checkpoints", "latest", run)
    assert (code, out) == (0, f"{run}/checkpoint-100\n")
    assert [f"passed over checkpoint-{n}" in err for n in (200, 300, 400, 500, 600)] == [True] * 5
    os.chdir(run)
    assert call("checkpoints", "latest", ".")[:2] == (0, f"{run}/checkpoint-100\n")


def test_latest_does_not_wait_until_a_run_is_quiet(tmp_path: Path, call: Call) -> None:
    run = grow(tmp_path / "run", hf(1, 2), age=-3600)
    assert call("checkpoints", "latest", run)[:2] == (0, f"{run}/checkpoint-2\n")


def test_latest_says_why_there_is_none(tmp_path: Path, call: Call) -> None:
    grow(tmp_path / "torn", hf(1, **{"model.safetensors": b""}))
    grow(tmp_path / "empty", {"000": {}, "x": b""})
    for name, why in (
        ("torn", "none of its checkpoints is complete; 1 name passed over, the newest is checkp"),
        ("empty", "no checkpoints of a known format are there"),
        ("nowhere", "there is no such directory, and no checkpoint beside it is named nowhere"),
        ("no/where", "No such file or directory"),
    ):
        code, out, err = call("checkpoints", "latest", tmp_path / name)
        assert (code, out) == (1, "")
        assert why in err


def test_latest_of_runs_that_share_a_directory(tmp_path: Path, call: Call) -> None:
    tree: dict[str, Any] = {f"cat-00000{n}.safetensors": kohya_model() for n in (1, 2)}
    tree |= {"dog-000001.safetensors": kohya_model("dog"), "dog-000001-state": kohya_state()}
    run = grow(tmp_path / "run", tree)
    code, out, err = call("checkpoints", "latest", run)
    assert (code, out) == (1, "")
    assert "several runs are there: cat, dog" in err
    assert call("checkpoints", "latest", run / "cat")[:2] == (0, f"{run}/cat-000002.safetensors\n")
    assert call("checkpoints", "latest", run / "dog")[:2] == (0, f"{run}/dog-000001-state\n")
    assert call("checkpoints", "latest", run / "cow")[0] == 1


def test_latest_takes_a_later_last_only(tmp_path: Path, call: Call) -> None:
    first = "epoch=1-step=10.ckpt"
    run = grow(tmp_path / "run", lightning_run(first, "last.ckpt"))
    assert call("checkpoints", "latest", run)[:2] == (0, f"{run}/{first}\n")
    later_ = run.stat().st_mtime + 3600
    os.utime(run / "last.ckpt", (later_, later_))
    assert call("checkpoints", "latest", run)[:2] == (0, f"{run}/last.ckpt\n")


def test_latest_prints_no_path_that_is_more_than_a_line(tmp_path: Path, call: Call) -> None:
    run = grow(tmp_path / "run", {"a\nb-000001.safetensors": kohya_model("a\nb")})
    code, out, err = call("checkpoints", "latest", run)
    assert (code, out) == (1, "")
    assert "a path with such characters is not printed" in err


def test_pin_and_unpin(tmp_path: Path, call: Call) -> None:
    run = grow(tmp_path / "run", hf(1, 2) | lightning_run("epoch=1-step=1.ckpt"))
    for path, pin in (
        (run / "checkpoint-1", run / "checkpoint-1/.keep"),
        (run, run / ".keep"),
        (run / "epoch=1-step=1.ckpt", run / "epoch=1-step=1.ckpt.keep"),
    ):
        code, out, _ = call("checkpoints", "pin", path)
        assert (code, out) == (0, f"{path}: pinned ({pin})\n")
        assert pin.read_bytes() == b""
        assert pin.stat().st_uid == os.geteuid()
        assert call("checkpoints", "pin", path)[1] == f"{path}: was pinned already ({pin})\n"
        assert call("checkpoints", "unpin", path)[1] == f"{path}: not pinned any more ({pin})\n"
        assert not pin.exists()
        assert call("checkpoints", "unpin", path)[:2] == (0, f"{path}: was not pinned ({pin})\n")


def test_what_cannot_be_pinned(tmp_path: Path, call: Call) -> None:
    run = grow(
        tmp_path / "run",
        hf(1) | {"notes.txt": b"", "logs": {}, "link": Link("checkpoint-1"), "big": Sized(1 << 20)},
    )
    for name, why in (
        ("notes.txt", "has no name of a checkpoint"),
        ("logs", "is no checkpoint by its name, and no run: none is in it"),
        ("link", "is a symbolic link; name what it leads to"),
        ("nowhere", "there is no such checkpoint"),
    ):
        code, out, err = call("checkpoints", "pin", run / name)
        assert (code, out) == (1, "")
        assert f"{run / name}: {why}" in err
    outside = grow(tmp_path / "outside", {"file": b"x"})
    (run / "checkpoint-1/.keep").symlink_to(outside / "new")
    assert call("checkpoints", "pin", run / "checkpoint-1")[0] == 0
    assert sorted(os.listdir(outside)) == ["file"]


def test_a_working_directory_that_is_gone_is_no_hindrance(
    call: Call, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = grow(tmp_path / "volume", {"runs": hf(1, 2)})
    gone = tmp_path / "gone"
    gone.mkdir()
    monkeypatch.chdir(gone)
    gone.rmdir()
    code, out, err = call("plan", "--mount", "share", "--root", root)
    assert (code, err) == (0, "")
    assert "skipped: none/*: " in out
