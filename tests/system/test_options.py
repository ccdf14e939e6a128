"""Options that change under a mount: pending while it is in use, applied when it is not."""

from pathlib import Path

import pytest

from tests.lab.host import Host
from tests.lab.shell import until
from tests.lab.volume import Volume
from tests.system.agents import UNIT, UnitAgent, config
from tests.system.training import training

OLD = "{attribute-timeout: 3, entry-timeout: 2}"
NEW = "{attribute-timeout: 7}"


def begin(agent: UnitAgent, volume: Volume, **changes: str) -> int:
    """A healthy mount with the old options; its client's pid."""
    agent.configure(config(volume.name, options=OLD, **changes))
    agent.start()
    return int(agent.await_verdict("healthy")["client_pid"])


def change(agent: UnitAgent, volume: Volume, **changes: str) -> None:
    """Write the file, and return when the agent has it in force."""
    known = len(agent.entries("config-accepted"))
    agent.configure(config(volume.name, **changes))
    agent.await_log("config-accepted", count=known + 1)


def arguments(host: Host) -> list[str]:
    """Of the newest client of the mount."""
    line = Path(f"/proc/{host.glusterfs('/mnt/a').pid}/cmdline").read_text()
    return line.split("\0")


def test_they_wait_for_the_job_without_noise_and_are_applied_then(
    bare_agent: UnitAgent, shared_volume: Volume
) -> None:
    client = begin(bare_agent, shared_volume)
    with training(bare_agent.machine) as job:
        change(bare_agent, shared_volume, options=NEW)
        seen = bare_agent.await_verdict("stale-options")
        (told,) = bare_agent.await_log("options-pending")
        assert "in use" in told.message
        assert seen["client_pid"] == client
        until(lambda: "in use by" in bare_agent.mount()["pending"], 30, "the job is named")
        assert "(python3" in bare_agent.mount()["pending"]
        assert bare_agent.command("status").returncode == 1
        assert bare_agent.command("wait", "a", "--timeout", "5s").returncode == 0
        mark = bare_agent.host.cursor()
        job.await_records(240)  # 12 s: more than one attempt to unmount
        assert len(bare_agent.entries("options-pending")) == 1
        noise = [str(entry.get("MESSAGE")) for entry in bare_agent.host.journal(after=mark)]
        assert [line for line in noise if "mount" in line] == []
    bare_agent.await_log("options-applied")
    after = bare_agent.await_verdict("healthy")
    assert after["client_pid"] != client
    assert after["pending"] == ""
    assert "--attribute-timeout=7" in arguments(bare_agent.host)
    assert bare_agent.verdicts() == ["healthy", "stale-options", "healthy"]
    assert bare_agent.entries("recovered") == []


def test_manual_waits_for_the_operator(bare_agent: UnitAgent, shared_volume: Volume) -> None:
    by_hand = "{new_options: manual}"
    client = begin(bare_agent, shared_volume, recovery=by_hand)
    change(bare_agent, shared_volume, recovery=by_hand, options=NEW)
    seen = bare_agent.await_verdict("stale-options")
    assert "manual" in seen["pending"]
    with training(bare_agent.machine) as job:
        job.await_records(60)
    assert bare_agent.mount()["client_pid"] == client
    assert bare_agent.entries("unmounted") == []
    bare_agent.machine.unmount("/mnt/a")
    after = bare_agent.await_verdict("healthy")
    assert after["client_pid"] != client
    assert "--attribute-timeout=7" in arguments(bare_agent.host)


def test_now_leaves_open_files_their_old_client(
    bare_agent: UnitAgent, shared_volume: Volume
) -> None:
    now = "{new_options: now}"
    client = begin(bare_agent, shared_volume, recovery=now)
    old = bare_agent.host.glusterfs("/mnt/a")
    with training(bare_agent.machine) as job:
        change(bare_agent, shared_volume, recovery=now, options=NEW)
        bare_agent.await_log("options-applied")
        assert bare_agent.await_verdict("healthy")["client_pid"] != client
        (holder,) = bare_agent.await_log("holders")
        assert "python3" in holder.message
        job.await_records(20)
        assert old in bare_agent.host.processes()
    until(lambda: old not in bare_agent.host.processes(), 30, "the old client has ended")


@pytest.mark.parametrize(
    "changes",
    [
        {"options": "{entry-timeout: 2, attribute-timeout: 3}"},
        {"options": OLD, "servers": "[node3, node2]"},
        {"options": OLD, "probe": "{interval: 2s, timeout: 4s}"},
    ],
    ids=["order", "servers", "probe"],
)
def test_no_remount_for_what_needs_none(
    bare_agent: UnitAgent,
    shared_volume: Volume,
    changes: dict[str, str],
    request: pytest.FixtureRequest,
) -> None:
    client = begin(bare_agent, shared_volume)
    with training(bare_agent.machine, reopen=True) as job:
        bare_agent.configure(config(shared_volume.name, **changes))
        if "order" in request.node.name:  # means the same, so there is nothing to accept
            job.await_records(40)
        else:
            bare_agent.await_log("config-accepted", count=2)
        job.await_records(40)
    assert bare_agent.mount()["client_pid"] == client
    assert bare_agent.verdicts() == ["healthy"]


def test_options_that_are_changed_back_were_never_changed(
    bare_agent: UnitAgent, shared_volume: Volume
) -> None:
    client = begin(bare_agent, shared_volume)
    with training(bare_agent.machine):
        change(bare_agent, shared_volume, options=NEW)
        bare_agent.await_log("options-pending")
        change(bare_agent, shared_volume, options=OLD)
        seen = bare_agent.await_verdict("healthy")
        assert (seen["client_pid"], seen["pending"]) == (client, "")
    assert bare_agent.verdicts() == ["healthy", "stale-options", "healthy"]
    assert bare_agent.entries("options-applied") == []


def test_options_changed_while_no_agent_ran(bare_agent: UnitAgent, shared_volume: Volume) -> None:
    client = begin(bare_agent, shared_volume)
    with training(bare_agent.machine):
        bare_agent.stop()
        bare_agent.configure(config(shared_volume.name, options=NEW))
        bare_agent.host.systemctl("start", UNIT)
        assert bare_agent.await_verdict("stale-options")["client_pid"] == client
    bare_agent.await_log("options-applied")
    assert bare_agent.await_verdict("healthy")["client_pid"] != client
