"""The acts of the demo: each begins a real fault, waits for what must follow, and measures it."""

import time
from typing import Any

from tests.demo.narrator import Narrator, journal_line
from tests.demo.witness import Job, Tally
from tests.lab import faults
from tests.lab.cluster import Cluster
from tests.lab.host import Host
from tests.lab.shell import until
from tests.lab.volume import Volume
from tests.system.agents import CONFIG, UNIT, UnitAgent

NAME = "model-share"
VOLUME = "model-store"
PATH = f"/mnt/{NAME}"
YAML = f"""\
mounts:
  {NAME}:
    volume: {VOLUME}
    servers: [node1, node2, node3]
    path: {PATH}
    options: {{log-level: WARNING}}
    probe: {{interval: 1s, timeout: 3s}}
"""
BROKEN = YAML.replace("log-level: WARNING", "log-level: WARNING, read-ahead: true").replace(
    "timeout: 3s", "timeuot: 3s"
)
STEP = 90.0
"""Seconds that any one step may take on a slow machine before the demo gives up."""


class Demo:
    """The stage: a cluster, a volume, one GPU host with the agent, and a job once it runs."""

    def __init__(self, lab: Cluster, narrator: Narrator) -> None:
        self.lab = lab
        self.say = narrator
        self.volume: Volume
        self.host: Host
        self.agent: UnitAgent
        self.job: Job

    def play(self) -> None:
        """All acts. Raises NotAsExpected, LabError, AssertionError."""
        self.stage()
        self.first_mount()
        self.client_killed()
        self.first_server_silent()
        self.no_quorum()
        self.client_frozen()
        self.agent_killed()
        self.broken_file()
        self.end()

    def stage(self) -> None:
        self.say.act("A cluster of three servers and one GPU host")
        began = time.monotonic()
        self.volume = self.lab.create_volume(VOLUME, replica=3)
        self.say.figure(f"volume {VOLUME}, three replicas", time.monotonic() - began)
        began = time.monotonic()
        self.host = self.lab.add_host()
        self.agent = UnitAgent(self.host)
        self.say.figure(f"{self.host.name} booted, systemd is its PID 1", time.monotonic() - began)

    def first_mount(self) -> None:
        self.say.act("The first mount")
        self.say.tell(f"{CONFIG}:")
        self.say.quote(YAML)
        self.agent.configure(YAML)
        began = time.monotonic()
        self.agent.start()
        self.say.figure("systemctl start gluster-ml-agent, until it is ready", _since(began))
        mount = self.agent.await_verdict("healthy", name=NAME, timeout=STEP)
        self.say.expect(f"{PATH} is healthy, 3 of 3 bricks, by {mount['server']}", true=True)
        self.job = Job(self.host, f"{PATH}/job/records")
        first = self.job.record_after(0.0, STEP)
        self.say.figure("a job starts; its first record is on the volume after", first.seconds)

    def client_killed(self) -> None:
        self.say.act("The client process of the mount is killed (-9)")
        before = self._client()
        moment = time.monotonic()
        faults.client_killed(self.host, PATH).begin()
        failure = self.job.failure_after(moment, STEP)
        back = self.job.record_after(failure.at, STEP)
        self.say.figure(f"the job's first error, {failure.failed}, after", failure.at - moment)
        self.say.figure("killed -> the job writes and reads again", back.ended - moment)
        mount = self._healthy()
        self.say.expect("another client serves the mount", true=mount["client_pid"] != before)
        self._told("recovered")

    def first_server_silent(self) -> None:
        self.say.act("The preferred server's host falls silent, and the client dies")
        client = self.lab.add_client()
        native = [f"node1:/{VOLUME}", PATH, "-o", "backup-volfile-servers=node2:node3"]
        client.run(["mkdir", "-p", PATH])
        with faults.silent(self.lab.server("node1")):
            moment = time.monotonic()
            mount = client.popen(["mount", "-t", "glusterfs", *native])
            faults.client_killed(self.host, PATH).begin()
            failure = self.job.failure_after(moment, STEP)
            back = self.job.record_after(failure.at, STEP)
            waiting = mount.poll() is None
            self.say.figure("killed -> works again, through another server", back.ended - moment)
            self.say.tell("(10 s of that the new client waits for the silent brick)")
            self.say.tell(
                "`mount` with the same servers, begun at the same moment elsewhere: "
                + ("still waiting" if waiting else "back, too")
            )
            server = until(self._backup_server, STEP, "mounted by node2 or node3")
            self.say.expect(f"mounted by {server}", true=True)
        self.lab.remove(client)
        mount.wait(30)
        moment = time.monotonic()
        self._healthy()
        self.say.figure("node1 is back -> healthy, all bricks, same client", _since(moment))

    def no_quorum(self) -> None:
        self.say.act("Two of three bricks are killed: nothing to mend on this host")
        before = self._client()
        moment = time.monotonic()
        fault = faults.bricks_killed(self.volume, self.volume.bricks[1:])
        fault.begin()
        failure = self.job.failure_after(moment, STEP)
        self.agent.await_verdict("no-quorum", name=NAME, timeout=STEP)
        self.say.figure(
            f"the job gets {failure.failed}; the verdict no-quorum after", _since(moment)
        )
        self.say.tell(f"the verdict's evidence: {self.agent.mount(NAME)['evidence']}")
        moment = time.monotonic()
        fault.end()
        back = self.job.record_after(moment, STEP)
        self.say.figure("bricks started -> the job writes and reads again", back.ended - moment)
        self._healthy()
        self._same_client(before)

    def client_frozen(self) -> None:
        self.say.act("The client is frozen, and thaws")
        before = self._client()
        moment = time.monotonic()
        with faults.client_frozen(self.host, PATH):
            mount = self.agent.await_verdict("slow", name=NAME, timeout=STEP)
            self.say.figure("frozen -> the verdict slow", _since(moment))
            self.say.tell(f"the verdict's evidence: {mount['evidence']}")
            thawed = time.monotonic()
        back = self.job.record_after(thawed, STEP)
        self.say.figure("thawed -> the job goes on", back.ended - thawed)
        self._healthy()
        self._same_client(before)
        failures = self.job.failures_since(moment)
        self.say.expect("not one call of the job failed", true=not failures, but=failures)

    def agent_killed(self) -> None:
        self.say.act("The agent itself is killed (-9)")
        before, pid = self._client(), self.agent.pid()
        moment = time.monotonic()
        self.agent.kill()
        until(lambda: self.agent.pid() not in (0, pid), STEP, "systemd starts another agent")
        self._healthy()
        self.say.figure("killed -> started by systemd, reports again", _since(moment))
        self._same_client(before)
        slowest = self.job.slowest_since(moment)
        failures = self.job.failures_since(moment)
        self.say.expect("not one call of the job failed", true=not failures, but=failures)
        self.say.figure("the slowest record meanwhile", slowest)

    def broken_file(self) -> None:
        self.say.act("A broken configuration is pushed")
        before = self._client()
        self.say.tell("/etc/gluster-ml/agent.yaml:")
        self.say.quote(BROKEN)
        self.agent.configure(BROKEN)
        rejected = self.agent.await_log("config-rejected", timeout=STEP)
        self.say.tell("the journal:")
        self.say.quote("\n".join(entry.message for entry in rejected))
        self.say.expect("each problem with its line", true=len(rejected) == 2, but=len(rejected))
        check = self.agent.command("check")
        self.say.expect("`gluster-ml-agent check` exits 1", true=check.returncode == 1)
        state = self.agent.status()["config"]["state"]
        self.say.expect("the old one stays in force", true=state == "rejected", but=state)
        self.agent.configure(YAML)
        self.say.tell("the file is put right")
        until(
            lambda: self.agent.status()["config"]["state"] == "valid", STEP, "the file is accepted"
        )
        self._healthy()
        self._same_client(before)

    def end(self) -> None:
        self.say.act("What is left to read")
        status = self.agent.command("status")
        self.say.tell("gluster-ml-agent status")
        self.say.quote(status.stdout)
        self.say.expect("exit 0: healthy", true=status.returncode == 0, but=status.returncode)
        journalctl = ["journalctl", "--no-pager", "--output=short-precise", f"--unit={UNIT}"]
        self.say.tell("journalctl -u gluster-ml-agent")
        lines = self.host.run([*journalctl, "--identifier=gluster-ml-agent"]).stdout.splitlines()
        self.say.quote("\n".join(map(journal_line, lines)))
        tally = self.job.finish(STEP)
        self.say.tell("the job has read all its records once more:")
        self._tally(tally)

    def _tally(self, tally: Tally) -> None:
        self.say.tell(f"{tally.written} records written, {tally.outages} outages")
        self.say.expect(
            "not one record is lost", true=tally.lost == 0, but=f"{tally.lost} records are gone"
        )

    def _client(self) -> int:
        return int(self._healthy()["client_pid"])

    def _healthy(self) -> dict[str, Any]:
        return self.agent.await_verdict("healthy", name=NAME, timeout=STEP)

    def _backup_server(self) -> str:
        """By which the agent says it has mounted; "" while that is the first one."""
        server = str(self.agent.mount(NAME).get("server", ""))
        return server if server in ("node2", "node3") else ""

    def _same_client(self, before: int) -> None:
        now = self.agent.mount(NAME)["client_pid"]
        self.say.expect(f"left alone: client {before} as before", true=now == before, but=now)

    def _told(self, event: str) -> None:
        """Quote the newest entry of that event."""
        entry = self.agent.await_log(event, timeout=STEP)[-1]
        self.say.quote(entry.message)


def _since(moment: float) -> float:
    return time.monotonic() - moment
