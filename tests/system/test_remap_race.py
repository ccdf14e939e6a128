"""Ids exchanged on a real volume while a user swaps names there, on this host and on another."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from subprocess import PIPE
from typing import Any

import pytest

from agent.cli import exits
from tests.lab import subject
from tests.lab.client import Client, Mounts
from tests.lab.cluster import Cluster
from tests.lab.shell import until
from tests.lab.volume import Volume
from tests.system.agents import CONFIG
from tests.system.remap_ground import (
    INSIDE,
    MOUNTED,
    NEW,
    NEW_GROUP,
    ODD,
    OLD,
    OLD_GROUP,
    reasons_of,
)

DRIVER = Path(__file__).with_name("remap_driver.py")
M = "/mnt/a"
TOP = f"{M}/top"
TREE = f"{TOP}/home/tree"
ROUNDS = 300
STEPPED = [("tree", "etc"), ("house", "outside"), ("room", "hard-link"), ("thing", "etc")]
"""Who does all of them on a local file system is test_remap_hostile.py."""


def drive(machine: Mounts, do: str, *more: str) -> Any:
    argv = [*subject.python(), str(DRIVER), do, TOP, *more]
    return json.loads(machine.run(argv, timeout=240).stdout)


@pytest.fixture
def lone(make_volume: Callable[..., Volume]) -> Volume:
    """Of one brick: two clients who rename and make one name at once can leave it disagreed upon
    between replicas, and nobody, the attacker included, gets at it any more (ENOTCONN, seen).
    """
    return make_volume(bricks=1)


@pytest.fixture
def place(lone: Volume, client: Client) -> Iterator[Callable[..., Client]]:
    """Mounts the volume with these options, and makes the tree with another mount inside it."""

    def mount(*options: str) -> Client:
        client.mount(f"node1:/{lone.name}", M, ["acl", *options])
        drive(client, "make")
        client.run(["mount", "--bind", f"{TOP}/outside", f"{TREE}/{ODD}"])
        return client

    yield mount
    client.unmount(M, lazy=True)  # and what is mounted inside with it


def race(work: Client, racer: Client) -> dict[str, int]:
    """How many of the passes told what; nothing outside the tree is changed by any."""
    before = drive(work, "outsiders")
    user = racer.popen([*subject.python(), str(DRIVER), "disturb", TOP], stdout=PIPE)
    try:
        until(lambda: work.path(f"{TOP}/aside/begun").exists(), 60, "the user is at work")
        found = drive(work, "rounds", str(ROUNDS))
        assert user.poll() is None
    finally:
        work.run(["touch", f"{TOP}/stop"])
        assert user.wait(60) == 0
        assert user.stdout
        attacks = int(user.stdout.read())
        user.stdout.close()
    assert drive(work, "outsiders") == before
    assert found["changed"] > 0
    assert attacks > 0
    assert found["reasons"].keys() - {MOUNTED}, "no pass was disturbed"
    return dict(found["reasons"])


@pytest.mark.slow
def test_300_rounds_with_a_user_of_this_host(place: Callable[..., Client]) -> None:
    """By hand it is done on the mount that users have, too."""
    work = place()
    assert race(work, work)[MOUNTED] > 0


@pytest.mark.slow
def test_300_rounds_with_a_user_of_another_host(
    place: Callable[..., Client], lone: Volume, cluster: Cluster
) -> None:
    """On a mount that caches nothing, so that each swap is seen at once."""
    other = cluster.add_client()
    work = place("entry-timeout=0", "attribute-timeout=0")
    other.mount(f"node1:/{lone.name}", M, ["acl"])
    race(work, other)
    other.release()
    cluster.remove(other)


@pytest.mark.slow
def test_at_each_step_of_a_pass(place: Callable[..., Client]) -> None:
    """What a race hits by chance: before each system call a name comes to mean something else."""
    work = place()
    for level, way in STEPPED:
        found = drive(work, "steps", level, way)
        assert found["steps"] > 40
        assert set(found["reasons"]) == reasons_of(level, way)


def test_what_the_command_says_of_it(place: Callable[..., Client]) -> None:
    """One line for each, whatever the names are."""
    mounted = place()
    before = drive(mounted, "outsiders")
    mounted.write(CONFIG, "mounts: {}\n")
    ids = ["--from", f"{OLD}:{OLD_GROUP}", "--to", f"{NEW}:{NEW_GROUP}"]
    done = mounted.run([subject.program(), "ids", "remap", *ids, TREE], check=False)
    assert done.returncode == exits.FAILED
    assert done.stderr == f"gluster-ml-agent: {TREE}/\\x1b[2J\\x0aforged: {MOUNTED}\n"
    assert f", {INSIDE} changed, 1 left" in done.stdout
    assert drive(mounted, "insiders") == [[NEW, NEW_GROUP]]
    assert drive(mounted, "outsiders") == before
