"""The environment for jobs: one text, read by shells, systemd and Docker to the same values."""

import os
import string
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agent.config import inner_paths
from agent.config.load import load
from agent.environment import file, variables
from agent.environment.forms import Form
from tests.unit.environment.shells import CONFIG, EXPECTED, SHELLS, environ, pairs, shell


def systemd_reads(content: str) -> dict[str, str]:
    """What EnvironmentFile= makes of it, by parse_env_file_internal() of src/basic/env-file.c.

    An unquoted value ends with its line and loses blanks at its end; a backslash in it takes the
    next character as it is; a quote opens a quoted part only where the value begins.
    """
    found = {}
    for line in content.split("\n"):
        if not line or line[0] in "#;":
            continue
        key, _, value = line.partition("=")
        value = value.lstrip(" \t")
        assert value[:1] not in ("'", '"'), "a quoted value: not what is written here"
        plain, escaped = "", False
        for char in value:
            if char == "\\" and not escaped:
                escaped = True
                continue
            plain, escaped = plain + char, False
        found[key.strip()] = plain.rstrip(" \t")
    return found


def docker_reads(content: str) -> dict[str, str]:
    """What --env-file makes of it, by parseKeyValueFile() of docker/cli's opts/file.go."""
    found = {}
    for line in content.split("\n"):
        trimmed = line.lstrip(" \t")
        if not trimmed or trimmed.startswith("#"):
            continue
        key, _, value = trimmed.partition("=")
        assert not set(key) & set(" \t"), "Docker refuses a blank in a name"
        found[key] = value
    return found


def compose_reads(content: str) -> dict[str, str]:
    """What env_file: makes of an unquoted value (docs of Docker Compose: env-file syntax)."""
    found = docker_reads(content)
    for value in found.values():
        assert "$" not in value, "would be replaced by a variable"
        assert " #" not in value, "would begin a comment"
    return {name: value.strip() for name, value in found.items()}


def test_of_the_configuration() -> None:
    assert variables.of(load(CONFIG, "f").config) == EXPECTED
    assert variables.of(load("mounts: {}", "f").config) == {}


def test_the_forms() -> None:
    plain = (
        "HF_HUB_CACHE=/mnt/share/cache/huggingface/hub\n"
        "ROOT=/mnt/share\n"
        "TORCH_HOME=/mnt/third/tor ch/ä~\n"
    )
    assert variables.text(EXPECTED, Form.SYSTEMD) == plain
    assert variables.text(EXPECTED, Form.DOCKER) == plain
    assert variables.text(EXPECTED, Form.SH) == (
        "export HF_HUB_CACHE=/mnt/share/cache/huggingface/hub\n"
        "export ROOT=/mnt/share\n"
        "export TORCH_HOME='/mnt/third/tor ch/ä~'\n"
    )
    assert [variables.text({"a": {}}, form) for form in Form] == ["", "", ""]


NAMES = st.text(string.ascii_uppercase + string.digits + "_", min_size=1, max_size=8).map(
    lambda text: f"X{text}"
)


def _value(text: str) -> str | None:
    try:
        return f"/mnt/m/{inner_paths.exported(text)}"
    except ValueError:
        return None


def taken(text: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    return text.filter(lambda given: _value(given) is not None).map(
        lambda given: str(_value(given))
    )


WILD = st.text(
    st.sampled_from("ab./ -~*?[]{}()<>|&;!%^=,:@+\tä\u00a0\u2028😀\\'\"`$#\n"), max_size=12
)
VALUES = taken(st.one_of(WILD, st.text(max_size=12)))
MOUNT_NAMES = st.from_regex(r"\A[A-Za-z0-9][A-Za-z0-9._-]{0,9}\Z")
FOUND = st.dictionaries(MOUNT_NAMES, st.dictionaries(NAMES, VALUES, max_size=3), max_size=3)


@given(FOUND)
def test_every_reader_gets_what_is_meant(found: dict[str, dict[str, str]]) -> None:
    content = variables.file_text(found)
    assert variables.parse(content) == found
    for read in (systemd_reads, docker_reads, compose_reads):
        assert read(content) == pairs(found)
        assert read(variables.text(found, Form.DOCKER)) == pairs(found)
        assert read(variables.text(found, Form.SYSTEMD)) == pairs(found)


@pytest.mark.parametrize("name", SHELLS)
@settings(max_examples=30, deadline=None)
@given(found=FOUND)
def test_every_shell_gets_what_is_meant(name: str, found: dict[str, dict[str, str]]) -> None:
    script = variables.text(found, Form.SH) + "env -0\n"
    assert environ(shell(name, "-c", script)) == pairs(found)
    evaluated = shell(name, "-c", 'eval "$1"; env -0', "sh", variables.text(found, Form.SH))
    assert environ(evaluated) == pairs(found)


def test_the_file_is_replaced_whole_and_readable_for_all(tmp_path: Path) -> None:
    target = tmp_path / file.NAME
    target.write_text("OLD=/x\n")
    before = target.stat().st_ino
    mask = os.umask(0o077)
    try:
        file.write(tmp_path, load(CONFIG, "f").config)
    finally:
        os.umask(mask)
    assert target.stat().st_mode & 0o7777 == 0o644
    assert target.stat().st_ino != before
    assert file.read(tmp_path) == EXPECTED
    assert [path.name for path in tmp_path.iterdir()] == [file.NAME]


def test_a_file_that_can_t_be_replaced_stays(tmp_path: Path) -> None:
    (tmp_path / file.NAME).mkdir()
    with pytest.raises(OSError, match="directory"):
        file.write(tmp_path, load(CONFIG, "f").config)
    assert [path.name for path in tmp_path.iterdir()] == [file.NAME]


@given(st.text())
def test_anything_can_be_parsed(content: str) -> None:
    variables.parse(content)
