"""What a reload changes for each mount."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.config.diff import Added, Altered, Part, Removed, diff
from agent.config.schema import Config, MountConfig


def mount(**changes: Any) -> MountConfig:
    return MountConfig(**({"volume": "v", "servers": ["n1"], "path": "/mnt/a"} | changes))


def config(**mounts: MountConfig) -> Config:
    return Config(mounts=mounts)


def test_nothing_changed() -> None:
    a, b = mount(), mount(path="/b/c")
    assert diff(config(a=a, b=b), config(b=b, a=a)) == ()


@pytest.mark.parametrize(
    ("change", "part"),
    [
        ({"options": {"acl": True}}, Part.OPTIONS),
        ({"port": 24008}, Part.OPTIONS),
        ({"servers": ["n2", "n1"]}, Part.SERVERS),
        ({"probe": {"interval": "9s"}}, Part.PROBE),
        ({"recovery": {"hung": "remount"}}, Part.RECOVERY),
        ({"guard": False}, Part.GUARD),
    ],
)
def test_one_part(change: dict[str, object], part: Part) -> None:
    new = mount(**change)
    assert diff(config(a=mount()), config(a=new)) == (
        Altered("a", "a", mount(), new, frozenset({part})),
    )


def test_the_order_of_options_is_no_change() -> None:
    one = mount(options={"acl": True, "lru-limit": 5})
    two = mount(options={"lru-limit": 5, "acl": True})
    assert diff(config(a=one), config(a=two)) == ()


def test_renaming_carries_over_even_when_names_swap() -> None:
    a, b = mount(), mount(path="/mnt/b")
    (change,) = diff(config(old=a), config(new=a))
    assert isinstance(change, Altered)
    assert change.renamed
    assert change.parts == frozenset()
    swapped = diff(config(a=a, b=b), config(a=b, b=a))
    assert swapped == (
        Altered("a", "b", b, b, frozenset()),
        Altered("b", "a", a, a, frozenset()),
    )


def test_another_volume_or_path_is_another_mount() -> None:
    for new in (mount(volume="w"), mount(path="/mnt/w"), mount(volume="v/sub")):
        assert diff(config(a=mount()), config(a=new)) == (Removed("a", mount()), Added("a", new))


MOUNTS = st.dictionaries(
    st.sampled_from(["a", "b", "c", "d"]),
    st.tuples(st.sampled_from(["v", "w"]), st.booleans()),
    max_size=4,
)


@given(MOUNTS, MOUNTS)
def test_applying_the_changes_gives_the_new_configuration(
    old: dict[str, tuple[str, bool]], new: dict[str, tuple[str, bool]]
) -> None:
    def build(drawn: dict[str, tuple[str, bool]]) -> Config:
        return config(
            **{
                name: mount(volume=volume, path=f"/mnt/{number}", guard=guard)
                for number, (name, (volume, guard)) in enumerate(drawn.items())
            }
        )

    before, after = build(old), build(new)
    state = {mount.path: (name, mount) for name, mount in before.mounts.items()}
    for change in diff(before, after):
        match change:
            case Removed(name, gone):
                assert state.pop(gone.path) == (name, gone)
            case Altered(name, old_name, was, now):
                assert state[now.path] == (old_name, was)
                state[now.path] = (name, now)
            case Added(name, added):
                assert added.path not in state
                state[added.path] = (name, added)
    assert state == {mount.path: (name, mount) for name, mount in after.mounts.items()}
