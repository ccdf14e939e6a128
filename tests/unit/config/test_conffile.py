"""The configuration as shipped: idle as it is, and right once its example is uncommented."""

import re
from pathlib import Path

import yaml
from schema_keys import ITEM, REQUIRED, Key, keys

from agent.config.load import load
from tests.unit.test_documents import commands

SHIPPED = (Path(__file__).parents[3] / "etc/gluster-ml/agent.yaml").read_text()
NAMES = {"mounts": "model-share", "directories": "checkpoints", "users": "alice"}
"""What the example has where a name of the user's stands, by what holds the names."""


def uncommented() -> str:
    """As an editor would do it: the line without mounts goes, the example loses its "#"."""
    lines = [line for line in SHIPPED.splitlines() if line != "mounts: {}"]
    return "\n".join(re.sub(r"^#(?=[a-z]|  )", "", line) for line in lines)


def shown(key: Key) -> str:
    """A key's value in the example, as it is written there. Raises KeyError."""
    value = yaml.safe_load(uncommented())
    for before, part in zip(("", *key.place), key.place, strict=False):
        value = value[0 if part == ITEM else NAMES[before] if part == "NAME" else part]
    return str(value).lower() if isinstance(value, bool) else str(value)


def test_as_shipped_there_are_no_mounts() -> None:
    loaded = load(SHIPPED, "agent.yaml")
    assert not loaded.config.mounts
    assert not loaded.warnings


def test_the_example_is_valid() -> None:
    loaded = load(uncommented(), "agent.yaml")
    assert list(loaded.config.mounts) == [NAMES["mounts"]]
    assert not loaded.warnings


def test_the_example_shows_every_key_and_its_default() -> None:
    for key in keys():
        value = shown(key)
        if key.default not in ("", "none", REQUIRED):
            assert value == key.default, key.dotted


def test_its_pointers_are_right() -> None:
    assert set(re.findall(r"gluster-ml-agent ([a-z]+)", SHIPPED)) <= set(commands())
    (page,) = re.findall(r"man (\S+)", SHIPPED)
    assert (Path(__file__).parents[3] / f"packaging/man/{page}.5.rst").exists()
