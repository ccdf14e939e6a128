"""mount(8) that ends well with nothing mounted, and a mount that vanishes."""

from tests.lab import faults
from tests.lab.volume import Volume
from tests.system.agents import Agent, config
from tests.system.training import training


def test_a_client_that_is_refused(agent: Agent, volume: Volume) -> None:
    agent.configure(config(volume.name))
    with faults.auth_refused(volume):
        agent.start()
        refused = agent.await_verdict("absent")
        print(refused["evidence"])
        assert "uthentication" in refused["evidence"]
        assert agent.machine.entry("/mnt/a") is None
    agent.await_verdict("healthy")
    assert len(agent.machine.processes("glusterfs")) == 1
    assert agent.verdicts() == ["absent", "healthy"]


def test_a_directory_of_the_volume_that_is_not_there(agent: Agent, volume: Volume) -> None:
    agent.configure(config(f"{volume.name}/datasets"))
    agent.start()
    missing = agent.await_verdict("absent")
    print(missing["evidence"])
    assert "datasets" in missing["evidence"].partition("log says")[2]
    agent.machine.mount(f"node1:/{volume.name}", "/mnt/whole")
    agent.machine.run(["mkdir", "/mnt/whole/datasets"])
    agent.await_verdict("healthy")
    assert agent.verdicts() == ["absent", "healthy"]


def test_a_client_that_is_refused_later_on(agent: Agent, volume: Volume) -> None:
    agent.configure(config(volume.name))
    agent.start()
    agent.await_verdict("healthy")
    with training(agent.machine, reopen=True) as job:
        with faults.auth_refused(volume):
            gone = agent.await_verdict("absent", "no-quorum")
            print(gone)
        agent.await_verdict("healthy")
        job.await_records(5)
        failures = {failure.error for failure in job.report().failures}
        print(failures)
    agent.machine.unmount("/mnt/a", lazy=True)
