from hypothesis import given
from hypothesis import strategies as st

from agent.worker import graph

CLIENT = """\
volume {name}
    type protocol/client
    option ping-timeout {ping}
    option remote-host {host}
    option remote-subvolume {path}
    option username someone
    option password hunter2
end-volume
"""


def client(name: str, path: str = "/brick", ping: int = 42) -> str:
    return CLIENT.format(name=name, host="node-of-" + name, path=path, ping=ping)


def block(name: str, kind: str, *children: str, options: str = "") -> str:
    below = f"    subvolumes {' '.join(children)}\n" if children else ""
    return f"volume {name}\n    type {kind}\n{options}{below}end-volume\n"


REPLICATED = (
    "".join(client(f"v-client-{number}") for number in range(6))
    + block("v-replicate-0", "cluster/replicate", "v-client-0", "v-client-1", "v-client-2")
    + block("v-replicate-1", "cluster/replicate", "v-client-3", "v-client-4", "v-client-5")
    + block("v-dht", "cluster/distribute", "v-replicate-0", "v-replicate-1")
    + block("v-utime", "features/utime", "v-dht")
    + block("v", "debug/io-stats", "v-utime")
)


def names(xlators: tuple[graph.Xlator, ...]) -> list[str]:
    return [each.name for each in xlators]


def test_a_distributed_replicated_volume() -> None:
    found = graph.parse_volfile(REPLICATED)
    assert names(found.bricks) == [f"v-client-{number}" for number in range(6)]
    assert (found.bricks[1].host, found.bricks[1].path) == ("node-of-v-client-1", "/brick")
    assert names(found.subvolumes) == ["v-replicate-0", "v-replicate-1"]
    assert graph.kind_of(found.subvolumes[0]) == "replicate"
    assert found.ping_timeout == 42


def test_lone_bricks_are_subvolumes_themselves_and_the_longest_ping_counts() -> None:
    text = (
        client("v-client-0", ping=5)
        + client("v-client-1", ping=70)
        + block("v-dht", "cluster/distribute", "v-client-0", "v-client-1")
    )
    found = graph.parse_volfile(text)
    assert names(found.subvolumes) == ["v-client-0", "v-client-1"]
    assert found.ping_timeout == 70


def test_xlators_between_distribute_and_the_sets_do_not_hide_them() -> None:
    text = (
        client("v-client-0")
        + block("v-disperse-0", "cluster/disperse", "v-client-0")
        + block("v-readdir-ahead-0", "performance/readdir-ahead", "v-disperse-0")
        + block("v-dht", "cluster/distribute", "v-readdir-ahead-0")
    )
    assert names(graph.parse_volfile(text).subvolumes) == ["v-disperse-0"]


def test_the_snapshot_daemon_is_no_brick() -> None:
    text = (
        client("v-client-0")
        + client("v-snapd-client", path="snapd-v")
        + block("v-dht", "cluster/distribute", "v-client-0")
        + block("v-snapview-client", "features/snapview-client", "v-dht", "v-snapd-client")
    )
    found = graph.parse_volfile(text)
    assert names(found.bricks) == ["v-client-0"]
    assert names(found.subvolumes) == ["v-client-0"]


def test_a_graph_in_a_circle_ends() -> None:
    text = block("a", "x", "b") + block("b", "x", "a", "nowhere")
    assert graph.parse_volfile(text).subvolumes == ()


@given(st.text() | st.text(st.sampled_from("volumetypesubend- \n/"), max_size=200))
def test_any_text_parses(text: str) -> None:
    found = graph.parse_volfile(text)
    private = graph.parse_private(text)
    for each in found.subvolumes:
        graph.is_up(each, private, set())


@given(st.text(max_size=5000))
def test_what_is_kept_is_bounded(text: str) -> None:
    line = text.replace("\n", "")
    found = graph.parse_volfile(client("n" + line, path="/" + line))
    for brick in found.bricks:
        assert len(brick.name) <= graph.TEXT_LIMIT
        assert len(brick.path) <= graph.TEXT_LIMIT


def up(kind: str, private: str, connected: frozenset[str] = frozenset()) -> bool:
    xlator = graph.Xlator("x")
    xlator.kind = kind
    return graph.is_up(xlator, graph.parse_private(private), set(connected))


def test_a_replica_set_is_up_with_quorum_and_a_child() -> None:
    children = "child_up[0] = 0\nchild_up[1] = 1\n"
    assert up("cluster/replicate", children + "quorum-type = auto\nup = 1\n")
    assert not up("cluster/replicate", children + "up = 0\n")
    assert not up("cluster/replicate", "child_up[0] = 0\nchild_up[1] = 0\nup = 1\n")
    assert not up("cluster/replicate", "")


def test_a_disperse_set_is_up_as_it_says_in_its_first_section() -> None:
    assert up("cluster/disperse", "[x]\nup = 1\nchilds_up = 2\n[y]\nup = 0\n")
    assert not up("cluster/disperse", "up = 0\nchilds_up = 1\n")


def test_a_lone_brick_is_up_while_connected() -> None:
    assert up("protocol/client", "", frozenset({"x"}))
    assert not up("protocol/client", "up = 1\n", frozenset({"y"}))
