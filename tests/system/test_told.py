"""What is told, and where: native journal fields, the catalog, systemd; no secret anywhere."""

import json
import time
from pathlib import Path

from tests.lab import faults
from tests.lab.shell import until
from tests.lab.volume import Volume
from tests.system.agents import UNIT, UnitAgent, config

SECRET = "hunter2-token"  # noqa: S105


def test_the_journal_has_native_fields_and_explains_itself(
    bare_agent: UnitAgent, shared_volume: Volume
) -> None:
    host = bare_agent.host
    host.run(["journalctl", "--update-catalog"])
    bare_agent.begin(config(shared_volume.name))
    with faults.client_killed(host, "/mnt/a"):
        bare_agent.await_log("recovered")
    entries = [e for e in host.journal(UNIT, bare_agent.cursor) if "GLUSTER_ML_EVENT" in e]
    dead = next(e for e in entries if e.get("GLUSTER_ML_VERDICT") == "dead")
    assert dead["GLUSTER_ML_MOUNT"] == "a"
    assert dead["GLUSTER_ML_EVENT"] == "verdict"
    assert dead["PRIORITY"] == "3"
    assert dead["_PID"] == str(bare_agent.pid())
    assert dead["SYSLOG_IDENTIFIER"] == "gluster-ml-agent"
    ids = {e["MESSAGE_ID"] for e in entries}
    explained = host.run(["journalctl", "--dump-catalog", *ids]).stdout
    assert all(f"-- {number}" in explained for number in ids)
    shown = host.run(
        ["journalctl", "-x", "--unit", UNIT, f"--after-cursor={bare_agent.cursor}"]
    ).stdout
    assert "Defined-By: gluster-ml-agent" in shown
    assert "The mount a" in shown


def test_no_process_arguments_and_no_secrets(bare_agent: UnitAgent, shared_volume: Volume) -> None:
    host = bare_agent.host
    now = "{new_options: now}"
    bare_agent.configure(config(shared_volume.name, recovery=now))
    bare_agent.start()
    bare_agent.await_verdict("healthy")
    holder = host.popen(["python3", "-c", HOLD, "/mnt/a/held", f"--token={SECRET}"])
    try:
        until(lambda: host.run(["ls", "/mnt/a/held"], check=False).returncode == 0, 30, "held")
        bare_agent.configure(config(shared_volume.name, recovery=now, options="{acl: true}"))
        (told,) = bare_agent.await_log("holders")
        assert "(python3, uid 0" in told.message
        until(lambda: bare_agent.mount()["holders"], 30, "the holder is in the status")
    finally:
        holder.kill()
        holder.wait(30)
    valid = config(shared_volume.name, options=f"{{password: {SECRET}}}", token=SECRET)
    for problems, bad in ((2, valid), (3, valid + f"    servers: [{SECRET}\n")):
        bare_agent.configure(bad)
        bare_agent.await_log("config-rejected", count=problems)
    everything = json.dumps(host.journal(after=bare_agent.cursor))
    everything += host.read("/run/gluster-ml/status.json") + bare_agent.command("status").stdout
    assert SECRET not in everything


HOLD = "import sys, time; f = open(sys.argv[1], 'w'); time.sleep(600)"


def test_foreign_text_is_escaped(bare_agent: UnitAgent, shared_volume: Volume) -> None:
    bare_agent.begin(config(shared_volume.name))
    evil = "lid\n\x1b[31mPRIORITY=0"
    bare_agent.machine.run(["mount", "-t", "tmpfs", evil, "/mnt/a"])
    bare_agent.await_verdict("foreign")
    (told,) = [e for e in bare_agent.entries("verdict") if e.verdict == "foreign"]
    assert "\n" not in told.message
    assert "\x1b" not in told.message
    assert "lid" in told.message
    assert "\x1b" not in bare_agent.command("status").stdout


def test_ready_comes_after_the_first_round(bare_agent: UnitAgent, shared_volume: Volume) -> None:
    bare_agent.configure(config(shared_volume.name))
    bare_agent.start()  # returns at READY=1
    assert bare_agent.verdict() == "healthy"
    text = bare_agent.host.unit(UNIT, "StatusText")["StatusText"]
    assert "healthy" in text
    bare_agent.machine.run(["mount", "-t", "tmpfs", "lid", "/mnt/a"])
    bare_agent.await_verdict("foreign")
    said = bare_agent.host.systemctl("status", UNIT, check=False)
    assert "foreign" in next(line for line in said.splitlines() if "Status:" in line)


def test_ready_does_not_wait_for_what_cannot_be_mounted(bare_agent: UnitAgent) -> None:
    bare_agent.configure(config("nosuch"))
    begun = time.monotonic()
    bare_agent.start()
    assert time.monotonic() - begun < 25
    assert bare_agent.verdict() == "absent"


def test_nobody_but_the_agent_can_speak_for_it(
    bare_agent: UnitAgent, shared_volume: Volume
) -> None:
    host = bare_agent.host
    bare_agent.begin(config(shared_volume.name))
    agent = host.process(bare_agent.pid())
    children = Path(f"/proc/{agent.pid}/task/{agent.pid}/children").read_text().split()
    assert children
    for pid in (*children, host.glusterfs("/mnt/a").pid):
        environment = Path(f"/proc/{pid}/environ").read_bytes()
        assert b"NOTIFY_SOCKET" not in environment
        assert b"WATCHDOG" not in environment
