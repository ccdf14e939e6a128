"""The lab itself: it comes up, its faults are what they say, and nothing stays behind."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from . import cgroups, faults, runs
from .client import Client
from .cluster import Cluster
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
    cluster: Cluster, volume: Volume, client: Client
) -> None:
    client.mount(f"node1:/{volume.name}", "/mnt/a")
    client.mount(f"node2:/{volume.name}", "/mnt/b")
    client.write("/mnt/a/file", "text")
    assert client.read("/mnt/b/file") == "text"
    client.unmount("/mnt/a")
    client.unmount("/mnt/b")
    until(lambda: not client.left_behind(), 20, "the clients ended")


def test_a_control_group_goes_when_its_last_process_has_left() -> None:
    prefix = f"gml-test-{os.getpid()}-"
    groups = cgroups.create(f"{prefix}host")
    with subprocess.Popen(["sleep", "0.5"]) as process:
        for group in groups:
            (group / "cgroup.procs").write_text(str(process.pid))
        cgroups.remove(prefix)
    assert cgroups.named(prefix) == []


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


def test_a_mount_that_did_not_come_is_an_error(client: Client, volume: Volume) -> None:
    # mount(8) reports it or not, as the helper's look falls before or after the client's end.
    with pytest.raises(LabError, match=r"Mount failed|nothing is mounted"):
        client.mount(f"node1:/{volume.name}/missing", "/mnt/a")


def test_attach_from_another_process(cluster: Cluster, volume: Volume, client: Client) -> None:
    argv = [sys.executable, "-m", "tests.lab", "status", "--lab", cluster.run.id]
    said = subprocess.run(argv, cwd=REPOSITORY, capture_output=True, text=True, check=True).stdout
    assert f"lab {cluster.run.id}" in said
    assert volume.name in said
    assert client.name in said


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
