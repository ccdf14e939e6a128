"""What the probe's write says about a volume that works but for one thing."""

from collections.abc import Callable

from tests.lab import faults
from tests.lab.jobs import RunningJob
from tests.lab.shell import until
from tests.lab.volume import Volume
from tests.system.agents import UnitAgent, config

StartJob = Callable[..., RunningJob]


def test_full_bricks(
    bare_agent: UnitAgent, make_volume: Callable[..., Volume], start_job: StartJob
) -> None:
    # Replicas that fill up one after the other lose what the job was promised, agent or not.
    volume = make_volume(bricks=1, brick_size="64M")
    bare_agent.configure(config(volume.name))
    bare_agent.start()
    bare_agent.await_verdict("healthy")
    job = start_job()
    with faults.brick_full(volume.bricks[0]):
        seen = bare_agent.await_verdict("full")
        assert "ENOSPC" in seen["evidence"]
        assert bare_agent.command("status").returncode == 2
        until(lambda: "ENOSPC" in {f.error for f in job.report().failures}, 30, "the job sees it")
    bare_agent.await_verdict("healthy")
    job.await_records(5)
    assert job.stop().missing == 0
    assert bare_agent.verdicts() == ["healthy", "full", "healthy"]


def test_a_quota_that_is_used_up(bare_agent: UnitAgent, make_volume: Callable[..., Volume]) -> None:
    volume = make_volume(replica=3)
    server = volume.bricks[0].server
    server.gluster("volume", "quota", volume.name, "enable")
    for key, value in (("soft-timeout", "0"), ("hard-timeout", "0")):
        server.gluster("volume", "quota", volume.name, key, value)
    server.gluster("volume", "quota", volume.name, "limit-usage", "/", "1MB")
    bare_agent.configure(config(volume.name))
    bare_agent.start()
    bare_agent.await_verdict("healthy")
    dd = ["dd", "if=/dev/zero", "of=/mnt/a/filler", "bs=64k", "count=64", "conv=fsync"]

    def used_up() -> bool:
        return "quota exceeded" in bare_agent.machine.run(dd, check=False).stderr

    until(used_up, 30, "the quota holds")
    seen = bare_agent.await_verdict("full", timeout=90)
    assert "EDQUOT" in seen["evidence"]


def test_a_read_only_volume(bare_agent: UnitAgent, shared_volume: Volume) -> None:
    with faults.read_only(shared_volume):
        bare_agent.configure(config(shared_volume.name))
        bare_agent.start()
        seen = bare_agent.await_verdict("read-only")
        assert "EROFS" in seen["evidence"]
        assert bare_agent.command("status").returncode == 2
    bare_agent.await_verdict("healthy")
    assert bare_agent.verdicts() == ["read-only", "healthy"]


def test_a_mount_that_is_to_be_read_only_is_never_written_to(
    bare_agent: UnitAgent, shared_volume: Volume
) -> None:
    with faults.read_only(shared_volume):
        bare_agent.configure(config(shared_volume.name, options="{ro: true}"))
        bare_agent.start()
        bare_agent.await_verdict("healthy")
    assert bare_agent.command("status").returncode == 0
    assert bare_agent.verdicts() == ["healthy"]
    entry = bare_agent.machine.entry("/mnt/a")
    assert entry is not None
    assert entry[5].startswith("ro")


def test_errors_of_the_volume(bare_agent: UnitAgent, shared_volume: Volume) -> None:
    # error-gen of 10.3 draws among EBADF, EINVAL, EIO and the like, whatever error-number says.
    with faults.failing(shared_volume, ["fsync"]):
        bare_agent.configure(config(shared_volume.name))
        bare_agent.start()
        until(lambda: "(EIO)" in bare_agent.mount().get("evidence", ""), 120, "the probe got EIO")
        seen = [e for e in bare_agent.entries("verdict") if "(EIO)" in e.message]
        assert {e.verdict for e in seen} <= {"degraded"}
        assert bare_agent.command("wait", "a", "--timeout", "5s").returncode == 0
    bare_agent.await_verdict("healthy")


def test_root_squash_is_a_finding(bare_agent: UnitAgent, shared_volume: Volume) -> None:
    with faults.root_squashed(shared_volume):
        bare_agent.configure(config(shared_volume.name))
        bare_agent.start()
        seen = bare_agent.await_verdict("healthy")
        (finding,) = bare_agent.await_log("finding")
    assert "squashes root" in finding.message
    assert seen["findings"] == [finding.message]
    assert bare_agent.command("status").returncode == 0


def test_one_brick_of_a_distribute_volume_down(
    bare_agent: UnitAgent, make_volume: Callable[..., Volume], start_job: StartJob
) -> None:
    volume = make_volume(bricks=3)
    bare_agent.configure(config(volume.name))
    bare_agent.start()
    bare_agent.await_verdict("healthy")
    job = start_job()
    name = bare_agent.machine.run(["ls", "/mnt/a"]).stdout.split()[0]
    victim = next(b for b in volume.bricks if not b.server.path(f"{b.path}/{name}").exists())
    with faults.bricks_killed(volume, [victim]):
        seen = bare_agent.await_verdict("degraded")
        assert victim.label in seen["evidence"]
        job.await_records(400)  # 20 s: as many probes, one of which may be a write
        assert bare_agent.verdicts() == ["healthy", "degraded"]
    bare_agent.await_verdict("healthy")
    report = job.stop()
    assert (report.missing, report.failures) == (0, [])
    assert bare_agent.verdicts() == ["healthy", "degraded", "healthy"]
