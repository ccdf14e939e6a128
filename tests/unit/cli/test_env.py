"""`env`, run as a user would."""

from pathlib import Path

import pytest

from agent.config.load import load
from agent.environment import file
from tests.unit.cli.test_commands import Host
from tests.unit.environment.shells import CONFIG, EXPECTED, environ, pairs, shell


@pytest.fixture
def host(tmp_path: Path) -> Host:
    made = Host(tmp_path)
    made.run_dir.mkdir()
    made.state_dir.mkdir()
    made.config.write_text(CONFIG)
    return made


SHARE = "HF_HUB_CACHE=/mnt/share/cache/huggingface/hub\nROOT=/mnt/share\n"
THIRD = "TORCH_HOME=/mnt/third/tor ch/ä~\n"


def test_it_needs_no_agent(host: Host) -> None:
    exports = "export HF_HUB_CACHE=/mnt/share/cache/huggingface/hub\nexport ROOT=/mnt/share\n"
    third = "export TORCH_HOME='/mnt/third/tor ch/ä~'\n"
    assert host.call("env") == (0, exports + third, "")
    for form in ("systemd", "docker"):
        assert host.call("env", "--format", form) == (0, SHARE + THIRD, "")
    assert host.call("env", "--format", "sh", "--mount", "share") == (0, exports, "")
    assert environ(shell("dash", "-c", f"{host.call('env')[1]}env -0")) == pairs(EXPECTED)


def test_one_mount(host: Host) -> None:
    assert host.call("env", "--format", "docker", "--mount", "third") == (0, THIRD, "")
    assert host.call("env", "--mount", "other") == (0, "", "")
    code, out, err = host.call("env", "--mount", "nowhere")
    assert (code, out) == (1, "")
    assert err == "gluster-ml-agent: no mount is named nowhere; there is: share, other, third\n"


def test_while_the_file_is_invalid_what_is_in_force_is_printed(host: Host) -> None:
    file.write(host.run_dir, load(CONFIG, "f").config)
    for broken in ("mounts: {share: {volume: v, serv", CONFIG.replace("ROOT", "PATH"), ""):
        host.config.write_text(broken)
        code, out, err = host.call("env", "--format", "systemd")
        assert (code, out) == (0, SHARE + THIRD)
        assert err.startswith(f"gluster-ml-agent: {host.config}:")
        assert err.endswith("; so what is in force is printed\n")
        assert host.call("env", "--format", "systemd", "--mount", "third")[:2] == (0, THIRD)
        assert host.call("env", "--mount", "other")[:2] == (0, "")
    host.config.unlink()
    assert host.call("env", "--format", "docker")[:2] == (0, SHARE + THIRD)


def test_with_nothing_to_go_by_it_fails(host: Host) -> None:
    host.config.write_text("mounts:\n")
    code, out, err = host.call("env")
    assert (code, out) == (1, "")
    assert err.startswith(f"gluster-ml-agent: {host.config}:1:8: mounts: is empty")
    (host.run_dir / file.NAME).write_bytes(b"\xff")
    assert host.call("env") == (code, out, err)


def test_an_unknown_form_is_wrong_usage(host: Host) -> None:
    code, out, err = host.call("env", "--format", "fish")
    assert (code, out) == (64, "")
    assert "sh" in err
