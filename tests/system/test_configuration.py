"""Whatever happens to the file: what was in force stays, until a valid one is there."""

import os
import time
from collections.abc import Callable
from typing import Any

import pytest

from tests.lab import faults
from tests.lab.host import Host
from tests.lab.shell import until
from tests.lab.volume import Volume
from tests.system.agents import CONFIG, UNIT, UnitAgent, config
from tests.system.training import REPLACED, training

MOUNT = "    volume: vol1\n    servers: [node1]\n"
HEAD = "mounts:\n  a:\n"

BROKEN = {
    "empty": ("", "is empty"),
    "comments": ("# nothing\n\n# at all\n", "only comments"),
    "null mounts": ("mounts:\n", "agent.yaml:1:"),
    "null": ("null\n", "only comments or null"),
    "half written": (f"{HEAD}    volume: vol1\n    servers: [node1, no", "agent.yaml:4:"),
    "no path": (HEAD + MOUNT, "agent.yaml:"),
    "unknown key": (f"{HEAD}{MOUNT}    path: /mnt/a\n    gaurd: true\n", "agent.yaml:6:5:"),
    "duplicate key": (f"{HEAD}{MOUNT}    path: /mnt/a\n    path: /mnt/b\n", "agent.yaml:6:5:"),
    "bare number": (
        f"{HEAD}{MOUNT}    path: /mnt/a\n    probe: {{interval: 5}}\n",
        "agent.yaml:6:23:",
    ),
    "sexagesimal": (
        f"{HEAD}{MOUNT}    path: /mnt/a\n    probe: {{interval: 1:30}}\n",
        "agent.yaml:6:23:",
    ),
    "tab": (f"{HEAD}{MOUNT}\tpath: /mnt/a\n", "agent.yaml:5:"),
    "list": ("- mounts\n", "agent.yaml:1:1:"),
    "not utf-8": ("mounts: {\udcff\udcfe: 1}\n", "agent.yaml:1:"),
    "nul": ("mounts: {}\n\0", "agent.yaml:2:"),
    "two documents": ("mounts: {}\n---\nmounts: {}\n", "agent.yaml:"),
    "merge conflict": (
        f"<<<<<<< HEAD\n{HEAD}{MOUNT}=======\nmounts: {{}}\n>>>>>>> x\n",
        "agent.yaml:",
    ),
    "template": ("mounts: {{ gluster_mounts }}\n", "agent.yaml:1:"),
    "port at a server": (
        f"{HEAD}    volume: vol1\n    servers: ['node1:24007']\n    path: /mnt/a\n",
        "agent.yaml:4:15:",
    ),
    "volume option": (
        f"{HEAD}{MOUNT}    path: /mnt/a\n    options: {{read-ahead: true}}\n",
        "agent.yaml:6:15:",
    ),
    "relative path": (f"{HEAD}{MOUNT}    path: mnt/a\n", "agent.yaml:5:11:"),
    "forbidden path": (f"{HEAD}{MOUNT}    path: /usr\n", "agent.yaml:5:11:"),
    "one path twice": (
        f"{HEAD}{MOUNT}    path: /mnt/a\n  b:\n{MOUNT}    path: /mnt/a\n",
        "agent.yaml:9:11:",
    ),
    "scalar": ("mounts\n", "agent.yaml:1:1:"),
    "flow not closed": ("mounts: {a: {volume: v\n", "agent.yaml:"),
}


def save(host: Host, text: str) -> None:
    """As an editor does: the bytes first, under another name."""
    host.path("/etc/gluster-ml/.new").write_bytes(text.encode(errors="surrogateescape"))
    host.run(["mv", "/etc/gluster-ml/.new", CONFIG])


def in_place(host: Host, text: str) -> None:
    host.write(CONFIG, text)


def cp(host: Host, text: str) -> None:
    host.write("/etc/gluster-ml/staged", text)
    host.run(["cp", "/etc/gluster-ml/staged", CONFIG])


def sed(host: Host, text: str) -> None:
    interval = text.partition("interval: ")[2][:2]
    host.run(["sed", "-i", f"s/interval: ../interval: {interval}/", CONFIG])


def in_two_halves(host: Host, text: str) -> None:
    half = len(text) // 2
    host.write(CONFIG, text[:half])
    with host.path(CONFIG).open("a") as file:
        file.write(text[half:])


def symlink_swap(host: Host, text: str) -> None:
    """As a ConfigMap volume is updated: `..data` is the only thing that is replaced."""
    folder = "/etc/gluster-ml"
    version = f"..v{len(os.listdir(host.path(folder)))}"
    host.write(f"{folder}/{version}/agent.yaml", text)
    host.run(["ln", "-sfn", version, f"{folder}/..new"])
    host.run(["mv", "-T", f"{folder}/..new", f"{folder}/..data"])
    if not host.path(CONFIG).is_symlink():
        host.run(["ln", "-sfn", "..data/agent.yaml", CONFIG])


def settings(agent: UnitAgent) -> dict[str, Any]:
    return dict(agent.status().get("config", {}))


def healthy(agent: UnitAgent, volume: Volume) -> dict[str, Any]:
    agent.configure(config(volume.name))
    agent.start()
    return agent.await_verdict("healthy")


def await_state(agent: UnitAgent, state: str) -> list[str]:
    """Until the configuration is in that state; its errors."""
    until(lambda: settings(agent).get("state") == state, 30, f"the configuration is {state}")
    return list(settings(agent)["errors"])


def test_a_file_that_is_broken_or_gone_changes_nothing(
    bare_agent: UnitAgent, shared_volume: Volume
) -> None:
    before = healthy(bare_agent, shared_volume)
    good = config(shared_volume.name)
    with training(bare_agent.machine) as job:
        for name, (text, place) in BROKEN.items():
            old = settings(bare_agent)["errors"]
            save(bare_agent.host, text)
            until(lambda old=old: settings(bare_agent)["errors"] != old, 30, f"{name} is seen")  # type: ignore[misc]
            errors = await_state(bare_agent, "rejected")
            assert any(place in line for line in errors), (name, errors)
            told = [entry.message for entry in bare_agent.entries("config-rejected")]
            assert told[-len(errors) :] == errors, name
        bare_agent.host.run(["rm", CONFIG])
        until(lambda: "is not there" in str(settings(bare_agent)["errors"]), 30, "it is missed")
        text = bare_agent.command("status").stdout
        assert "is not there" in text
        seen = bare_agent.mount()
        assert (seen["verdict"], seen["client_pid"]) == ("healthy", before["client_pid"])
        save(bare_agent.host, good)
        assert await_state(bare_agent, "valid") == []
        job.await_records(5)
    assert bare_agent.verdicts() == ["healthy"]
    # Back to what was in force: said once, and nothing was done for it.
    assert len(bare_agent.entries("config-accepted")) == 2
    assert len(bare_agent.entries("mounted")) == 1


@pytest.mark.parametrize(
    "way", [save, in_place, cp, sed, in_two_halves, symlink_swap], ids=lambda f: f.__name__
)
def test_every_way_to_save_is_seen_and_applied_once(
    bare_agent: UnitAgent, shared_volume: Volume, way: Callable[[Host, str], None]
) -> None:
    before = healthy(bare_agent, shared_volume)
    with training(bare_agent.machine):
        for number in (2, 3):
            text = config(shared_volume.name, probe=f"{{interval: {number}s, timeout: 9s}}")
            if way is sed and number == 2:
                save(bare_agent.host, text)
            else:
                way(bare_agent.host, text)
            bare_agent.await_log("config-accepted", count=number)
    assert await_state(bare_agent, "valid") == []
    assert len(bare_agent.entries("config-accepted")) == 3
    assert bare_agent.entries("config-rejected") == []
    assert bare_agent.mount()["client_pid"] == before["client_pid"]


def test_without_inotify_the_file_is_polled(bare_agent: UnitAgent, shared_volume: Volume) -> None:
    # The kernel's limit is the whole machine's; to the agent it looks just like this.
    bare_agent.drop_in(
        "[Service]\nSystemCallFilter=~inotify_init inotify_init1\nSystemCallErrorNumber=EMFILE\n"
    )
    bare_agent.configure(config(shared_volume.name))
    bare_agent.start()
    bare_agent.await_verdict("healthy")
    descriptors = f"/proc/{bare_agent.machine.process(bare_agent.pid()).pid}/fd"
    links = {os.readlink(f"{descriptors}/{name}") for name in os.listdir(descriptors)}
    assert "anon_inode:inotify" not in links
    bare_agent.configure("mounts: {}\n")
    bare_agent.await_log("unmounted")


def test_broken_at_boot_the_last_good_one_serves(
    bare_agent: UnitAgent, shared_volume: Volume
) -> None:
    healthy(bare_agent, shared_volume)
    bare_agent.stop()
    with training(bare_agent.machine, reopen=True, may_fail=REPLACED) as job:
        bare_agent.machine.unmount("/mnt/a", lazy=True)
        job.await_failure("EPERM")  # the guard outlives the agent
        save(bare_agent.host, "mounts:\n  a:\n    volume: [\n")
        bare_agent.start()
        bare_agent.await_verdict("healthy")
        job.await_records(5)
    errors = await_state(bare_agent, "last-good")
    assert any("agent.yaml:4:" in line or "agent.yaml:3:" in line for line in errors)
    assert bare_agent.command("status").returncode in (0, 1)
    (told,) = bare_agent.entries("config-last-good")
    assert "mounts a" in told.message
    save(bare_agent.host, config(shared_volume.name))
    assert await_state(bare_agent, "valid") == []
    assert len(bare_agent.entries("mounted")) == 2


def test_a_file_on_a_mount_that_hangs_is_not_touched(
    bare_agent: UnitAgent, shared_volume: Volume
) -> None:
    """A link onto the very mount: running and at its start the agent does without the file."""
    host = bare_agent.host
    healthy(bare_agent, shared_volume)
    before, text = bare_agent.pid(), host.read(CONFIG)
    host.write("/mnt/a/agent.yaml", text)
    host.run(["ln", "-sfn", "/mnt/a/agent.yaml", CONFIG])
    (error,) = await_state(bare_agent, "rejected")
    assert "leads onto the mount at /mnt/a" in error
    with faults.client_frozen(host, "/mnt/a"):
        bare_agent.await_verdict("slow", "hung")
        assert bare_agent.command("wait", "a", "--timeout", "1s").returncode == 1
        bare_agent.stop()
        bare_agent.start()
        assert await_state(bare_agent, "last-good") == [error]
        assert bare_agent.pid() not in (0, before)
    bare_agent.await_verdict("healthy")
    host.run(["rm", CONFIG, "/mnt/a/agent.yaml"])
    host.write(CONFIG, text)
    await_state(bare_agent, "valid")


def test_broken_at_boot_with_no_last_good_one_nothing_is_touched(
    bare_agent: UnitAgent, shared_volume: Volume
) -> None:
    before = healthy(bare_agent, shared_volume)
    with training(bare_agent.machine) as job:
        bare_agent.stop()
        save(bare_agent.host, "")
        bare_agent.machine.run(["sh", "-c", "rm /var/lib/gluster-ml/*.yaml"])
        bare_agent.start()
        assert await_state(bare_agent, "rejected") != []
        job.await_records(40)
    save(bare_agent.host, config(shared_volume.name))
    assert bare_agent.await_verdict("healthy")["client_pid"] == before["client_pid"]
    assert len(bare_agent.entries("mounted")) == 1


def test_none_unmounts_what_is_idle(bare_agent: UnitAgent, shared_volume: Volume) -> None:
    healthy(bare_agent, shared_volume)
    in_place(bare_agent.host, "mounts: {}\n")
    bare_agent.await_log("forgotten")
    assert bare_agent.machine.entry("/mnt/a") is None
    until(lambda: bare_agent.status()["mounts"] == {}, 10, "the mount left the status")


def test_none_waits_for_what_is_busy_also_after_a_restart(
    bare_agent: UnitAgent, shared_volume: Volume
) -> None:
    healthy(bare_agent, shared_volume)
    with training(bare_agent.machine) as job:
        in_place(bare_agent.host, "mounts: {}\n")
        bare_agent.await_log("removal-pending")
        bare_agent.host.systemctl("restart", UNIT)
        bare_agent.await_log("removal-pending", count=2)
        until(lambda: bare_agent.mount().get("removing"), 10, "the status tells it")
        job.await_records(20)
    bare_agent.await_log("unmounted")
    bare_agent.await_log("forgotten")
    assert bare_agent.machine.entry("/mnt/a") is None


def test_taken_out_while_no_agent_ran(bare_agent: UnitAgent, shared_volume: Volume) -> None:
    healthy(bare_agent, shared_volume)
    bare_agent.stop()
    bare_agent.configure("mounts: {}\n")
    begun = time.monotonic()
    bare_agent.start()
    assert time.monotonic() - begun < 10  # it is ready once that is done
    bare_agent.await_log("forgotten")
    assert bare_agent.machine.entry("/mnt/a") is None


def test_another_name_keeps_everything(bare_agent: UnitAgent, shared_volume: Volume) -> None:
    before = healthy(bare_agent, shared_volume)
    with training(bare_agent.machine, reopen=True):
        bare_agent.command("pause", "a", check=True)
        paused = bare_agent.await_verdict("paused")
        in_place(bare_agent.host, config(shared_volume.name).replace("  a:\n", "  b:\n", 1))
        after = bare_agent.await_verdict("paused", name="b")
        assert after["client_pid"] == before["client_pid"]
        assert after["since"] == paused["since"]
        assert bare_agent.verdicts("b") == []
        assert list(bare_agent.status()["mounts"]) == ["b"]
        bare_agent.stop()
        in_place(bare_agent.host, config(shared_volume.name).replace("  a:\n", "  c:\n", 1))
        bare_agent.start()  # renamed while no agent ran
        bare_agent.await_verdict("paused", name="c")
        bare_agent.command("resume", "c", check=True)
        bare_agent.await_verdict("healthy", name="c")
    assert len(bare_agent.entries("mounted")) == 1


def test_an_idle_agent_picks_up_the_first_edit(
    bare_agent: UnitAgent, shared_volume: Volume
) -> None:
    bare_agent.configure("# as installed\nmounts: {}\n")
    bare_agent.start()
    pid = bare_agent.pid()
    said = bare_agent.host.unit(UNIT, "StatusText")["StatusText"]
    assert "no mount" in said
    bare_agent.configure(config(shared_volume.name))
    bare_agent.await_verdict("healthy")
    assert bare_agent.pid() == pid


def test_reload_returns_when_the_file_is_in_force(
    bare_agent: UnitAgent, shared_volume: Volume
) -> None:
    healthy(bare_agent, shared_volume)
    bare_agent.configure(config(shared_volume.name, options="{acl: true}"))
    bare_agent.host.systemctl("reload", UNIT)
    assert len(bare_agent.entries("config-accepted")) == 2
    assert bare_agent.host.unit(UNIT, "ActiveState")["ActiveState"] == "active"
    bare_agent.await_log("options-applied")
    assert len(bare_agent.entries("config-accepted")) == 2
