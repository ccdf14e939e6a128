"""The trash on a real volume: by the tests that run on a local one too, and by its commands."""

import json
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from agent.cli import exits
from tests.lab import faults, subject
from tests.lab.client import Client
from tests.lab.shell import Done, until
from tests.lab.volume import Volume
from tests.system.agents import CONFIG, QuickAgent, config

M = "/mnt/a"
RETENTION = """\
    retention:
      rules:
        - path: runs
          keep: {last: 1}
          quiet_for: 1s
"""
RUN = f"""
mkdir -p {M}/runs && cd {M}/runs && chmod 777 .
for step in 1 2 3; do
    mkdir -p checkpoint-$step && echo weights > checkpoint-$step/model.bin
    echo '{{"global_step": '$step', "log_history": []}}' > checkpoint-$step/trainer_state.json
done
chown -R 51001:51001 .
find . -depth -exec touch -h -d '10 days ago' {{}} +
"""


@pytest.fixture(params=["replicate", "distribute-replicate"])
def mounted(
    request: pytest.FixtureRequest, make_volume: Callable[..., Volume], client: Client
) -> Iterator[tuple[Client, Volume]]:
    shapes = {"replicate": {"replica": 3}, "distribute-replicate": {"replica": 3, "bricks": 6}}
    volume = make_volume(**shapes[request.param])
    uncached = ["entry-timeout=0", "attribute-timeout=0", "negative-timeout=0"]
    uncached.append(f"xlator-option={volume.name}-md-cache.md-cache-timeout=0")
    client.mount(f"node1:/{volume.name}", M, uncached)
    yield client, volume
    client.release()


@pytest.mark.long
@pytest.mark.timeout(1800)
def test_what_is_tested_on_a_local_file_system(mounted: tuple[Client, Volume]) -> None:
    client, _ = mounted
    tests = [f"tests/unit/retention/test_trash_{what}.py" for what in ("move", "restore", "purge")]
    argv = [*subject.python(), "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", *tests]
    argv += ["tests/unit/retention/test_clean.py", f"--on-volume={M}"]
    inside = ["env", "-C", str(subject.REPOSITORY), *argv]
    done = client.run(inside, check=False, timeout=1700)
    assert done.returncode == 0, done.stdout[-5000:]


def test_the_agent_cleans_by_itself(standing: Volume, quick_agent: QuickAgent) -> None:
    client = quick_agent.machine
    keep = RETENTION.replace("      rules:", "      mode: enforce\n      every: 2s\n      rules:")
    quick_agent.begin(config(standing.name))
    client.run(["sh", "-c", RUN])
    try:
        quick_agent.configure(config(standing.name) + keep)
        (moved,) = quick_agent.await_log("retention-moved", timeout=150)
        assert "2 checkpoints" in moved.message
        assert "runs/checkpoint-1 (" in moved.message
        assert client.run(["ls", f"{M}/runs"]).stdout.split() == ["checkpoint-3"]
        until(lambda: retention(quick_agent)["state"] == "done", 60, "the pass has ended")
        found = retention(quick_agent)
        assert (found["mode"], found["moved"]) == ("enforce", 2)
        assert (found["trash"], found["problems"]) == (2, [])
        restored = quick_agent.command("trash", "restore", "runs/checkpoint-2")
        assert restored.returncode == exits.DONE, restored.stderr
        ended = retention(quick_agent)["ended"]
        until(lambda: retention(quick_agent)["ended"] > ended, 60, "another pass was made")
        assert client.run(["ls", f"{M}/runs"]).stdout.split() == ["checkpoint-2", "checkpoint-3"]
        quick_agent.configure(config(standing.name))
        until(lambda: retention(quick_agent) == {}, 60, "it is not looked after any more")
    finally:
        client.run(["rm", "-rf", f"{M}/runs", f"{M}/.gluster-ml/trash", f"{M}/.gluster-ml/hosts"])


def retention(agent: QuickAgent) -> dict[str, Any]:
    found: dict[str, Any] = agent.status()["mounts"]["a"]["retention"]
    return found


def test_with_a_brick_of_a_distribute_volume_down_nothing_moves(
    make_volume: Callable[..., Volume], client: Client
) -> None:
    volume = make_volume(bricks=3)
    client.mount(f"node1:/{volume.name}", M)
    client.write(CONFIG, config(volume.name) + RETENTION)
    client.run(["sh", "-c", RUN])
    assert program(client, "clean", "--yes").returncode == exits.DONE
    client.run(["sleep", "1"])
    for brick in volume.bricks:
        with faults.bricks_killed(volume, [brick]):
            done = program(client, "clean", "--yes")
            assert done.returncode == exits.FAILED, done.stdout
            assert f"{volume.name}-client-" in done.stderr, done.stderr
        client.await_io(M)
        assert len(client.run(["ls", f"{M}/runs"]).stdout.split()) == 3
    assert program(client, "clean", "--yes").returncode == exits.DONE
    assert client.run(["ls", f"{M}/runs"]).stdout.split() == ["checkpoint-3"]
    client.release()


def program(client: Client, *arguments: str, uid: int = 0) -> Done:
    as_user = [] if uid == 0 else ["setpriv", f"--reuid={uid}", f"--regid={uid}", "--clear-groups"]
    return client.run([*as_user, subject.program(), *arguments], check=False, timeout=200)


def listed(client: Client, uid: int = 0) -> list[dict[str, Any]]:
    done = program(client, "trash", "list", "--json", uid=uid)
    assert done.returncode == exits.DONE, done.stderr
    found: list[dict[str, Any]] = json.loads(done.stdout)["entries"]
    return found


def test_the_commands_from_cleaning_to_having_it_back(mounted: tuple[Client, Volume]) -> None:
    client, volume = mounted
    client.write(CONFIG, config(volume.name) + RETENTION)
    client.run(["sh", "-c", RUN])
    first = program(client, "clean", "--yes")
    assert first.returncode == exits.DONE, first.stderr
    assert "still to be looked at a second time: 2" in first.stdout
    client.run(["sleep", "1"])
    second = program(client, "clean", "--yes")
    assert second.returncode == exits.DONE, second.stderr
    assert "2 checkpoints" in second.stdout
    assert client.run(["ls", f"{M}/runs"]).stdout.split() == ["checkpoint-3"]
    assert {entry["path"] for entry in listed(client)} == {
        "runs/checkpoint-1",
        "runs/checkpoint-2",
    }
    assert listed(client, 51001) == listed(client)
    assert listed(client, 51002) == []
    other = program(client, "trash", "restore", "runs/checkpoint-2", uid=51002)
    assert other.returncode == exits.FAILED
    done = program(client, "trash", "restore", f"{M}/runs/checkpoint-2", uid=51001)
    assert done.returncode == exits.DONE, done.stderr
    back = client.run(["ls", "-A", f"{M}/runs/checkpoint-2"]).stdout.split()
    assert back == [".keep", "model.bin", "trainer_state.json"]
    purged = program(client, "trash", "purge", "--all", "--yes")
    assert purged.returncode == exits.DONE, purged.stderr
    assert listed(client) == []
    assert client.run(["ls", f"{M}/.gluster-ml/trash"]).stdout.split() == ["lock"]
    third = program(client, "clean", "--yes")
    assert "nothing to clean now" in third.stdout
