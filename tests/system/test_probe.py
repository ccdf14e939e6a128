"""The workers on real GlusterFS mounts, healthy and broken."""

import errno
import json
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.lab import Client, Volume, faults, subject, until

DRIVER = Path(__file__).with_name("worker_driver.py")
PATH = "/mnt/a"
WROTE = {"name": "write and read back in .gluster-ml/probes", "errno": 0}
READ = {"name": "list the root", "errno": 0}


class Driver:
    """The daemon's place inside a client."""

    def __init__(self, client: Client) -> None:
        self.process = client.popen(
            [*subject.python(), str(DRIVER)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
        )

    def __call__(self, do: str, **arguments: Any) -> dict[str, Any]:
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        print(json.dumps({"do": do, **arguments}), file=self.process.stdin, flush=True)
        answer: dict[str, Any] = json.loads(self.process.stdout.readline())
        return answer

    def end(self) -> None:
        self.process.communicate(timeout=60)
        assert self.process.returncode == 0


@pytest.fixture
def driver(client: Client) -> Iterator[Driver]:
    """Ends before the client is looked at for what was left behind."""
    made = Driver(client)
    yield made
    made.end()
    for line in client.read("/proc/1/mountinfo").splitlines():
        if " - fuse.glusterfs " in line:
            client.unmount(line.split()[4], lazy=True)
    until(lambda: not client.left_behind(), 60, "the workers and clients ended")


def mounted(client: Client, volume: Volume, *options: str) -> str:
    client.mount(f"node1:/{volume.name}", PATH, options)
    return PATH


def shown(reply: dict[str, Any]) -> list[list[Any]]:
    """Kind and state of the subvolumes."""
    assert reply["graph"] is not None
    return [[kind, up] for _, kind, up in reply["graph"]["subvolumes"]]


def connected(reply: dict[str, Any]) -> list[bool]:
    assert reply["graph"] is not None
    return [is_connected for *_, is_connected in reply["graph"]["bricks"]]


@pytest.mark.parametrize(
    ("shape", "kinds"),
    [
        ({"replica": 3}, ["replicate"]),
        ({"bricks": 2}, ["client", "client"]),
        ({"replica": 3, "bricks": 6}, ["replicate", "replicate"]),
        ({"disperse": 3}, ["disperse"]),
    ],
    ids=["replicate", "distribute", "distributed-replicate", "disperse"],
)
def test_a_healthy_volume(
    make_volume: Callable[..., Volume],
    client: Client,
    driver: Driver,
    shape: dict[str, int],
    kinds: list[str],
) -> None:
    volume = make_volume(**shape)
    volume.set("network.ping-timeout", "17")
    reply = driver("probe", path=mounted(client, volume), write="host")
    assert reply["on_device"]
    assert reply["statvfs"] == {"name": "statvfs", "errno": 0}
    assert reply["read"] == READ
    assert reply["write"] == WROTE
    graph = reply["graph"]
    assert [f"{host}:{path}" for _, host, path, _ in graph["bricks"]] == [
        brick.label for brick in volume.bricks
    ]
    assert all(connected(reply))
    assert shown(reply) == [[kind, True] for kind in kinds]
    assert graph["ping_timeout"] == 17
    assert graph["version"][0].isdigit()
    assert "password" not in json.dumps(reply)


def test_a_read_goes_to_the_bricks_however_long_the_kernel_caches(
    client: Client, shared_volume: Volume, driver: Driver
) -> None:
    path = mounted(client, shared_volume, "attribute-timeout=600", "entry-timeout=600")
    assert driver("probe", path=path)["read"] == READ
    with faults.bricks_killed(shared_volume, shared_volume.bricks):
        until(lambda: driver("probe", path=path)["read"]["errno"] != 0, 60, "the read fails")
        reply = driver("probe", path=path)
        assert reply["on_device"]
        assert reply["read"] == {"name": "open the root", "errno": errno.ENOTCONN}
    until(lambda: driver("probe", path=path)["read"] == READ, 60, "the read works again")


def test_lost_quorum_and_its_return(client: Client, shared_volume: Volume, driver: Driver) -> None:
    path = mounted(client, shared_volume)
    first = driver("ask", path=path)["pid"]
    driver("hear", path=path)
    with faults.bricks_killed(shared_volume, shared_volume.bricks[:1]):
        until(lambda: not all(connected(driver("probe", path=path))), 60, "it is noticed")
        reply = driver("probe", path=path, write="host")
        assert sum(connected(reply)) == 2
        assert shown(reply) == [["replicate", True]]
        assert reply["write"] == WROTE
    with faults.bricks_killed(shared_volume, shared_volume.bricks[:2]):
        until(lambda: driver("probe", path=path)["read"]["errno"] != 0, 60, "I/O fails")
        reply = driver("probe", path=path, write="host")
        assert reply["on_device"]
        assert reply["read"]["errno"] == errno.ENOTCONN
        assert reply["write"] is None
    until(lambda: driver("probe", path=path, write="host")["write"] == WROTE, 60, "it is back")
    until(lambda: all(connected(driver("probe", path=path))), 60, "all bricks are back")
    assert driver("ask", path=path)["pid"] == first
    driver("hear", path=path)


def test_quorum_lost_in_one_of_two_sets(
    make_volume: Callable[..., Volume], client: Client, driver: Driver
) -> None:
    volume = make_volume(replica=3, bricks=6)
    path = mounted(client, volume)
    assert driver("probe", path=path, write="host")["write"] == WROTE
    with faults.bricks_killed(volume, volume.bricks[3:5]):
        down = [["replicate", True], ["replicate", False]]
        until(lambda: shown(driver("probe", path=path)) == down, 60, "the second set is down")


def test_writes_work_with_one_brick_of_a_distribute_volume_down(
    make_volume: Callable[..., Volume], client: Client, driver: Driver
) -> None:
    volume = make_volume(bricks=3)
    path = mounted(client, volume)
    assert driver("probe", path=path, write="host")["write"] == WROTE
    with faults.bricks_killed(volume, volume.bricks[1:2]):
        down = [["client", True], ["client", False], ["client", True]]
        until(lambda: shown(driver("probe", path=path)) == down, 60, "the brick is down")
        writes = [driver("probe", path=path, write=f"host{n}")["write"] for n in range(12)]
        assert writes == [WROTE] * 12
    assert client.run(["ls", "-A", f"{path}/.gluster-ml/probes"]).stdout == ""


def test_a_dead_client(client: Client, shared_volume: Volume, driver: Driver) -> None:
    path = mounted(client, shared_volume)
    assert driver("probe", path=path)["read"] == READ
    assert driver("client", path=path)["state"] == "alive"
    with faults.client_killed(client, path):
        reply = driver("probe", path=path, write="host")
    assert reply["on_device"]
    assert reply["statvfs"] == {"name": "statvfs", "errno": errno.ENOTCONN}
    assert reply["read"] == {"name": "open the root", "errno": errno.ENOTCONN}
    assert reply["write"] is None
    assert reply["graph"] is None
    assert driver("client", path=path)["state"] == "gone"


def test_a_frozen_client_is_late_and_then_answers(
    client: Client, shared_volume: Volume, driver: Driver
) -> None:
    path = mounted(client, shared_volume)
    driver("probe", path=path)
    before = driver("footprint")
    with faults.client_frozen(client, path):
        driver("ask", path=path)
        late = driver("hear", path=path, timeout=1)
        assert late["late"]
        assert late["wchan"] == "request_wait_answer"
        assert driver("waiting", path=path)["waiting"] >= 1
        assert driver("hear", path=path, timeout=0.1)["late"]
    assert driver("hear", path=path)["read"] == READ
    assert driver("footprint") == before


def test_an_aborted_connection_frees_the_probe(
    client: Client, shared_volume: Volume, driver: Driver
) -> None:
    path = mounted(client, shared_volume)
    driver("probe", path=path)
    with faults.client_frozen(client, path):
        driver("ask", path=path)
        assert driver("hear", path=path, timeout=1)["late"]
        assert driver("abort", path=path)["aborted"]
        reply = driver("hear", path=path)
        assert reply["statvfs"]["errno"] in (errno.ECONNABORTED, errno.ENOTCONN)
        assert driver("waiting", path=path)["waiting"] is not None


def test_a_worker_stuck_in_the_kernel_is_given_up(
    client: Client, shared_volume: Volume, driver: Driver
) -> None:
    path = mounted(client, shared_volume)
    driver("probe", path=path)
    frozen = [faults.brick_frozen(brick) for brick in shared_volume.bricks]
    for fault in frozen:
        fault.begin()
    try:
        worker = driver("ask", path=path)["pid"]
        assert driver("hear", path=path, timeout=1)["late"]
        driver("abandon", path=path)
        busy = driver("spawn", path=path)
        assert busy["error"] == "worker-busy"
        # The client took the request and waits for the bricks: not even SIGKILL ends the worker.
        assert driver("footprint")["children"] == 1
        assert driver("close")["seconds"] < 5
        assert has(client, worker)
    finally:
        for fault in frozen:
            fault.end()


def test_a_worker_dies_with_the_daemon_though_the_mount_is_frozen(
    client: Client, shared_volume: Volume, driver: Driver
) -> None:
    path = mounted(client, shared_volume)
    driver("probe", path=path)
    with faults.client_frozen(client, path):
        daemon = Driver(client)
        worker = daemon("ask", path=path)["pid"]
        assert daemon("hear", path=path, timeout=1)["late"]
        daemon.process.kill()
        daemon.process.communicate(timeout=60)
        until(lambda: not has(client, worker), 60, "the worker ended")


def has(client: Client, inner: int) -> bool:
    return inner in [process.inner for process in client.processes()]


def test_what_was_given_up_is_reaped_when_the_mount_thaws(
    client: Client, shared_volume: Volume, driver: Driver
) -> None:
    path = mounted(client, shared_volume)
    driver("probe", path=path)
    before = driver("footprint")
    frozen = [faults.brick_frozen(brick) for brick in shared_volume.bricks]
    for fault in frozen:
        fault.begin()
    try:
        driver("ask", path=path)
        assert driver("hear", path=path, timeout=1)["late"]
        driver("abandon", path=path)
    finally:
        for fault in frozen:
            fault.end()
    assert driver("await_reaped", path=path)["status"] in (-9, None)
    assert driver("probe", path=path)["read"] == READ
    assert driver("footprint") == before


def test_root_squash(client: Client, shared_volume: Volume, driver: Driver) -> None:
    path = mounted(client, shared_volume)
    assert driver("probe", path=path, write="host")["write"] == WROTE
    with faults.root_squashed(shared_volume):

        def refused() -> bool:
            return bool(driver("probe", path=path, write="host")["write"]["errno"])

        until(refused, 60, "root is squashed")
        write = driver("probe", path=path, write="host")["write"]
        assert write["errno"] in (errno.EACCES, errno.EPERM)
        assert ".gluster-ml" in write["name"]


def test_a_read_only_volume(client: Client, volume: Volume, driver: Driver) -> None:
    with faults.read_only(volume):
        write = driver("probe", path=mounted(client, volume), write="host")["write"]
        assert write == {"name": "mkdir .gluster-ml", "errno": errno.EROFS}


def test_full_bricks(make_volume: Callable[..., Volume], client: Client, driver: Driver) -> None:
    volume = make_volume(replica=3, brick_size="64m")
    path = mounted(client, volume)
    assert driver("probe", path=path, write="host")["write"] == WROTE
    full = [faults.brick_full(brick) for brick in volume.bricks]
    for fault in full:
        fault.begin()

    # A brick looks at its file system from time to time, and may still find room for 4 KiB.
    def tried() -> Any:
        return driver("probe", path=path, write="host")["write"]

    until(lambda: tried()["errno"] == errno.ENOSPC, 60, "writing fails")
    for fault in full:
        fault.end()
    until(lambda: tried() == WROTE, 60, "writing works again")


def test_a_write_that_fails_tells_its_step(
    client: Client, shared_volume: Volume, driver: Driver
) -> None:
    path = mounted(client, shared_volume)
    assert driver("probe", path=path, write="host")["write"] == WROTE

    def wrote() -> object:
        return driver("probe", path=path, write="host")["write"]

    with faults.failing(shared_volume, ["fsync"]):
        # While the client switches to the new graph, other errors may come first.
        failed = {"name": "fsync .gluster-ml/probes/host", "errno": errno.EIO}
        until(lambda: wrote() == failed, 60, "fsync fails")
    until(lambda: wrote() == WROTE, 60, "fsync works again")


OLD_KERNEL = """
import sys
from agent.worker import client
told = client._connections
client._connections = lambda pid: {-1} if told(pid) else set()  # kernels whose fdinfo says less
print(client.find(sys.argv[1], 0, [], [int(sys.argv[2]), int(sys.argv[3])]))
"""


def test_clients_of_stacked_mounts_are_told_apart(
    client: Client, shared_volume: Volume, driver: Driver
) -> None:
    for path in (PATH, "/mnt/b"):
        client.mount(f"node1:/{shared_volume.name}", path)
    below = client.glusterfs(PATH)
    client.run(["mkdir", f"{PATH}/sub"])
    # mount.glusterfs itself refuses a second mount at the same path.
    source = ["--volfile-server=node1", f"--volfile-id=/{shared_volume.name}"]
    client.run(["glusterfs", "--process-name", "fuse", *source, "--subdir-mount=/sub", PATH])
    until(lambda: len(layers(client)) == 2, 60, "a second layer")
    found = [driver("client", path=PATH, layer=layer)["process"] for layer in (0, 1)]
    assert found[0]["pid"] == below.inner
    assert found[1]["pid"] not in (below.inner, client.glusterfs("/mnt/b").inner)
    assert driver("client", path="/mnt/b")["process"]["pid"] == client.glusterfs("/mnt/b").inner

    def by_arguments(path: str, layer: int, count: int) -> str:
        argv = [*subject.python(), "-c", OLD_KERNEL, path, str(layer), str(count)]
        return client.run(argv).stdout.strip()

    assert by_arguments(PATH, 0, 2) == str(found[0]["pid"])
    assert by_arguments(PATH, 1, 2) == str(found[1]["pid"])
    assert by_arguments("/mnt/b", 0, 1) == str(client.glusterfs("/mnt/b").inner)
    assert by_arguments(PATH, 0, 1) == "None"
    assert by_arguments("/mnt/c", 0, 1) == "0"  # every client serves another mount


def layers(client: Client) -> list[str]:
    lines = Path(f"/proc/{client.init}/mountinfo").read_text().splitlines()
    return [line for line in lines if line.split()[4] == PATH]


def test_who_holds_a_dead_mount_after_its_detachment(
    client: Client, shared_volume: Volume, driver: Driver
) -> None:
    path = mounted(client, shared_volume)
    device = [0, client.connection(path)]
    client.run(["touch", f"{path}/file"])
    job = client.popen(["sh", "-c", f"exec 9<{path}/file; exec sleep 600"])
    until(lambda: client.processes("sleep"), 60, "the job runs")
    (inside,) = client.processes("sleep")
    faults.client_killed(client, path).begin()
    for _ in range(2):
        found = driver("holders", device=device)
        assert found["complete"]
        assert [holder["pid"] for holder in found["found"]] == [inside.inner]
        assert found["found"][0]["comm"] == "sleep"
        assert found["found"][0]["how"] == "open file"
        if client.entry(path):
            client.unmount(path, lazy=True)
    job.kill()
    job.wait(60)
