"""What the probe's write says about a volume that works but for one thing, and what a job sees.

The job writes all the while, so what it could not write is told apart from what was lost. Where a
volume has small bricks that is so that the agent writes every 10 s, as it does where space is low.
"""

from collections.abc import Callable, Iterator
from contextlib import ExitStack

import pytest

from tests.lab import faults
from tests.lab.cell import Process
from tests.lab.cluster import Cluster
from tests.lab.jobs import RunningJob
from tests.lab.shell import until
from tests.lab.volume import Brick, Volume
from tests.system.agents import UnitAgent, config
from tests.system.training import assert_left_alone, training

SMALL = "64M"


@pytest.fixture(scope="module")
def small_volume(cluster: Cluster) -> Iterator[Volume]:
    made = cluster.create_volume("small", bricks=1, brick_size=SMALL)
    yield made
    cluster.delete_volume(made)


def assert_told(agent: UnitAgent, client: Process, verdict: str) -> None:
    """It was healthy, then that, and healthy again, and nothing was done about it."""
    assert agent.verdicts() == ["healthy", verdict, "healthy"]
    assert_left_alone(agent, client)


def test_full_bricks(bare_agent: UnitAgent, small_volume: Volume) -> None:
    # One brick: replicas that fill one after the other may show what was just written differently.
    client = bare_agent.begin(config(small_volume.name))
    with training(bare_agent.machine, may_fail={"ENOSPC"}) as job:
        with faults.brick_full(small_volume.bricks[0]):
            seen = bare_agent.await_verdict("full")
            assert "ENOSPC" in seen["evidence"]
            assert bare_agent.command("status").returncode == 2
            job.await_failure("ENOSPC")
        bare_agent.await_verdict("healthy")
        job.await_records(5)
    assert_told(bare_agent, client, "full")


def test_a_quota_that_is_used_up(bare_agent: UnitAgent, make_volume: Callable[..., Volume]) -> None:
    volume = make_volume(bricks=1)
    server = volume.bricks[0].server
    server.gluster("volume", "quota", volume.name, "enable")
    for key, value in (("soft-timeout", "0"), ("hard-timeout", "0")):
        server.gluster("volume", "quota", volume.name, key, value)
    limit = ["volume", "quota", volume.name, "limit-usage", "/"]
    server.gluster(*limit, "1MB")
    client = bare_agent.begin(config(volume.name))
    bare_agent.machine.run(["dd", "if=/dev/zero", "of=/mnt/a/filler", "bs=64k", "count=14"])
    with training(bare_agent.machine, may_fail={"EDQUOT"}) as job:
        job.await_failure("EDQUOT")  # it uses up what is left
        seen = bare_agent.await_verdict("full", timeout=90)
        assert "EDQUOT" in seen["evidence"]
        assert bare_agent.command("status").returncode == 2
        server.gluster(*limit, "100MB")
        bare_agent.await_verdict("healthy")
        job.await_records(5)
    assert_told(bare_agent, client, "full")


def test_a_read_only_volume(bare_agent: UnitAgent, small_volume: Volume) -> None:
    client = bare_agent.begin(config(small_volume.name))
    with training(bare_agent.machine, may_fail={"EROFS"}) as job:
        with faults.read_only(small_volume):
            seen = bare_agent.await_verdict("read-only")
            assert "EROFS" in seen["evidence"]
            assert bare_agent.command("status").returncode == 2
            job.await_failure("EROFS")
        bare_agent.await_verdict("healthy")
        job.await_records(5)
    assert_told(bare_agent, client, "read-only")


def test_a_mount_that_is_to_be_read_only_is_never_written_to(
    bare_agent: UnitAgent, small_volume: Volume
) -> None:
    with faults.read_only(small_volume):
        bare_agent.begin(config(small_volume.name, options="{ro: true}"))
    assert bare_agent.command("status").returncode == 0
    assert bare_agent.verdicts() == ["healthy"]
    entry = bare_agent.machine.entry("/mnt/a")
    assert entry is not None
    assert entry[5].startswith("ro")


def test_disks_that_fail(bare_agent: UnitAgent, make_volume: Callable[..., Volume]) -> None:
    volume = make_volume(bricks=1, brick_size=SMALL)
    # Where the kernel has forgotten the folders, already looking them up fails, with ENODATA.
    remembered = "{attribute-timeout: 600, entry-timeout: 600}"
    client = bare_agent.begin(config(volume.name, options=remembered))
    # ENOTCONN while the brick restarts on a mended disk.
    with training(bare_agent.machine, may_fail={"EIO", "ENOTCONN"}) as job:
        with faults.disks_failing(volume):
            seen = bare_agent.await_verdict("degraded")
            assert "(EIO)" in seen["evidence"]
            assert bare_agent.command("status").returncode == 1
            assert bare_agent.command("wait", "a", "--timeout", "5s").returncode == 0
            job.await_failure("EIO")
            before_repair = bare_agent.verdicts()
        bare_agent.await_verdict("healthy")
        job.await_records(5)
    assert before_repair == ["healthy", "degraded"]
    assert bare_agent.verdicts()[-1] == "healthy"
    assert_left_alone(bare_agent, client)


def test_root_squash_is_a_finding(bare_agent: UnitAgent, small_volume: Volume) -> None:
    client = bare_agent.begin(config(small_volume.name))
    with training(bare_agent.machine, reopen=True, may_fail={"EACCES"}) as job:
        with faults.root_squashed(small_volume):
            (finding,) = bare_agent.await_log("finding")
            assert "squashes root" in finding.message
            told = [finding.message]
            until(lambda: bare_agent.mount()["findings"] == told, 10, "the status tells it too")
            assert bare_agent.command("status").returncode == 0
            job.await_failure("EACCES")
        job.await_records(5)
        until(lambda: bare_agent.mount()["findings"] == [], 90, "a write works again")
    assert bare_agent.verdicts() == ["healthy"]
    assert_left_alone(bare_agent, client)


def test_one_brick_of_a_distribute_volume_down(
    bare_agent: UnitAgent, make_volume: Callable[..., Volume]
) -> None:
    volume = make_volume(bricks=3, brick_size="16M")
    client = bare_agent.begin(config(volume.name))
    with ExitStack() as stack:
        jobs: dict[Brick, RunningJob] = {}
        while len(jobs) < 2:  # a file's name decides which brick it is on
            job = stack.enter_context(training(bare_agent.machine, may_fail={"ENOTCONN"}))
            jobs[home_of(volume, job)] = job
        (victim, hit), (_, spared) = jobs.items()
        with faults.bricks_killed(volume, [victim]):
            seen = bare_agent.await_verdict("degraded")
            assert victim.label in seen["evidence"]
            hit.await_failure("ENOTCONN")
            spared.await_records(260)  # 13 s: one probe at least is a write
        bare_agent.await_verdict("healthy")
        hit.await_records(5)
        assert spared.report().failures == []
    assert_told(bare_agent, client, "degraded")


def home_of(volume: Volume, job: RunningJob) -> Brick:
    """The brick that the job's file is on."""
    name = job.report().file
    return next(b for b in volume.bricks if b.server.path(f"{b.path}/{name}").exists())
