"""What a live mount shows and does; "Inside a live mount" in docs/gluster-facts.md."""

import json
from collections.abc import Callable

import pytest

from . import faults
from .attempts import attempt
from .client import Client
from .cluster import Cluster
from .shell import until
from .volume import Volume

M = "/mnt/a"
ACTIVE = f"{M}/.meta/graphs/active"


def private(client: Client, xlator: str) -> dict[str, str]:
    """`key = value` lines of an xlator's private file."""
    text = client.run(["cat", f"{ACTIVE}/{xlator}/private"]).stdout
    pairs = (line.partition(" = ") for line in text.splitlines() if " = " in line)
    return {key: value for key, _, value in pairs}


def python(client: Client, code: str, *arguments: str, check: bool = True) -> str:
    argv = ["/usr/bin/python3", "-I", "-S", "-c", code, *arguments]
    return client.run(argv, check=check).stdout.strip()


def test_meta_of_a_replicate_volume(standing: Volume, client: Client) -> None:
    client.mount(f"node1:/{standing.name}", M)
    version = json.loads(client.run(["cat", f"{M}/.meta/version"]).stdout)
    assert client.run(["glusterfs", "--version"]).stdout.split()[1] == version["Package Version"]
    client.run(["ls", ACTIVE])
    assert private(client, f"{standing.name}-client-0")["connected"] == "1"
    assert private(client, f"{standing.name}-client-0")["ping_timeout"] == "42"
    replicate = private(client, f"{standing.name}-replicate-0")
    assert {replicate[f"child_up[{i}]"] for i in range(3)} == {"1"}
    assert (replicate["quorum-type"], replicate["up"]) == ("auto", "1")
    volfile = client.run(["cat", f"{ACTIVE}/volfile"]).stdout
    brick = standing.bricks[0]
    assert f"option remote-host {brick.server.name}\n" in volfile
    assert f"option remote-subvolume {brick.path}\n" in volfile
    assert f"volume {standing.name}-replicate-0\n    type cluster/replicate\n" in volfile


def test_meta_shows_a_lost_brick(standing: Volume, client: Client) -> None:
    client.mount(f"node1:/{standing.name}", M)
    with faults.bricks_killed(standing, standing.bricks[:1]):
        name = f"{standing.name}-client-0"
        until(lambda: private(client, name)["connected"] == "0", 20, "it is shown")
        replicate = private(client, f"{standing.name}-replicate-0")
        assert (replicate["child_up[0]"], replicate["up"]) == ("0", "1")
        assert attempt(client, "write", M) == "ok"
    until(lambda: private(client, name)["connected"] == "1", 20, "it is shown")


def test_meta_shows_the_ping_timeout_that_is_in_force(
    make_volume: Callable[..., Volume], client: Client
) -> None:
    volume = make_volume(bricks=1)
    client.mount(f"node1:/{volume.name}", M)
    volume.set("network.ping-timeout", "7")
    name = f"{volume.name}-client-0"
    until(lambda: private(client, name)["ping_timeout"] == "7", 20, "the client has heard of it")


def test_disperse(make_volume: Callable[..., Volume], client: Client) -> None:
    volume = make_volume(disperse=3, redundancy=1)
    client.mount(f"node1:/{volume.name}", M)
    with faults.bricks_killed(volume, volume.bricks[:1]):
        name = f"{volume.name}-disperse-0"
        until(lambda: private(client, name)["childs_up"] == "2", 20, "it is shown")
        assert private(client, name)["up"] == "1"
        assert attempt(client, "write", M) == "ok"
    with faults.bricks_killed(volume, volume.bricks[:2]):
        until(lambda: attempt(client, "statvfs", M) == "ENOTCONN", 20, "it is lost")
    until(lambda: attempt(client, "write", M) == "ok", 20, "it heals by itself")


def test_one_brick_of_a_distribute_volume_down(
    make_volume: Callable[..., Volume], client: Client
) -> None:
    volume = make_volume(bricks=3, brick_size="64M")
    client.mount(f"node1:/{volume.name}", M)
    client.run(["sh", "-c", f"cd {M} && touch 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16"])
    total = "import os, sys; s = os.statvfs(sys.argv[1]); print(s.f_blocks * s.f_frsize >> 20)"
    whole = int(python(client, total, M))
    with faults.bricks_killed(volume, volume.bricks[:1]):
        dht = f"{volume.name}-dht"
        until(lambda: private(client, dht)["subvolume_status[0]"] == "0", 20, "it is shown")
        assert private(client, dht)["subvolume_status[1]"] == "1"
        until(
            lambda: int(python(client, total, M)) == pytest.approx(whole * 2 / 3, abs=2),
            20,
            "the space has shrunk by the third",
        )
        assert 1 < len(client.run(["ls", M]).stdout.split()) < 16, "success, with files missing"
        tries = [client.run(["touch", f"{M}/new{i}"], check=False).returncode for i in range(16)]
        assert 0 < sum(tries) < 16, "a new file's name decides whether it can be made"
    until(lambda: len(client.run(["ls", M]).stdout.split()) >= 16, 20, "all are back")


def test_a_replica_set_without_quorum_below_distribute(
    make_volume: Callable[..., Volume], client: Client
) -> None:
    volume = make_volume(replica=3, bricks=6)
    client.mount(f"node1:/{volume.name}", M)
    with faults.bricks_killed(volume, volume.bricks[:2]):
        name = f"{volume.name}-replicate-0"
        until(lambda: private(client, name)["up"] == "0", 20, "it is shown")
        assert private(client, f"{volume.name}-replicate-1")["up"] == "1"
        status = private(client, f"{volume.name}-dht")["subvolume_status[0]"]
        assert status == "1", "to distribute a set without quorum is up while a brick lives"
        assert attempt(client, "listdir", M) == "ok"


def test_full(make_volume: Callable[..., Volume], client: Client) -> None:
    volume = make_volume(replica=3, brick_size="64M")
    client.mount(f"node1:/{volume.name}", M)
    first, *others = [faults.brick_full(brick) for brick in volume.bricks]
    free = "import os, sys; s = os.statvfs(sys.argv[1]); print(s.f_bavail * s.f_frsize >> 20)"
    with first:
        until(lambda: python(client, free, M) == "0", 20, "the least of the bricks counts")
        assert attempt(client, "write", M) == "ok", "the two others have room"
        with others[0], others[1]:
            until(lambda: attempt(client, "write", M) == "ENOSPC", 60, "it is full")
            assert attempt(client, "listdir", M) == "ok"
    until(lambda: attempt(client, "write", M) == "ok", 20, "there is room again")


def test_disks_failing(make_volume: Callable[..., Volume], client: Client) -> None:
    volume = make_volume(replica=3, brick_size="64M")
    client.mount(f"node1:/{volume.name}", M)
    with faults.disks_failing(volume):
        until(lambda: attempt(client, "write", M) == "EIO", 20, "writes fail")
        assert attempt(client, "listdir", M) == "ok"
        assert attempt(client, "statvfs", M) == "ok"
    until(lambda: attempt(client, "write", M) == "ok", 20, "the disks are replaced")


def test_read_only_and_root_squash(standing: Volume, client: Client) -> None:
    client.mount(f"node1:/{standing.name}", M)
    for fault, error in ((faults.read_only, "EROFS"), (faults.root_squashed, "EACCES")):
        with fault(standing):
            until(lambda error=error: attempt(client, "write", M) == error, 20, error)  # type: ignore[misc]
            assert attempt(client, "listdir", M) == "ok"
        until(lambda: attempt(client, "write", M) == "ok", 20, "it is over")


def test_locks_exclude_across_clients_and_end_with_their_holder(
    cluster: Cluster, standing: Volume, client: Client
) -> None:
    client.mount(f"node1:/{standing.name}", M)
    client.mount(f"node2:/{standing.name}", "/mnt/b")
    take = "import fcntl, sys; f = open(sys.argv[1], 'w'); fcntl.{}(f, fcntl.LOCK_EX{}); {}"
    for call in ("lockf", "flock"):
        hold = take.format(call, "", "print(1, flush=True); import time; time.sleep(1000)")
        argv = ["/usr/bin/python3", "-I", "-S", "-c", hold, f"{M}/{call}"]
        holder = client.popen(argv, stdout=-1)
        assert holder.stdout is not None
        assert holder.stdout.readline() == "1\n"
        probe = take.format(call, " | fcntl.LOCK_NB", "print('got')")
        assert python(client, probe, f"/mnt/b/{call}", check=False) == ""
        holder.kill()
        with holder:
            holder.wait(10)
        until(
            lambda call=call, probe=probe: (  # type: ignore[misc]
                python(client, probe, f"/mnt/b/{call}", check=False) == "got"
            ),
            20,
            "the lock is free",
        )


def test_rename_without_replacing_is_not_there(standing: Volume, client: Client) -> None:
    client.mount(f"node1:/{standing.name}", M)
    client.run(["touch", f"{M}/from"])
    code = (
        "import ctypes, errno, sys; libc = ctypes.CDLL(None, use_errno=True);"
        "libc.renameat2(-100, sys.argv[1].encode(), -100, sys.argv[2].encode(), 1);"
        "print(errno.errorcode[ctypes.get_errno()])"
    )
    assert python(client, code, f"{M}/from", f"{M}/to") == "EINVAL"


@pytest.mark.parametrize(("groups", "outcome"), [(87, "0"), (110, "1")])
def test_many_groups(standing: Volume, client: Client, groups: int, outcome: str) -> None:
    client.mount(f"node1:/{standing.name}", M)
    last = 30000 + groups - 1
    client.run(["sh", "-c", f"echo > {M}/g{groups}; chgrp {last} {M}/g{groups}"])
    client.run(["chmod", "0640", f"{M}/g{groups}"])
    member = ",".join(str(30000 + i) for i in range(groups))
    argv = ["setpriv", "--reuid=30000", "--regid=30000", f"--groups={member}"]
    done = client.run([*argv, "cat", f"{M}/g{groups}"], check=False)
    assert str(min(done.returncode, 1)) == outcome


def test_a_long_attribute_timeout_hides_anothers_append(standing: Volume, client: Client) -> None:
    client.mount(f"node1:/{standing.name}", M, ["attribute-timeout=600", "entry-timeout=600"])
    client.mount(f"node1:/{standing.name}", "/mnt/b")
    client.run(["sh", "-c", f"echo 1 > /mnt/b/shared; stat {M}/shared"])
    client.run(["sh", "-c", "echo 2 >> /mnt/b/shared"])
    assert client.run(["stat", "-c", "%s", f"{M}/shared"]).stdout == "2\n"
    forced = ["stat", "--cached=never", "-c", "%s", f"{M}/shared"]
    until(lambda: client.run(forced).stdout == "4\n", 10, "asking the server helps")
    assert client.run(["stat", "-c", "%s", f"{M}/shared"]).stdout == "4\n", "now it is cached"


def test_operations_can_be_delayed(make_volume: Callable[..., Volume], client: Client) -> None:
    volume = make_volume(bricks=1)
    client.mount(f"node1:/{volume.name}", M)
    with faults.delayed(volume, ["write"], 4):
        until(lambda: attempt(client, "write", M, timeout=2) == "hangs", 20, "a write is late")
        assert attempt(client, "listdir", M, timeout=2) == "ok"
    until(lambda: attempt(client, "write", M, timeout=2) == "ok", 20, "it is over")


def test_operations_can_fail(make_volume: Callable[..., Volume], client: Client) -> None:
    volume = make_volume(bricks=1)
    client.mount(f"node1:/{volume.name}", M)
    with faults.failing(volume, ["write"]):
        until(lambda: attempt(client, "write", M) != "ok", 20, "a write fails")
        assert attempt(client, "listdir", M) == "ok"
    until(lambda: attempt(client, "write", M) == "ok", 20, "it is over")
