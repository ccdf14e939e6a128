import pytest

from agent.system.mounthost import MountRequest
from agent.system.transient import (
    Loaded,
    mount_properties,
    tool_properties,
    umount_properties,
)


@pytest.mark.parametrize(
    ("fragment", "source", "origin"),
    [
        ("", "", None),
        ("", "/proc/self/mountinfo", None),
        ("/run/systemd/transient/mnt-a.mount", "", None),
        ("/run/systemd/generator/mnt-a.mount", "/etc/fstab", "/etc/fstab"),
        ("/etc/systemd/system/mnt-a.mount", "", "/etc/systemd/system/mnt-a.mount"),
    ],
)
def test_whose_unit_it_is(fragment: str, source: str, origin: str | None) -> None:
    assert Loaded("active", fragment, source).origin == origin


@pytest.mark.parametrize(
    ("state", "settled"),
    [
        ("inactive", True),
        ("failed", True),
        ("active", False),
        ("activating", False),
        ("deactivating", False),
    ],
)
def test_settled(state: str, settled: bool) -> None:
    assert Loaded(state, "", "").settled is settled


def test_the_mount_unit_neither_waits_for_the_network_nor_unmounts_lazily() -> None:
    request = MountRequest("model-share", "node1:/vol", "/mnt/a", "log-level=WARNING")
    properties = {name: value.value for name, value in mount_properties(request, 20.0)}
    assert properties["What"] == "node1:/vol"
    assert properties["Options"] == "log-level=WARNING"
    assert properties["DefaultDependencies"] is False
    assert "network-online.target" not in repr(properties)
    assert "LazyUnmount" not in properties
    assert properties["TimeoutUSec"] == 25_000_000


def test_an_unmount_runs_the_given_arguments_untouched() -> None:
    argv = ("umount", "--", "/mnt/a b%n$X")
    properties = {name: value.value for name, value in umount_properties("/mnt/a", argv, 5.0)}
    assert properties["ExecStart"] == [["/bin/umount", list(argv), True]]


def test_a_tool_runs_with_the_given_arguments_untouched() -> None:
    argv = ("/usr/sbin/useradd", "--", "a b%n$X")
    properties = {name: value.value for name, value in tool_properties(argv, 30.0)}
    assert properties["ExecStart"] == [["/usr/sbin/useradd", list(argv), False]]
    assert properties["TimeoutStartUSec"] == 35_000_000
