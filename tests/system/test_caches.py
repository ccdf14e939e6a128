"""Real libraries on two hosts, for two users of one group: one cache on the volume."""

import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.lab import base
from tests.lab.cell import Inside
from tests.lab.cluster import Cluster
from tests.lab.host import Host
from tests.lab.shell import finish
from tests.lab.volume import Volume
from tests.system import hub, libraries
from tests.system.agents import UnitAgent, config

PORT = 8123
ENVIRONMENT = "{HF_HUB_CACHE: cache/huggingface/hub, MODELSCOPE_CACHE: cache/modelscope}"
HUGGINGFACE = "from huggingface_hub import hf_hub_download as get; print(get('org/model', '{0}'))"
MODELSCOPE = "from modelscope import snapshot_download as get; print(get('org/model') + '/{0}')"
DOWNLOAD = 180.0
"""Seconds; importing the libraries takes most of it on a busy machine."""


@dataclass(frozen=True)
class User:
    """Somebody with a login on a host."""

    name: str
    host: Host

    def downloads(self, program: str) -> Inside:
        """Get the model in a login shell; prints where it is."""
        endpoint = f"http://node1:{PORT}"
        job = [
            f"export HF_ENDPOINT={endpoint} HF_HUB_DISABLE_TELEMETRY=1",
            f"export MODELSCOPE_ENDPOINT={endpoint} MODELSCOPE_DOMAIN=node1:{PORT}",
            f'exec {libraries.python()} -c "{program.format(hub.FILE)}"',
        ]
        command = ["su", "--login", self.name, "-c", "; ".join(job)]
        return self.host.popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE)


@pytest.fixture(scope="module")
def users(cluster: Cluster, shared_host: Host, shared_volume: Volume) -> Iterator[list[User]]:
    """alice on one host and bob on another, of the group ml; the mounts are healthy."""
    if cluster.release != base.RELEASE:
        pytest.skip(f"the libraries are installed for the python3 of {base.RELEASE}")
    other = cluster.add_host()
    agents = [UnitAgent(host) for host in (shared_host, other)]
    for agent in agents:
        host = agent.host
        host.run(["groupadd", "--gid=20000", "ml"])
        for uid, name in ((20001, "alice"), (20002, "bob")):
            host.run(["useradd", "--create-home", f"--uid={uid}", "--gid=ml", name])
        options = "{acl: true}"
        agent.configure(config(shared_volume.name, options=options, environment=ENVIRONMENT))
        agent.start()
        agent.await_verdict("healthy")
    caches = ["/mnt/a/cache", "/mnt/a/cache/huggingface", "/mnt/a/cache/modelscope"]
    for cache in caches:
        shared_host.run(["install", "--directory", "--mode=2775", "--group=ml", cache])
        shared_host.run(["setfacl", "--modify=default:group::rwx", cache])
    yield [User("alice", shared_host), User("bob", other)]
    agents[0].clean_up()
    cluster.remove(other)


@pytest.fixture(scope="module")
def handed_out(cluster: Cluster, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """The hub runs on node1; a file with a line for each model it has handed out."""
    log = tmp_path_factory.mktemp("hub") / "log"
    server = cluster.servers[0]
    with log.open("w") as out:
        process = server.popen(["python3", hub.__file__, str(PORT)], stdout=out)
    yield log
    process.abandon()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("library", "program", "cache"),
    [
        ("huggingface", HUGGINGFACE, "/mnt/a/cache/huggingface/hub/"),
        ("modelscope", MODELSCOPE, "/mnt/a/cache/modelscope/"),
    ],
)
def test_two_hosts_fetch_one_model_once(
    users: list[User], handed_out: Path, library: str, program: str, cache: str
) -> None:
    running = [user.downloads(program) for user in users]
    paths = [places(process, cache) for process in running]
    assert paths[0] == paths[1]
    for user in users:
        read = ["setpriv", f"--reuid={user.name}", "--regid=ml", "--clear-groups", "sha256sum"]
        assert user.host.run([*read, paths[0]]).stdout.split()[0] == hub.DIGEST
    assert handed_out.read_text().splitlines().count(library) == 1
    again = [places(user.downloads(program), cache) for user in reversed(users)]
    assert again == paths
    assert handed_out.read_text().splitlines().count(library) == 1


def places(process: Inside, cache: str) -> str:
    """Where the model is, once it is there."""
    done = finish(process, process.abandon, timeout=DOWNLOAD, check=True, stdin="")
    path = done.stdout.splitlines()[-1]
    assert path.startswith(cache), done
    return path


@pytest.mark.slow
def test_another_user_of_the_group_can_refresh_it(users: list[User], handed_out: Path) -> None:
    alice, bob = users
    cache = "/mnt/a/cache/huggingface/hub/"
    path = places(alice.downloads(HUGGINGFACE), cache)
    before = handed_out.read_text().splitlines().count("huggingface")
    forced = HUGGINGFACE.replace("'{0}')", "'{0}', force_download=True)")
    assert places(bob.downloads(forced), cache) == path
    assert handed_out.read_text().splitlines().count("huggingface") == before + 1
    owner = ["stat", "--dereference", "--format=%U", path]
    assert alice.host.run(owner).stdout == "bob\n"
    assert alice.host.run(["sha256sum", path]).stdout.split()[0] == hub.DIGEST
