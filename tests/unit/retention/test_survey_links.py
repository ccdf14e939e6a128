"""What symbolic links below the rules' directories lead to stays, and none is followed."""

import os
from pathlib import Path

from tests.unit.retention.disk import gone, grow, hf, keep, look, runs, skipped, why
from tests.unit.retention.trees import Link


def test_links_keep_what_they_lead_to_and_into(tmp_path: Path) -> None:
    grow(tmp_path, {"runs": {"a": hf(1, 2, 3, 4, 5, 6), "x": {}}})
    grow(
        tmp_path / "runs/x",
        {
            "relative": Link("../a/checkpoint-1"),
            "absolute": Link("/mnt/share/runs/a/checkpoint-2"),
            "into": Link("../a/checkpoint-3/model.bin"),
            "elsewhere": Link("/mnt/other/runs/a/checkpoint-4"),
            "above": Link("../../.."),
        },
    )
    found = look(tmp_path, mounted_at="/mnt/share")
    assert gone(found) == ["runs/a/checkpoint-4", "runs/a/checkpoint-5"]
    assert "runs/x/absolute" in why(found, "runs/a/checkpoint-2")


def test_a_link_to_a_run_keeps_all_of_it(tmp_path: Path) -> None:
    grow(tmp_path, {"runs": {"a": hf(1, 2), "b": hf(1, 2), "current": Link("a")}})
    found = look(tmp_path)
    assert gone(found) == ["runs/b/checkpoint-1"]
    assert "runs/current" in why(found, "runs/a/checkpoint-1")


def test_links_lead_over_other_links(tmp_path: Path) -> None:
    tree = {"a": hf(1, 2, 3), "one": Link("two"), "two": Link("three"), "three": Link("a")}
    grow(tmp_path, {"runs": tree | {"last": Link("one/checkpoint-1"), "loop": Link("loop/x")}})
    found = look(tmp_path)
    assert gone(found) == []  # the last of them leads to the run
    (tmp_path / "runs/three").unlink()
    (tmp_path / "runs/three").symlink_to("a/checkpoint-1/..//")
    assert gone(look(tmp_path)) == []


def test_links_are_found_in_depths_and_in_checkpoints(tmp_path: Path) -> None:
    grow(tmp_path, {"runs": {"a": hf(1, 2, 3, 4, 5), "b": hf(1)}})
    deep = "runs/1/2/3/4/5/6/7/8/9"
    grow(tmp_path / deep, {"x": Link("../" * 9 + "a/checkpoint-1")})
    grow(tmp_path / "runs/.cache/x", {"x": Link("../../a/checkpoint-2")})
    grow(tmp_path / "runs/b/checkpoint-1/base/x", {"x": Link("../../../../a/checkpoint-3/y")})
    assert gone(look(tmp_path)) == ["runs/a/checkpoint-4"]


def test_a_checkpoint_s_own_links_do_not_keep_it(tmp_path: Path) -> None:
    grow(tmp_path, {"runs": hf(1, 2)})
    grow(tmp_path / "runs/checkpoint-1", {"x": Link("../checkpoint-1/model.bin")})
    assert gone(look(tmp_path)) == ["runs/checkpoint-1"]


def test_a_link_beside_them_counts_by_its_last_part(tmp_path: Path) -> None:
    grow(tmp_path, {"runs": hf(1, 2, 3) | {"mine": Link("/old/root/runs/checkpoint-1")}})
    assert gone(look(tmp_path)) == ["runs/checkpoint-2"]


def test_a_link_to_what_is_gone_from_a_run_leaves_it_alone(tmp_path: Path) -> None:
    grow(tmp_path, {"runs": {"a": hf(1, 2), "b": hf(1, 2), "x": Link("a/checkpoint-7/model.bin")}})
    found = look(tmp_path)
    assert gone(found) == ["runs/b/checkpoint-1"]
    assert "runs/x leads to checkpoint-7, which is not there" in skipped(found)["runs/a"]


def test_no_link_is_followed(tmp_path: Path) -> None:
    outside = grow(tmp_path / "outside", {"run": hf(1, 2), "f": b"x"})
    grow(tmp_path / "root/runs", {"way": Link(str(outside)), "checkpoint-1": Link("../x")})
    grow(
        tmp_path / "root/runs/a", hf(2) | {"checkpoint-1": Link(str(outside / "run/checkpoint-1"))}
    )
    os.symlink(outside, tmp_path / "root/linked")
    found = look(tmp_path / "root", keep(), keep("linked/run"))
    assert list(runs(found)) == ["runs/a"]
    assert gone(found) == []
