import contextlib
import copy
import json
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.errors import AgentError
from agent.health import statusfile
from agent.health.schema import from_dict, to_dict
from agent.model.mount import ProcessId
from agent.model.status import (
    AgentStatus,
    ConfigState,
    IdentitiesState,
    IdentitiesStatus,
    MountStatus,
    RemapState,
    RemapStatus,
)
from tests.unit.health.samples import HEALTHY, HUNG, IDENTITIES, NOW, agent_status, config

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner),
    max_leaves=5,
)


def test_names_of_the_contract() -> None:
    rejected = config(ConfigState.REJECTED, "agent.yaml:1:1: bad")
    made: dict[str, Any] = to_dict(agent_status(HUNG, config=rejected))
    assert {"schema", "host", "time", "version", "config", "mounts", "identities"} <= set(made)
    assert made["schema"] == 1
    assert made["time"] == "2026-11-30T14:05:00Z"
    assert made["config"]["state"] == "rejected"
    assert made["config"]["errors"] == ["agent.yaml:1:1: bad"]
    mount = made["mounts"]["model-share"]
    assert mount["verdict"] == "hung"
    assert mount["since"] == "2026-11-30T14:02:00Z"
    assert mount["server"] == "node1"
    assert mount["client_pid"] == 4711
    assert mount["recoveries"] == 2
    assert mount["space"] == {"total": 3 << 40, "free": 1 << 40}
    assert {"evidence", "layout", "retention"} <= set(mount)
    bricks = {key: mount["bricks"][key] for key in ("connected", "total", "down")}
    assert bricks == {"connected": 2, "total": 3, "down": ["node2:/bricks/b1"]}


def test_what_is_written_is_read_back(tmp_path: Path) -> None:
    status = agent_status(HUNG, HEALTHY)
    statusfile.write(tmp_path, status)
    assert statusfile.read(tmp_path) == status


@pytest.mark.parametrize(
    "remap",
    [
        RemapStatus(RemapState.WALKING, "enforce", 10, 9, 8, 1, problems=("a: odd",)),
        RemapStatus(RemapState.DONE, "report", 10, 9, ended=NOW, host="gpu-3"),
    ],
)
def test_where_the_search_for_old_ids_stands_is_read_back(
    tmp_path: Path, remap: RemapStatus
) -> None:
    status = agent_status(replace(HEALTHY, remap=remap))
    statusfile.write(tmp_path, status)
    assert statusfile.read(tmp_path) == status


@pytest.mark.parametrize(
    "identities",
    [None, IDENTITIES, IdentitiesStatus(IdentitiesState.UNKNOWN, error="no answer within 15 s")],
)
def test_identities_are_read_back(tmp_path: Path, identities: IdentitiesStatus | None) -> None:
    status = agent_status(identities=identities)
    statusfile.write(tmp_path, status)
    assert statusfile.read(tmp_path) == status


def test_the_file_is_replaced_whole_and_readable_by_all(tmp_path: Path) -> None:
    umask = os.umask(0o077)
    try:
        statusfile.write(tmp_path, agent_status(HUNG))
        (tmp_path / f".status.json.{os.getpid()}").write_text("left by a crash")
        with (tmp_path / "status.json").open() as old:
            statusfile.write(tmp_path, agent_status())
            assert json.load(old)["mounts"].keys() == {"model-share"}
    finally:
        os.umask(umask)
    assert (tmp_path / "status.json").stat().st_mode & 0o7777 == 0o644
    assert [path.name for path in tmp_path.iterdir()] == ["status.json"]


@pytest.mark.parametrize(
    ("data", "code"),
    [
        (None, "not-running"),
        (b"", "bad-status"),
        (b'{"schema": 2}', "bad-status"),
        (b'{"schema": 1}', "bad-status"),
        (b"[" * 100_000, "bad-status"),
        (b"\xff\xfe", "bad-status"),
        (b" " * (statusfile.MAX_BYTES + 1), "bad-status"),
    ],
)
def test_a_bad_file_is_one_error(tmp_path: Path, data: bytes | None, code: str) -> None:
    if data is not None:
        (tmp_path / "status.json").write_bytes(data)
    with pytest.raises(AgentError) as caught:
        statusfile.read(tmp_path)
    assert caught.value.code == code


def _places(value: object, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    inner: list[tuple[Any, ...]] = [path] if path else []
    if isinstance(value, dict):
        for key in value:
            inner += _places(value[key], (*path, key))
    elif isinstance(value, list):
        for index in range(len(value)):
            inner += _places(value[index], (*path, index))
    return inner


GOOD: dict[str, Any] = json.loads(json.dumps(to_dict(agent_status(HUNG))))


@given(st.sampled_from(_places(GOOD)), JSON)
def test_any_damage_is_a_value_error_or_harmless(place: tuple[Any, ...], value: object) -> None:
    damaged: Any = copy.deepcopy(GOOD)
    target = damaged
    for step in place[:-1]:
        target = target[step]
    target[place[-1]] = value
    with contextlib.suppress(ValueError):
        assert isinstance(from_dict(damaged), AgentStatus)


@pytest.mark.parametrize("place", [p for p in _places(GOOD) if p[-1] in {"time", "verdict", "pid"}])
def test_a_missing_key_is_a_value_error(place: tuple[Any, ...]) -> None:
    damaged: Any = copy.deepcopy(GOOD)
    target = damaged
    for step in place[:-1]:
        target = target[step]
    del target[place[-1]]
    with pytest.raises(ValueError, match="missing"):
        from_dict(damaged)


def test_a_running_agent_with_a_fresh_status_is_current() -> None:
    statusfile.check_current(agent_status(), NOW + statusfile.MAX_AGE)


def _not_running(status: AgentStatus, now: float) -> str:
    with pytest.raises(AgentError) as caught:
        statusfile.check_current(status, now)
    assert caught.value.code == "not-running"
    return caught.value.message


def test_a_silent_agent_counts_as_not_running() -> None:
    late = _not_running(agent_status(), NOW + statusfile.MAX_AGE + 1)
    assert "its last status is from 2026-11-30T14:05:00Z" in late
    _not_running(agent_status(), NOW - statusfile.MAX_AGE - 1)


def test_an_agent_that_ended_is_not_running() -> None:
    child = subprocess.Popen([sys.executable, "-c", ""])
    child.wait()
    assert "is gone" in _not_running(agent_status(pid=ProcessId(child.pid, 1)), NOW)


def test_another_process_with_its_pid_is_not_the_agent() -> None:
    status = agent_status()
    other = replace(status.pid, start_time=status.pid.start_time + 1)
    assert "is gone" in _not_running(replace(status, pid=other), NOW)


def test_twenty_large_mounts_fit_well() -> None:
    many: list[MountStatus] = [
        replace(HUNG, name=f"m{n}", holders=HUNG.holders * 64, bricks=(HUNG.bricks or ()) * 33)
        for n in range(40)
    ]
    size = len(json.dumps(to_dict(agent_status(*many)), indent=1))
    assert size * 2 < statusfile.MAX_BYTES
