"""The lab itself: it comes up, its faults are what they say, and nothing stays behind."""

import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from . import cgroups, faults, runs
from .attempts import HANGS, attempt
from .client import Client
from .cluster import Cluster
from .jobs import RunningJob
from .shell import LabError, until
from .volume import Volume

REPOSITORY = Path(__file__).parents[2]
BRING_UP = """
import os, sys
from tests.lab import Cluster
lab = Cluster.start(servers=2)
lab.create_volume("vol", replica=2)
lab.add_client().mount("node1:/vol", "/mnt/a")
print(lab.run.id, flush=True)
sys.stdin.read()
"""


def test_a_client_reads_what_another_wrote(
    cluster: Cluster, standing: Volume, client: Client
) -> None:
    client.mount(f"node1:/{standing.name}", "/mnt/a")
    client.mount(f"node2:/{standing.name}", "/mnt/b")
    client.write("/mnt/a/file", "text")
    assert client.read("/mnt/b/file") == "text"


def test_a_control_group_goes_when_its_last_process_has_left() -> None:
    prefix = f"gml-test-{os.getpid()}-"
    groups = cgroups.create(f"{prefix}host")
    with subprocess.Popen(["sleep", "0.5"]) as process:
        for group in groups:
            (group / "cgroup.procs").write_text(str(process.pid))
        cgroups.remove(f"{prefix}*")
    assert cgroups.matching(f"{prefix}*") == []


def test_a_lab_killed_half_way_is_swept_and_disturbs_no_other(cluster: Cluster) -> None:
    lab = subprocess.Popen(
        [sys.executable, "-c", BRING_UP],
        cwd=REPOSITORY,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    with lab:
        assert lab.stdout is not None
        run = runs.Run(lab.stdout.readline().strip())
        assert run not in runs.abandoned()
        lab.kill()
    assert run in runs.abandoned()
    assert any(left.startswith("process") for left in runs.leftovers(run))
    assert run in runs.sweep()
    assert runs.leftovers(run) == []
    assert cluster.servers[0].glusterd()


def test_down_twice(cluster: Cluster) -> None:
    with Cluster.start(servers=1) as lab:
        lab.down()
    assert runs.leftovers(lab.run) == []


def test_nothing_leaves_the_lab(client: Client) -> None:
    routes = client.run(["ip", "route"]).stdout + client.run(["ip", "-6", "route"]).stdout
    assert "default" not in routes


def test_signals_reach_the_program_inside(client: Client) -> None:
    program = client.popen(["sleep", "100"])
    program.send_signal(signal.SIGSTOP)
    state = Path(f"/proc/{program.target}/stat")
    until(lambda: state.read_text().rpartition(") ")[2].startswith("T"), 10, "it is stopped")
    program.kill()
    program.wait(10)
    assert client.left_behind() == []


def test_a_mount_that_did_not_come_is_an_error(client: Client, standing: Volume) -> None:
    # mount(8) reports it or not, as the helper's look falls before or after the client's end.
    with pytest.raises(LabError, match=r"Mount failed|nothing is mounted"):
        client.mount(f"node1:/{standing.name}/missing", "/mnt/a")


def command(cluster: Cluster, name: str, *arguments: str) -> str:
    argv = [sys.executable, "-m", "tests.lab", name, "--lab", cluster.run.id, *arguments]
    return subprocess.run(argv, cwd=REPOSITORY, capture_output=True, text=True, check=True).stdout


def test_attach_from_another_process(cluster: Cluster, standing: Volume, client: Client) -> None:
    said = command(cluster, "status")
    assert f"lab {cluster.run.id}" in said
    assert standing.name in said
    assert client.name in said
    assert command(cluster, "shell", client.name, "hostname") == f"{client.name}\n"


def test_faults_from_the_command_line(cluster: Cluster, standing: Volume) -> None:
    assert "bricks_killed volume bricks" in command(cluster, "fault")
    bricks = f"{standing.name}-0,{standing.name}-2"
    command(cluster, "fault", "bricks_killed", standing.name, bricks)
    assert [bool(brick.process()) for brick in standing.bricks] == [False, True, False]
    command(cluster, "fault", "--end", "bricks_killed", standing.name, bricks)
    assert all(brick.process() for brick in standing.bricks)


def test_a_silent_server_answers_nothing(cluster: Cluster, client: Client) -> None:
    server = cluster.servers[2]
    connect = ["bash", "-c", f"exec 3<>/dev/tcp/{server.name}-v4/24007"]
    assert client.run(connect, check=False).returncode == 0
    with faults.silent(server), pytest.raises(LabError, match="not done after 3 s"):
        client.run(connect, timeout=3)
    with faults.port_refusing(server):
        assert "refused" in client.run(connect, check=False, timeout=20).stderr
    with faults.port_silent(server), pytest.raises(LabError, match="not done after 3 s"):
        client.run(connect, timeout=3)
    assert client.run(connect, check=False, timeout=20).returncode == 0


@pytest.mark.parametrize("reopen", [False, True])
def test_a_job_loses_nothing_it_was_promised(
    standing: Volume, client: Client, reopen: bool
) -> None:
    client.mount(f"node1:/{standing.name}", "/mnt/a")
    job = RunningJob(client, "/mnt/a", reopen=reopen)
    with faults.bricks_killed(standing, standing.bricks[:2]):
        until(lambda: job.report().failures, 30, "the job notices")
    job.await_records(5)
    report = job.stop()
    assert report.missing == 0
    assert {failure.error for failure in report.failures} == {"ENOTCONN"}
    assert report.longest_stall > 0.1


def test_a_job_notices_that_records_are_gone(standing: Volume, client: Client) -> None:
    client.mount(f"node1:/{standing.name}", "/mnt/a")
    job = RunningJob(client, "/mnt/a")
    job.await_records(3)
    client.run(["sh", "-c", "for file in /mnt/a/job-*; do truncate -s 5000 $file; done"])
    report = job.stop()
    assert report.missing
    assert report.missing >= 3


def test_attempts_name_the_outcome(standing: Volume, client: Client) -> None:
    assert attempt(client, "listdir", "/etc") == "ok"
    assert attempt(client, "listdir", "/missing") == "ENOENT"
    client.mount(f"node1:/{standing.name}", "/mnt/a")
    assert attempt(client, "write", "/mnt/a") == "ok"
    with faults.client_frozen(client, "/mnt/a"):
        assert attempt(client, "listdir", "/mnt/a", timeout=1) == HANGS


def test_facts_and_their_tests_name_each_other() -> None:
    facts = (REPOSITORY / "docs/gluster-facts.md").read_text()
    named = set(re.findall(r"`(test_\w+)`", facts))
    there = set()
    for path in Path(__file__).parent.glob("test_facts_*.py"):
        there |= set(re.findall(r"^def (test_\w+)", path.read_text(), re.MULTILINE))
    assert named == there
