"""Surveys of what users make to harm: nothing waits, nothing outside is seen, doubt keeps."""

import json
import os
import subprocess
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from agent.worker import channel, survey, view
from agent.worker.crew import Crew
from agent.worker.view import Directory
from tests.unit.retention.disk import OLD, gone, grow, hf, keep, look, runs, skipped, why
from tests.unit.retention.saved import kohya_model
from tests.unit.retention.trees import ODD, Link, Sized, Tree

STATE = "trainer_state.json"
NOBODY = 65534


def test_pipes_and_sockets_and_devices_are_not_waited_for(tmp_path: Path) -> None:
    odd: Tree = {"checkpoint-6": ODD, "name-000001.safetensors": ODD, "x-step=1.ckpt": ODD}
    grow(tmp_path, {"runs": odd}, age=2 * OLD)
    states = {"checkpoint-1": {STATE: ODD}, "checkpoint-2": {STATE: Link("/dev/zero")}}
    grow(tmp_path, {"runs": states}, age=2 * OLD)
    grow(tmp_path, {"runs": hf(4, 5)})
    assert "runs/checkpoint-4" in gone(look(tmp_path))


@pytest.mark.parametrize(
    "state",
    [
        Sized(65 << 20, b"{"),
        b"[" * 1_000_000,
        b'{"a":' * 1_000_000,
        b'{"global_step": ' + b"9" * 100_000 + b"}",
        b'{"global_step": NaN}',
        b"\xff\xfe",
        b"",
    ],
    ids=["large", "deep", "deep objects", "long number", "nan", "no text", "empty"],
)
def test_a_state_that_cannot_be_read_keeps_the_run_in_the_newest(
    tmp_path: Path, state: object
) -> None:
    grow(tmp_path, {"runs": {"a": hf(1, 2) | {"checkpoint-3": {STATE: state}}, "b": hf(1, 2)}})
    found = look(tmp_path)
    assert gone(found) == ["runs/b/checkpoint-1"]
    assert "runs/a" in skipped(found)


def test_names_of_any_bytes_come_through(tmp_path: Path) -> None:
    stems = [
        b"new\nline",
        b"\xff\xfe",
        "ünï".encode(),
        b"\x1b[31mred",
        b"{stars}*?",
        b"\xe2\x80\xae",
    ]
    for stem in stems:
        for epoch in (1, 2):
            model = kohya_model(os.fsdecode(stem) if stem != b"\xff\xfe" else "x")
            name = b"%s-%06d.safetensors" % (stem, epoch)
            grow(tmp_path / "runs", {os.fsdecode(name): model})
    grow(tmp_path / os.fsdecode(b"runs/dir\xff\n"), hf(1, 2))
    grow(tmp_path / "runs/x", {os.fsdecode(b"li\xffnk"): Link(os.fsdecode(b"nowhere\xff"))})
    found = look(tmp_path)
    sure = [os.fsdecode(b"runs/%s-000001.safetensors" % stem) for stem in stems]
    del sure[1]  # its header calls the run something else
    assert set(gone(found)) == {*sure, os.fsdecode(b"runs/dir\xff\n/checkpoint-1")}


def test_a_directory_of_very_many_names_is_left_alone_but_for_its_links(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(view, "MOST_NAMES", 50)
    grow(tmp_path, {"runs": {"many": {f"f{n}": b"" for n in range(51)}, "a": hf(1, 2, 3)}})
    grow(tmp_path / "runs/many", hf(1, 2) | {"x": Link("../a/checkpoint-1")})
    grow(tmp_path / "runs/many/below", {"y": Link("../../a/checkpoint-2")})
    rows = in_process(tmp_path)
    assert [r["run"] for r in rows if "run" in r] == ["runs/a"]
    assert [r["delete"] for r in rows if "run" in r] == [[]]
    (failed,) = [r for r in rows if "failed" in r]
    assert failed["failed"] == "runs/many"


def test_deep_trees(tmp_path: Path) -> None:
    grow(tmp_path, {"runs": hf(1, 2)})
    for top in ("runs", "runs/checkpoint-2", "runs/checkpoint-1"):
        here = os.open(tmp_path / top, os.O_RDONLY)
        for _ in range(1000):
            os.mkdir("d", dir_fd=here)
            below = os.open("d", os.O_RDONLY, dir_fd=here)
            os.close(here)
            here = below
        os.close(here)
    found = look(tmp_path)
    assert gone(found) == []  # fresh; and not looked at whole
    assert any("deeper than links" in reason for reason in skipped(found).values())
    subprocess.run(["rm", "-rf", tmp_path / "runs"], check=True)


def test_nothing_outside_is_seen_while_directories_are_exchanged_for_links(tmp_path: Path) -> None:
    outside = grow(tmp_path / "outside", {"deep": hf(71, 72, 73)} | hf(61, 62, 63))
    root = tmp_path / "root"
    grow(root, {"runs": {"a": {"b": hf(1, 2)} | hf(1, 2)}})
    grow(root / "runs/a/checkpoint-1", {"global_step1": {"x": b""}})
    swapped = [root / "runs", root / "runs/a", root / "runs/a/b", root / "runs/a/checkpoint-1"]
    stop = threading.Event()

    def exchange() -> None:
        count = 0
        while not stop.is_set():
            path = swapped[count % len(swapped)]
            aside = path.with_name("aside")
            path.rename(aside)
            path.symlink_to(outside)
            path.unlink()
            aside.rename(path)
            count += 1

    thread = threading.Thread(target=exchange)
    thread.start()
    try:
        for _ in range(150):
            for row in in_process(root):
                said = json.dumps(row)
                assert not any(f"checkpoint-{n}" in said for n in (61, 62, 63, 71, 72, 73))
    finally:
        stop.set()
        thread.join()


def test_what_the_caller_may_not_read_stays_and_hinders_nobody_else(tmp_path: Path) -> None:
    grow(tmp_path, {"runs": {"a": hf(1, 2), "secret": hf(1, 2), "b": hf(1, 2)}})
    (tmp_path / "runs/secret").chmod(0)
    (tmp_path / "runs/b/checkpoint-2").chmod(0)
    tmp_path.chmod(0o755)
    top = survey.open_root(str(tmp_path), None)  # which others may not get to
    try:
        rows = as_nobody(lambda: in_process(tmp_path, top))
    finally:
        (tmp_path / "runs/secret").chmod(0o755)
        (tmp_path / "runs/b/checkpoint-2").chmod(0o755)
    doomed = [each[0] for r in rows if "run" in r for each in r["delete"]]
    assert doomed == ["runs/a/checkpoint-1"]
    assert {r["failed"]: r["reason"] for r in rows if "failed" in r} == {
        "runs/b/checkpoint-2": "Permission denied",
        "runs/secret": "Permission denied",
    }


@pytest.mark.skipif(os.geteuid() != 0, reason="mounts")
def test_another_file_system_below_is_not_entered_and_keeps_its_checkpoint(tmp_path: Path) -> None:
    grow(tmp_path, {"runs": {"a": hf(1, 2, 3), "b": hf(1, 2), "c": hf(1, 2)}})
    points = ["a/checkpoint-1", "a/checkpoint-2/deep", "b", "c/checkpoint-1/model.bin"]
    (tmp_path / "runs/a/checkpoint-2/deep").mkdir()
    with mounted([tmp_path / "runs" / point for point in points]):
        found = look(tmp_path)
    assert gone(found) == []
    assert list(runs(found)) == ["runs/a", "runs/c"]
    for path in ("runs/a/checkpoint-1", "runs/a/checkpoint-2", "runs/c/checkpoint-1"):
        assert "mounted" in skipped(found)[path]
        assert why(found, path)


@contextmanager
def mounted(points: list[Path]) -> Iterator[None]:
    done: list[Path] = []
    try:
        for point in points:
            source = ["-t", "tmpfs", "tmpfs"] if point.is_dir() else ["--bind", "/dev/null"]
            subprocess.run(["mount", *source, point], check=True)
            done.append(point)
        yield
    finally:
        for point in reversed(done):
            subprocess.run(["umount", point], check=True)


Rows = list[dict[str, Any]]


def in_process(root: Path, top: Directory | None = None, cache: str = "") -> Rows:
    """The rows of a survey in this very process. top: the root, where it is open already."""
    rows: Rows = []
    request: dict[str, object] = {
        "path": str(root),
        "device": None,
        "mounted_at": str(root),
        "rules": [keep().to_row()],
        "within": [],
        "space": False,
        "in_trash": 0,
        "sizes": False,
        "threads": 3,
        "cache": cache,
    }
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(channel, "emit", rows.append)
        top = top or survey.open_root(str(root), None)
        made = survey.Survey(request, top)
        rows.extend(made.rows(made.plan()))
        top.close()
    return rows


def as_nobody(work: Callable[[], Rows]) -> Rows:
    """What a child process without rights says; this one's own rights may be root's or not."""
    reading, writing = os.pipe()
    pid = os.fork()
    if pid == 0:
        if os.geteuid() == 0:
            os.setgroups([])
            os.setgid(NOBODY)
            os.setuid(NOBODY)
        with os.fdopen(writing, "w") as pipe:
            json.dump(work(), pipe)
        os._exit(0)
    os.close(writing)
    with os.fdopen(reading) as pipe:
        said = pipe.read()
    assert os.waitpid(pid, 0)[1] == 0
    found: Rows = json.loads(said)
    return found


def test_a_job_that_fails_ends_the_whole_crew() -> None:
    for threads in (0, 3):
        crew = Crew(threads)
        done: list[int] = []

        def job(number: int, crew: Crew = crew, done: list[int] = done) -> None:
            if number == 7:
                raise ValueError(number)
            done.append(number)
            if number < 100:
                crew.add(lambda: job(number + 1))

        crew.add(lambda: job(0))
        with pytest.raises(ValueError, match="7"):
            crew.finish()
        crew.close()
        assert done == list(range(7))
