"""mount(8) that ends well with nothing mounted, and a mount that vanishes."""

from tests.lab import faults
from tests.lab.shell import until
from tests.lab.volume import Volume
from tests.system.agents import Agent, QuickAgent, config
from tests.system.training import REPLACED, training


def test_a_client_that_is_refused(agent: Agent, shared_volume: Volume) -> None:
    agent.configure(config(shared_volume.name))
    with faults.auth_refused(shared_volume):
        agent.start()
        assert "remote-error=Authentication failed" in await_cause(agent)
        assert agent.machine.entry("/mnt/a") is None
    agent.await_verdict("healthy")
    assert len(agent.machine.processes("glusterfs")) == 1
    assert agent.verdicts() == ["absent", "healthy"]


def test_a_name_that_no_volume_has(quick_agent: QuickAgent, shared_volume: Volume) -> None:
    quick_agent.configure(config(f"{shared_volume.name}x"))
    quick_agent.start()
    server_says = f"answers but gives no volume {shared_volume.name}x"
    until(lambda: server_says in str(quick_agent.mount().get("evidence")), 60, server_says)
    assert f"gluster volume info {shared_volume.name}x" in str(quick_agent.mount()["advice"])


def test_a_directory_of_the_volume_that_is_not_there(agent: Agent, shared_volume: Volume) -> None:
    directory = agent.machine.name  # which no other test has made
    agent.configure(config(f"{shared_volume.name}/{directory}"))
    agent.start()
    assert f'subdirectory for mount "/{directory}" is not found' in await_cause(agent)
    assert agent.machine.entry("/mnt/a") is None
    agent.machine.mount(f"node1:/{shared_volume.name}", "/mnt/whole")
    agent.machine.run(["mkdir", f"/mnt/whole/{directory}"])
    agent.await_verdict("healthy")
    assert agent.verdicts() == ["absent", "healthy"]


def test_a_client_that_is_refused_later_on(agent: Agent, shared_volume: Volume) -> None:
    agent.configure(config(shared_volume.name))
    agent.start()
    agent.await_verdict("healthy")
    with training(agent.machine, reopen=True, may_fail=REPLACED) as job:
        with faults.auth_refused(shared_volume):
            # Some clients end themselves, and then the mount vanishes from under the job.
            agent.await_verdict("absent", "no-quorum")
        agent.await_verdict("healthy")
        job.await_records(5)
    agent.stop()
    agent.machine.unmount("/mnt/a")
    assert agent.machine.run(["ls", "-A", "/mnt/a"]).stdout == ""


def await_cause(agent: Agent) -> str:
    """What the evidence quotes of the client's log."""

    def said() -> str:
        mount = agent.mount()
        assert mount.get("verdict") in (None, "absent")
        return str(mount.get("evidence", "")).partition("the client's log says: ")[2]

    return until(said, 60, "the evidence quotes the client's log")
