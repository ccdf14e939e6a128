"""What symbolic links below the rules' directories lead to stays, and none is followed."""

import os
import time
from pathlib import Path

from agent.retention.links import Link as Link_
from agent.retention.links import Place, linked
from agent.worker.gather import Gathered
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
            "elsewhere": Link("/mnt/other/runs/b/checkpoint-4"),
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


def test_links_below_the_root_that_a_container_has_keep_what_they_name(tmp_path: Path) -> None:
    grow(tmp_path, {"runs": {"a": hf(1, 2, 3, 4, 5), "b": hf(1, 2), "x": {}}})
    grow(
        tmp_path / "runs/x",
        {
            "checkpoint": Link("/workspace/a/checkpoint-1"),
            "into": Link("/workspace/share/runs/a/checkpoint-2/model.bin"),
            "run": Link("/data/runs/b/"),
            "over": Link("into/../../checkpoint-3"),
            "other": Link("/data/others/a"),
            "root": Link("/"),
        },
    )
    found = look(tmp_path, mounted_at="/mnt/share")
    assert gone(found) == ["runs/a/checkpoint-3", "runs/a/checkpoint-4"]
    assert "runs/x/checkpoint" in why(found, "runs/a/checkpoint-1")


def test_steps_up_are_taken_from_where_a_link_leads(tmp_path: Path) -> None:
    tree = {"a": hf(1, 2, 3), "deep": {"a": {}}, "way": Link("a/checkpoint-3")}
    grow(tmp_path, {"runs": tree | {"x": Link("way/../checkpoint-1")}})
    assert gone(look(tmp_path)) == ["runs/a/checkpoint-2"]


def test_very_long_links_take_no_time_and_no_memory(tmp_path: Path) -> None:
    """Each of them is a second of work where its parts are put together from the left."""
    long = "/".join("a" for _ in range(2047))
    found = [Link_("runs/x", f"link{number}", long) for number in range(2000)]
    found += [Link_("runs/x", f"way{n}", f"way{n + 1}/{long}"[:4095]) for n in range(2000)]
    names = "/".join(f"ckpt/checkpoint-{n}" for n in range(150))
    found += [Link_("runs/x", f"all{number}", f"/w/{names}") for number in range(8000)]
    found += [Link_("runs/x", f"run{number}", f"/w{number}/ckpt") for number in range(10_000)]
    place = Place((), frozenset())
    began = time.process_time()
    linked({f"runs/{number}/ckpt": place for number in range(1000)}, found, "/mnt/share")
    assert time.process_time() - began < 20
    gathered = Gathered(lambda _looked, _at: None)
    for number in range(100_000):
        gathered.link(Link_("runs/x", f"link{number}", f"{number}/{long}"))
    assert gathered.blind
    assert sum(len(link.text) for link in gathered.links) <= 32 << 20


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
