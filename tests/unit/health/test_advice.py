import re
import shlex
from dataclasses import replace

import pytest

from agent.health.advice import Situation, advise
from agent.model.mount import Obstacle, ObstacleKind, ProcessId
from agent.model.verdict import Verdict
from tests.unit.health.samples import BRICKS

BASE = Situation(
    name="model-share",
    path="/mnt/model-share",
    volume="model-store/sub",
    verdict=Verdict.HEALTHY,
    port=24007,
    client=ProcessId(4711, 1),
    client_log="/var/log/gluster-ml/share.log",
)


@pytest.mark.parametrize("verdict", Verdict)
def test_every_verdict_has_one_line_of_advice_and_healthy_needs_none(verdict: Verdict) -> None:
    advice = advise(replace(BASE, verdict=verdict))
    assert (advice == "") == (verdict is Verdict.HEALTHY)
    assert "\n" not in advice


@pytest.mark.parametrize("policy", ["report", "remount"])
def test_a_command_for_a_hung_mount_never_touches_its_path(policy: str) -> None:
    advice = advise(replace(BASE, verdict=Verdict.HUNG, hung_policy=policy))
    assert "/mnt/model-share" not in advice
    assert ("kill -9 4711" in advice) == (policy == "report")


def test_no_remount_is_advised_where_it_heals_by_itself() -> None:
    assert "don't remount" in advise(replace(BASE, verdict=Verdict.NO_QUORUM))


def test_commands_name_the_volume_without_its_subdirectory() -> None:
    advice = advise(replace(BASE, verdict=Verdict.NO_QUORUM))
    assert "gluster volume start model-store force" in advice
    assert "sub" not in advice


def test_degraded_by_bricks_and_without() -> None:
    by_brick = advise(replace(BASE, verdict=Verdict.DEGRADED, bricks=BRICKS))
    assert "heal model-store info" in by_brick
    assert "split-brain" in advise(replace(BASE, verdict=Verdict.DEGRADED))


def test_degraded_for_want_of_servers_speaks_of_them_alone() -> None:
    servers = (Obstacle(ObstacleKind.REFUSED, "node1"), Obstacle(ObstacleKind.REFUSED, "node2"))
    advice = advise(replace(BASE, verdict=Verdict.DEGRADED, obstacles=servers))
    assert "on node1, node2: systemctl status glusterd" in advice
    assert "split-brain" not in advice


@pytest.mark.parametrize(
    ("kind", "command"),
    [
        (ObstacleKind.UNRESOLVABLE, "getent hosts node1 'a b'"),
        (ObstacleKind.REFUSED, "systemctl status glusterd"),
        (ObstacleKind.SILENT, "TCP port 24008"),
        (ObstacleKind.NO_VOLUME, "gluster volume info model-store"),
        (ObstacleKind.NO_BRICK, "gluster volume start model-store"),
        (ObstacleKind.NOT_ALLOWED, "gluster volume get model-store"),
        (ObstacleKind.NO_DIRECTORY, "make the directory sub on"),
    ],
)
def test_what_is_in_the_way_of_a_mount_tells_what_to_do(kind: ObstacleKind, command: str) -> None:
    servers = (Obstacle(kind, "node1"), Obstacle(kind, "a b"))
    advice = advise(replace(BASE, verdict=Verdict.ABSENT, obstacles=servers, port=24008))
    assert advice.count(command) == 1
    assert "/var/log" not in advice


def test_servers_that_fail_in_several_ways_are_told_apart() -> None:
    kinds = (ObstacleKind.SILENT, ObstacleKind.UNRESOLVABLE, ObstacleKind.SILENT)
    mixed = tuple(Obstacle(kind, f"node{n}") for n, kind in enumerate(kinds, 1))
    advice = advise(replace(BASE, verdict=Verdict.ABSENT, obstacles=mixed))
    assert "check that node1, node3 run, " in advice
    assert "getent hosts node2" in advice


def test_new_options_tell_what_is_waited_for() -> None:
    stale = replace(BASE, verdict=Verdict.STALE_OPTIONS)
    assert advise(stale).endswith(
        "as soon as nothing uses it; who does: fuser -vm /mnt/model-share"
    )
    assert "umount /mnt/model-share" in advise(replace(stale, new_options="manual"))


def test_the_log_to_look_into_is_named() -> None:
    for verdict in (Verdict.ABSENT, Verdict.DEAD):
        advice = advise(replace(BASE, verdict=verdict))
        assert re.search(r"tail( -n 50)? /var/log/gluster-ml/share\.log;", advice)


@pytest.mark.parametrize("verdict", [Verdict.DEAD, Verdict.HUNG])
@pytest.mark.parametrize("client", [None, ProcessId(4711, 1)])
def test_no_remount_is_promised_of_a_mount_on_its_way_out(
    verdict: Verdict, client: ProcessId | None
) -> None:
    advice = advise(replace(BASE, verdict=verdict, client=client, removing=True))
    assert "unmounts" in advice
    assert "remount" not in advice


def test_odd_names_are_quoted_for_a_shell() -> None:
    log = "/var/log/it's; rm x.log"
    odd = replace(BASE, client_log=log, verdict=Verdict.DEAD)
    assert shlex.quote(log) in advise(odd)
