"""Volumes, servers, durations."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.config import durations, names


@pytest.mark.parametrize(
    ("given_", "taken"),
    [
        ("node1", "node1"),
        ("Node1.Example.ORG", "node1.example.org"),
        ("node1.example.org.", "node1.example.org."),
        ("node_1", "node_1"),
        ("10.0.0.1", "10.0.0.1"),
        ("fd00::1", "fd00::1"),
        ("[FD00:0:0::1]", "fd00::1"),
        ("fe80::1%eth0", "fe80::1%eth0"),
        ("[fe80::1%eth0.5]", "fe80::1%eth0.5"),
        ("n" * 63, "n" * 63),
    ],
)
def test_servers(given_: str, taken: str) -> None:
    assert names.server(given_) == taken


@pytest.mark.parametrize(
    ("given_", "said"),
    [
        ("node1:24007", "the port is a key of the mount"),
        ("[fd00::1]:24007", "the port is a key of the mount"),
        (":24007", "is no server name"),
        ("[fd00::1", "is no IPv6 address in brackets"),
        ("[node1]", "is neither a host name nor an IPv6 address"),
        ("fd00:::1", "is neither a host name nor an IPv6 address"),
        ("fe80::1", "is a link-local address"),
        ("fd00::1%e;h", "has a zone that is no interface name"),
        ("10.0.0", "is neither a host name nor an IPv4 address"),
        ("10.0.0.256", "is neither a host name nor an IPv4 address"),
        ("010.0.0.1", "is neither a host name nor an IPv4 address"),
        ("n" * 64, "is longer than 63 characters"),
        ("node1,node2", "is no host name"),
        ("node1 node2", "is no host name"),
        ("-node", "is no host name"),
        ("node..org", "is no host name"),
        ("$(reboot)", "is no host name"),
        ("", "is empty"),
        (None, "is empty"),
        (2026, "quote it"),
        (["a"], "must be text"),
    ],
)
def test_bad_servers(given_: object, said: str) -> None:
    with pytest.raises(ValueError, match=said.replace("(", r"\(")):
        names.server(given_)


@given(st.text(max_size=70))
def test_no_server_has_a_character_of_the_shell(text: str) -> None:
    try:
        taken = names.server(text)
    except ValueError:
        return
    assert not set(taken) & set(" ,;*?[]\\\"'`$&|<>(){}!#\n\t/")


@pytest.mark.parametrize("volume", ["v", "model-store", "v/a", "v/a/b.c", "snaps"])
def test_volumes(volume: str) -> None:
    assert names.volume(volume) == volume


@pytest.mark.parametrize(
    "volume",
    [
        "",
        "/v",
        "v/",
        "v//a",
        "v/.",
        "v/../w",
        "n:v",
        "n:/v",
        "v w",
        "-v",
        "v.w",
        "v/a b",
        "v/*",
        "v/a,b",
        "v/a:b",
        "v/$a",
        "snaps/a/v",
        "v" * 256,
        None,
        2026,
        True,
        ["v"],
    ],
)
def test_bad_volumes(volume: object) -> None:
    with pytest.raises(ValueError, match=r"^(is|has|must) "):
        names.volume(volume)


@pytest.mark.parametrize("name", ["a", "model-share", "A.b_c-1", "1", "a" * 64])
def test_mount_names(name: str) -> None:
    assert names.mount_name(name) == name


@pytest.mark.parametrize("name", ["", "-a", ".a", "a b", "a/b", "é", "a\n", "a" * 65])
def test_bad_mount_names(name: str) -> None:
    with pytest.raises(ValueError, match="is no name for a mount"):
        names.mount_name(name)


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("90s", 90), ("15m", 900), ("2h", 7200), ("3d", 259200), ("1h30m", 5400), ("1d1s", 86401)],
)
def test_durations(text: str, seconds: float) -> None:
    assert durations.parse(text) == seconds


@pytest.mark.parametrize(
    "value",
    ["", "5", 5, 5.0, True, None, "5 s", "30m1h", "1.5h", "-5s", "5S", "5ms", "\u0665s", "5s\n"],
)
def test_no_durations(value: object) -> None:
    with pytest.raises(ValueError, match=r"e\.g\. 90s"):
        durations.parse(value)


@given(st.integers(0, 10**9))
def test_a_duration_reads_back(seconds: int) -> None:
    assert durations.parse(durations.text(seconds)) == seconds
