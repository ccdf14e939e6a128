"""The agents of a volume look after its checkpoints: they report, then move, then remove them."""

from collections.abc import Iterator
from typing import Any

import pytest

from tests.lab.client import Client
from tests.lab.cluster import Cluster
from tests.lab.shell import until
from tests.lab.volume import Volume
from tests.system.agents import Agent, QuickAgent, config

M = "/mnt/a"
RUN = f"{M}/runs/alice"
STEPS = (100, 200, 300, 400)
MAKE = f"""
set -e
mkdir -p {RUN} && cd {RUN}
for step in {" ".join(map(str, STEPS))}; do
    mkdir checkpoint-$step && echo weights > checkpoint-$step/model.bin
    echo '{{"global_step": '$step', "log_history": []}}' > checkpoint-$step/trainer_state.json
done
chown -R 51001:51001 .
find . -depth -exec touch -h -d '10 days ago' {{}} +
"""


def retention(volume: Volume, mode: str, last: int = 2, keep_for: str = "1h") -> str:
    """A pass each two seconds, and what it plans may go after one."""
    rule = f"{{path: runs, keep: {{last: {last}}}, quiet_for: 1s}}"
    rules = f"{{mode: {mode}, every: 2s, trash: {{keep_for: {keep_for}}}, rules: [{rule}]}}"
    return config(volume.name, retention=rules)


def part(agent: Agent) -> dict[str, Any]:
    """What its status says of retention."""
    return dict(agent.mount().get("retention", {}))


def await_part(agent: Agent, **wanted: object) -> dict[str, Any]:
    until(
        lambda: wanted.items() <= part(agent).items(),
        120,
        f"retention is {wanted}; it is {part(agent)}",
    )
    return part(agent)


def steps(machine: Client) -> list[int]:
    """Of the checkpoints that are there."""
    listed = machine.run(["ls", RUN]).stdout.split()
    return sorted(int(name.removeprefix("checkpoint-")) for name in listed)


def restored(agent: Agent, path: str) -> bool:
    """Whether it could be; this client may know the old name for a second yet."""
    done = agent.command("trash", "restore", path)
    assert done.returncode == 0 or "is there already" in done.stderr, done.stderr
    return done.returncode == 0 and f"{path} is back" in done.stdout


@pytest.fixture
def mounted(standing: Volume, client: Client) -> Iterator[Client]:
    """A client with the volume, on which there is a run; its agent adopts the mount."""
    client.mount(f"node1:/{standing.name}", M, ["entry-timeout=0", "attribute-timeout=0"])
    client.run(["sh", "-c", MAKE], timeout=60)
    yield client
    ours = [f"{M}/.gluster-ml/{each}" for each in ("trash", "hosts")]
    client.run(["rm", "-rf", f"{M}/runs", *ours], timeout=60)
    client.release()


def test_reported_then_moved_then_removed(standing: Volume, mounted: Client) -> None:
    agent = QuickAgent(mounted)
    try:
        agent.configure(retention(standing, "report"))
        agent.start()
        found = await_part(agent, state="done", planned=2, waiting=0)
        assert (found["kept"], found["moved"], found["trash"]) == (2, 0, 0)
        (told,) = agent.entries("retention-planned")
        assert "2 checkpoints (" in told.message
        assert steps(mounted) == list(STEPS), "a report deletes nothing"

        agent.configure(retention(standing, "enforce"))
        moved = agent.await_log("retention-moved")
        assert len(moved) == 1
        assert "runs/alice/checkpoint-100 (" in moved[0].message
        await_part(agent, state="done", planned=0, trash=2)
        until(lambda: steps(mounted) == [300, 400], 30, "the mount's cache has expired")
        until(lambda: restored(agent, "runs/alice/checkpoint-200"), 30, "names are cached no more")
        await_part(agent, state="done", planned=0, kept=3, trash=1)

        agent.configure(retention(standing, "enforce", keep_for="3s"))
        agent.await_log("retention-purged")
        await_part(agent, state="done", trash=0)
        until(lambda: steps(mounted) == [200, 300, 400], 30, "the mount's cache has expired")
        assert not agent.entries("retention-failed")
        until(
            lambda: "/run/gluster-ml/work" not in mounted.run(["cat", "/proc/mounts"]).stdout,
            30,
            "the mount for a pass is there only while there is one",
        )
    finally:
        agent.stop()


def test_one_of_them_cleans_and_another_takes_over(
    standing: Volume, cluster: Cluster, mounted: Client
) -> None:
    other = cluster.add_client()
    first, second = QuickAgent(mounted), QuickAgent(other)
    try:
        for agent in (first, second):
            agent.configure(retention(standing, "report"))
        first.start()
        await_part(first, state="done", planned=2)
        second.start()
        elsewhere = await_part(second, state="elsewhere")
        assert elsewhere["host"]
        first.kill()
        await_part(second, state="done", planned=2, host="")
        first.start()
        await_part(first, state="elsewhere")
        assert steps(mounted) == list(STEPS)
    finally:
        for agent in (first, second):
            agent.stop()
        other.release()
        cluster.remove(other)


def test_a_host_with_another_file_keeps_all_from_deleting(
    standing: Volume, cluster: Cluster, mounted: Client
) -> None:
    other = cluster.add_client()
    first, stale = QuickAgent(mounted), QuickAgent(other)
    try:
        stale.configure(retention(standing, "enforce", last=1))
        stale.start()
        until(lambda: part(stale).get("state") in ("done", "elsewhere"), 120, "it was there")
        stale.stop()
        left = steps(mounted)
        first.configure(retention(standing, "enforce", last=3))
        first.start()
        found = first.await_log("retention-left")
        assert any("nothing is moved: other hosts differ" in each.message for each in found)
        assert not first.entries("retention-moved")
        assert steps(mounted) == left
    finally:
        for agent in (first, stale):
            agent.stop()
        other.release()
        cluster.remove(other)
