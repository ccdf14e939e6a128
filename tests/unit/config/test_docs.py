"""docs/configuration.md names every key and option, and its example holds."""

import re
from pathlib import Path

from agent.config.load import load
from agent.config.options_table import KNOWN, REFUSED
from agent.config.schema import HealthConfig, MountConfig, ProbeConfig, RecoveryConfig

TEXT = (Path(__file__).parents[3] / "docs/configuration.md").read_text()


def test_the_example_is_valid() -> None:
    example = re.findall("```yaml\n(.*?)```", TEXT, re.DOTALL)[0]
    assert load(example, "example").warnings == ()


def test_every_key_and_option_is_explained() -> None:
    named = set(re.findall("`([^` ]+)`", TEXT))
    keys = set(MountConfig.model_fields) - {"probe", "recovery"}
    keys |= {f"probe.{key}" for key in ProbeConfig.model_fields}
    keys |= {f"recovery.{key}" for key in RecoveryConfig.model_fields}
    keys |= set(HealthConfig.model_fields)
    assert keys <= named
    assert set(KNOWN) <= named
    assert {"auto_unmount", "backup-volfile-servers"} <= named & set(REFUSED)
