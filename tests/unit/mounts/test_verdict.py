"""The verdict table of the contract, by plain values."""

import errno
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.model.mount import Client, ClientState, MountEntry, Obstacle, ObstacleKind, ProcessId
from agent.model.verdict import Verdict
from agent.mounts.facts import Facts, ProbeSeen, Wanted, hung_after
from agent.mounts.verdict import decide
from agent.protocol import GraphView, ProbeReply, Step

WANTED = Wanted(
    path="/mnt/a",
    volume="vol",
    subdir="",
    read_only=False,
    probe_timeout=10.0,
    hung_after=60.0,
    fingerprint="f1",
)
NOW = 1000.0
OURS = MountEntry(7, 1, 0, 81, "/", "/mnt/a", "rw", "fuse.glusterfs", "node1:/vol", "rw")
OTHER = replace(OURS, mount_id=8, minor=82, source="node1:/other")
TMPFS = replace(OURS, mount_id=9, minor=83, fstype="tmpfs", source="tmpfs")
GRAPH = GraphView(
    bricks=(("vol-client-0", "node1", "/b0", True), ("vol-client-1", "node2", "/b1", True)),
    subvolumes=(("vol-replicate-0", "cluster/replicate", True),),
    ping_timeout=42,
    version="10.3",
)
WORKS = ProbeReply(
    id=1,
    on_device=True,
    statvfs=Step("statvfs", 0),
    read=Step("read", 0),
    write=Step("write", 0),
    total=100,
    free=50,
    graph=GRAPH,
    seconds=0.002,
)
ALIVE = Client(ClientState.ALIVE, ProcessId(42, 4242))
HEALTHY = Facts(
    layers=(OURS,),
    client=ALIVE,
    probe=ProbeSeen(NOW - 1.0, NOW - 0.9, WORKS),
    write=Step("write", 0),
    fingerprint="f1",
    servers_reachable=True,
)


def verdict(facts: Facts, *, wanted: Wanted = WANTED, now: float = NOW) -> Verdict | None:
    judgement = decide(wanted, facts, 42, now)
    return judgement.verdict if judgement else None


def failing(step: str, number: int) -> Facts:
    """Healthy but for one step of the probe."""
    broken = Step(step, number)
    if step == "write":
        return replace(HEALTHY, write=broken)
    reply = replace(WORKS, statvfs=broken) if step == "statvfs" else replace(WORKS, read=broken)
    return replace(HEALTHY, probe=ProbeSeen(NOW - 1.0, NOW - 0.9, reply))


def test_healthy_says_what_was_proved() -> None:
    judgement = decide(WANTED, HEALTHY, 42, NOW)
    assert judgement is not None
    assert judgement.verdict is Verdict.HEALTHY
    assert "2 of 2 bricks" in judgement.evidence
    assert judgement.findings == ()


def test_paused_tells_what_is_observed_beside_it() -> None:
    judgement = decide(WANTED, replace(failing("write", errno.ENOSPC), paused=True), 42, NOW)
    assert judgement is not None
    assert (judgement.verdict, judgement.observed) == (Verdict.PAUSED, Verdict.FULL)


@pytest.mark.parametrize("layers", [(TMPFS,), (OTHER,), (OURS, TMPFS), (OURS, OTHER)])
def test_anything_else_on_top_is_foreign(layers: tuple[MountEntry, ...]) -> None:
    assert verdict(replace(HEALTHY, layers=layers)) is Verdict.FOREIGN


def test_a_second_layer_of_the_same_volume_is_a_finding_not_foreign() -> None:
    judgement = decide(WANTED, replace(HEALTHY, layers=(OURS, replace(OURS, minor=90))), 42, NOW)
    assert judgement is not None
    assert judgement.verdict is Verdict.HEALTHY
    assert "stacked" in judgement.findings[0]


def test_another_server_is_the_same_volume_but_another_subdir_is_not() -> None:
    assert verdict(replace(HEALTHY, layers=(replace(OURS, source="fd00::3:vol"),))) is (
        Verdict.HEALTHY
    )
    assert verdict(replace(HEALTHY, layers=(replace(OURS, source="node1:/vol/sub"),))) is (
        Verdict.FOREIGN
    )


def test_a_path_that_leads_elsewhere_is_foreign() -> None:
    hidden = replace(WORKS, on_device=False)
    facts = replace(HEALTHY, probe=ProbeSeen(NOW - 1, NOW, hidden))
    assert verdict(facts) is Verdict.FOREIGN


def test_a_stopped_client_is_told_with_its_cure() -> None:
    judgement = decide(
        WANTED, replace(HEALTHY, client_stopped_at=NOW - 11, pending_since=NOW - 11), 42, NOW
    )
    assert judgement is not None
    assert judgement.verdict is Verdict.SLOW
    assert ALIVE.process is not None
    assert f"is stopped: kill -CONT {ALIVE.process.pid} lets it go on" in judgement.evidence


def test_absent_names_the_last_failure() -> None:
    facts = Facts(layers=(), client=Client(ClientState.UNKNOWN), attempt_error="auth refused")
    judgement = decide(WANTED, facts, 42, NOW)
    assert judgement is not None
    assert judgement.verdict is Verdict.ABSENT
    assert "auth refused" in judgement.evidence


class TestDead:
    GONE = replace(HEALTHY, client=Client(ClientState.GONE, ALIVE.process), client_gone_at=NOW)

    def test_not_before_the_mount_confirms_it(self) -> None:
        assert verdict(self.GONE) is None

    def test_when_the_mount_confirms_it(self) -> None:
        reply = replace(WORKS, statvfs=Step("statvfs", errno.ENOTCONN))
        facts = replace(self.GONE, probe=ProbeSeen(NOW + 0.01, NOW + 0.02, reply))
        assert verdict(facts, now=NOW + 0.03) is Verdict.DEAD

    def test_when_nothing_answers(self) -> None:
        facts = replace(self.GONE, pending_since=NOW)
        assert verdict(facts, now=NOW + 1.1) is Verdict.DEAD

    def test_not_when_the_mount_works_without_that_process(self) -> None:
        facts = replace(self.GONE, probe=ProbeSeen(NOW + 0.01, NOW + 0.02, WORKS))
        assert verdict(facts, now=NOW + 2.0) is Verdict.HEALTHY

    def test_an_aborted_connection_of_a_stopped_client(self) -> None:
        reply = replace(WORKS, statvfs=Step("statvfs", errno.ENOTCONN))
        facts = replace(
            HEALTHY, client_stopped_at=NOW - 5, probe=ProbeSeen(NOW - 1, NOW - 0.9, reply)
        )
        assert verdict(facts) is Verdict.DEAD
        before = replace(facts, client_stopped_at=NOW - 0.5)
        assert verdict(before) is None

    def test_107_alone_is_no_death(self) -> None:
        assert verdict(failing("statvfs", errno.ENOTCONN)) is Verdict.NO_QUORUM
        assert verdict(replace(failing("read", errno.ENOTCONN), identifying=True)) is None
        unknown = Client(ClientState.UNKNOWN)
        facts = replace(failing("statvfs", errno.ENOTCONN), client=unknown)
        assert verdict(facts) is Verdict.NO_QUORUM


@pytest.mark.parametrize(
    ("late", "expected"),
    [(9.9, Verdict.HEALTHY), (10.0, Verdict.SLOW), (59.9, Verdict.SLOW), (60.0, Verdict.HUNG)],
)
def test_late_is_slow_then_hung(late: float, expected: Verdict) -> None:
    assert verdict(replace(HEALTHY, pending_since=NOW - late)) is expected


def test_no_verdict_before_the_first_answer_or_its_lateness() -> None:
    facts = replace(HEALTHY, probe=None, pending_since=NOW - 9)
    assert verdict(facts) is None
    assert verdict(facts, now=NOW + 1) is Verdict.SLOW


def test_hung_after_auto_follows_the_volumes_ping_timeout() -> None:
    auto = replace(WANTED, hung_after=None)
    assert hung_after(auto, 42) == 114.0
    assert hung_after(auto, 10) == 50.0
    assert hung_after(WANTED, 42) == 60.0


@pytest.mark.parametrize(
    ("step", "number", "expected"),
    [
        ("read", errno.ENOTCONN, Verdict.NO_QUORUM),
        ("write", errno.ENOTCONN, Verdict.NO_QUORUM),
        ("write", errno.ENOSPC, Verdict.FULL),
        ("write", errno.EDQUOT, Verdict.FULL),
        ("write", errno.EROFS, Verdict.READ_ONLY),
        ("write", errno.EIO, Verdict.DEGRADED),
        ("read", errno.EIO, Verdict.DEGRADED),
        ("statvfs", errno.EACCES, Verdict.DEGRADED),
    ],
)
def test_errno_of_a_step(step: str, number: int, expected: Verdict) -> None:
    judgement = decide(WANTED, failing(step, number), 42, NOW)
    assert judgement is not None
    assert judgement.verdict is expected
    assert errno.errorcode[number] in judgement.evidence


@pytest.mark.parametrize(
    ("number", "user", "why"),
    [
        (errno.EACCES, 0, "the volume squashes root (server.root-squash)"),
        (errno.EPERM, 0, "root may not, as the directory is another's or the volume squashes root"),
        (errno.EACCES, 65534, "the agent does not run as root, but as user 65534"),
        (errno.EPERM, 65534, "the agent does not run as root, but as user 65534"),
    ],
)
def test_a_refused_write_is_a_finding(number: int, user: int, why: str) -> None:
    judgement = decide(WANTED, replace(failing("write", number), user=user), 42, NOW)
    assert judgement is not None
    assert judgement.verdict is Verdict.HEALTHY
    (finding,) = judgement.findings
    assert finding.endswith(f"({errno.errorcode[number]}): {why}, so writing can't be probed")


def test_a_read_only_mount_is_not_judged_by_writes() -> None:
    wanted = replace(WANTED, read_only=True)
    assert verdict(failing("write", errno.EROFS), wanted=wanted) is Verdict.HEALTHY


def test_stale_options_only_of_the_agents_own_mount() -> None:
    assert verdict(replace(HEALTHY, fingerprint="f0")) is Verdict.STALE_OPTIONS
    assert verdict(replace(HEALTHY, fingerprint=None)) is Verdict.HEALTHY


def test_degraded_by_bricks_or_servers() -> None:
    down = replace(GRAPH, bricks=(GRAPH.bricks[0], ("vol-client-1", "node2", "/b1", False)))
    facts = replace(HEALTHY, probe=ProbeSeen(NOW - 1, NOW, replace(WORKS, graph=down)))
    judgement = decide(WANTED, facts, 42, NOW)
    assert judgement is not None
    assert judgement.verdict is Verdict.DEGRADED
    assert "1 of 2 bricks not connected: node2:/b1" in judgement.evidence
    refused = (Obstacle(ObstacleKind.REFUSED, "node1"),)
    unreachable = replace(HEALTHY, servers_reachable=False, obstacles=refused)
    by_servers = decide(WANTED, unreachable, 42, NOW)
    assert by_servers is not None
    assert (by_servers.verdict, by_servers.obstacles) == (Verdict.DEGRADED, refused)
    both = decide(WANTED, replace(unreachable, probe=facts.probe), 42, NOW)
    assert both is not None
    assert both.obstacles == ()
    assert verdict(replace(HEALTHY, servers_reachable=None)) is Verdict.HEALTHY


ERRNOS = st.sampled_from(
    [0, errno.ENOTCONN, errno.ECONNABORTED, errno.ENOSPC, errno.EROFS, errno.EIO, errno.EACCES]
)


@given(
    layers=st.lists(st.sampled_from([OURS, OTHER, TMPFS]), max_size=3).map(tuple),
    statvfs=ERRNOS,
    read=ERRNOS,
    write=ERRNOS,
    stopped=st.sampled_from([None, NOW - 5, NOW]),
    late=st.sampled_from([None, 1.0, 20.0, 100.0]),
    fingerprint=st.sampled_from([None, "f1", "f0"]),
)
def test_a_live_client_that_runs_is_never_dead(
    layers: tuple[MountEntry, ...],
    statvfs: int,
    read: int,
    write: int,
    stopped: float | None,
    late: float | None,
    fingerprint: str | None,
) -> None:
    reply = replace(WORKS, statvfs=Step("statvfs", statvfs), read=Step("read", read))
    facts = Facts(
        layers=layers,
        client=ALIVE,
        probe=ProbeSeen(NOW - 1, NOW - 0.9, reply),
        write=Step("write", write),
        pending_since=None if late is None else NOW - late,
        client_stopped_at=stopped,
        fingerprint=fingerprint,
    )
    found = decide(WANTED, facts, 42, NOW)
    assert (found is not None and found.evidence) or stopped is not None
    if stopped is None and found is not None:
        assert found.verdict is not Verdict.DEAD


def test_silence_is_no_proof_of_death_where_only_a_record_names_the_client() -> None:
    gone = Client(ClientState.GONE, ProcessId(42, 4242))
    late = replace(HEALTHY, client=gone, probe=None, client_gone_at=NOW - 5, pending_since=NOW - 5)
    assert verdict(late) is Verdict.DEAD
    unsure = replace(late, client_certain=False)
    assert verdict(unsure) is None
    assert verdict(replace(unsure, pending_since=NOW - 11)) is Verdict.SLOW
    answered = replace(WORKS, statvfs=Step("statvfs", errno.ENOTCONN))
    told = replace(unsure, pending_since=None, probe=ProbeSeen(NOW - 1, NOW - 1, answered))
    assert verdict(told) is Verdict.DEAD


@pytest.mark.parametrize("gone_at", [None, NOW - 300])
def test_an_old_answer_does_not_stand_where_no_new_one_can_be_had(gone_at: float | None) -> None:
    state = ClientState.GONE if gone_at else ClientState.ALIVE
    blind = replace(
        HEALTHY,
        client=Client(state, ProcessId(42, 4242)),
        probe=ProbeSeen(NOW - 301, NOW - 301, WORKS),
        client_gone_at=gone_at,
        blind_since=NOW - 300,
        blind_why="worker probe of a ended",
    )
    judgement = decide(WANTED, blind, 42, NOW)
    assert judgement is not None
    assert judgement.verdict is Verdict.SLOW
    assert "worker probe of a ended" in judgement.evidence
    assert verdict(replace(blind, blind_since=NOW - 5)) is (None if gone_at else Verdict.HEALTHY)
