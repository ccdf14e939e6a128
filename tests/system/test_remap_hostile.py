"""Ids exchanged among hostile users, on a local file system: nothing outside the tree changes."""

import multiprocessing
import os
import random
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.system.layout_tree import bound
from tests.system.remap_ground import (
    ATTACKS,
    BACK,
    FORTH,
    INSIDE,
    MOUNTED,
    NEW,
    NEW_GROUP,
    NO_DIRECTORY,
    ODD,
    OLD,
    OLD_GROUP,
    ON_THE_WAY,
    Ground,
    reasons_of,
    run_pass,
)

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="needs root")

ROUNDS = 10_000


@pytest.fixture
def ground(tmp_path: Path) -> Iterator[Ground]:
    """On a tmpfs, with what is outside on the same one: only not following protects it."""
    top = tmp_path / "tmpfs"
    top.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "mode=0755", "tmpfs", str(top)], check=True)
    made = Ground(top)
    made.make()
    with bound(made.outside, made.odd):
        yield made
    subprocess.run(["umount", "-l", str(top)], check=True)


def test_nobody_disturbs(ground: Ground) -> None:
    before = ground.outsiders()
    told = run_pass(ground.tree, FORTH)
    assert told.counts is not None
    assert told.counts["changed"] == INSIDE
    assert told.problems == ((ODD, MOUNTED),)
    assert ground.insiders() == {(NEW, NEW_GROUP)}
    assert ground.outsiders() == before


@pytest.mark.parametrize(("level", "way"), ATTACKS)
def test_at_each_step_of_a_pass(ground: Ground, level: str, way: str) -> None:
    """Before each system call of a pass, also the first, a name comes to mean something else."""
    steps, reasons = ground.steps(level, way)
    assert steps > 40
    assert reasons == reasons_of(level, way)


@pytest.mark.slow
@pytest.mark.parametrize("threads", [0, 4])
def test_ten_thousand_rounds_with_a_racing_process(
    ground: Ground, threads: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = ground.outsiders()
    monkeypatch.chdir(ground.top)
    chance = random.Random(1)  # noqa: S311
    disturb = Ground(Path()).disturb
    racer = multiprocessing.get_context("fork").Process(target=disturb, args=(chance,))
    racer.start()
    try:
        found = ground.rounds(ROUNDS, threads)
        assert racer.is_alive()
    finally:
        ground.stop.touch()
        racer.join(60)
    assert racer.exitcode == 0
    ground.restore()
    assert ground.outsiders() == before
    assert found["reasons"].keys() >= {MOUNTED, NO_DIRECTORY, ON_THE_WAY}
    assert ROUNDS // 10 < found["whole"] < ROUNDS
    assert found["changed"] > 0
    for ids in (BACK, FORTH):
        told = run_pass(ground.tree, ids, threads)
        assert told.problems == ((ODD, MOUNTED),)
    assert ground.insiders() == {(NEW, NEW_GROUP)}


def test_the_command_s_lines_stay_intact(ground: Ground, tmp_path: Path) -> None:
    """Names with newlines and escape codes on a terminal."""
    config = tmp_path / "agent.yaml"
    config.write_text("mounts: {}\n")
    ids = ["--from", f"{OLD}:{OLD_GROUP}", "--to", f"{NEW}:{NEW_GROUP}", "--config", str(config)]
    done = subprocess.run(
        [sys.executable, "-m", "agent", "ids", "remap", *ids, str(ground.tree)],
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    shown = r"\x1b[2J\x0aforged"
    assert done.stderr == f"gluster-ml-agent: {ground.tree}/{shown}: {MOUNTED}\n"
    assert done.stdout.count("\n") == 1
