"""What is remembered of the mounts, and the list of guarded directories beside it."""

import json
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.config import places
from agent.model.mount import ProcessId
from agent.mounts.records import Records


def guarded(directory: Path) -> list[str]:
    return (directory / "guarded").read_text().splitlines()


def add(records: Records, path: str, *, guarded: bool = True, volume: str = "vol") -> None:
    records.save(replace(records.new("a", path, volume), guarded=guarded))


def test_the_list_is_that_of_the_records_at_all_times(tmp_path: Path) -> None:
    records = Records(tmp_path)
    add(records, "/mnt/b")
    add(records, "/mnt/a")
    add(records, "/mnt/c", guarded=False)
    assert guarded(tmp_path) == ["/mnt/a", "/mnt/b"]
    assert (tmp_path / "guarded").stat().st_mode & 0o777 == 0o600
    add(records, "/mnt/c")
    add(records, "/mnt/a", guarded=False)
    assert guarded(tmp_path) == ["/mnt/b", "/mnt/c"]
    found = records.load("/mnt/b", "vol")
    assert found
    records.forget(found)
    assert guarded(tmp_path) == ["/mnt/c"]


def test_a_path_stays_on_the_list_while_one_of_its_volumes_is_guarded(tmp_path: Path) -> None:
    records = Records(tmp_path)
    add(records, "/mnt/a", volume="old")
    add(records, "/mnt/a", volume="new")
    old = records.load("/mnt/a", "old")
    assert old
    records.forget(old)
    assert guarded(tmp_path) == ["/mnt/a"]


def test_another_agent_lists_what_this_one_guarded(tmp_path: Path) -> None:
    add(Records(tmp_path), "/mnt/a")
    later = Records(tmp_path)
    add(later, "/mnt/b")
    assert guarded(tmp_path) == ["/mnt/a", "/mnt/b"]


@pytest.mark.parametrize("damage", ["", "/mnt/x\n", None])
def test_a_damaged_list_mends_itself(tmp_path: Path, damage: str | None) -> None:
    records = Records(tmp_path)
    add(records, "/mnt/a")
    if damage is None:
        (tmp_path / "guarded").unlink()
    else:
        (tmp_path / "guarded").write_text(damage)
    add(records, "/mnt/a")
    assert guarded(tmp_path) == ["/mnt/a"]


def test_the_list_is_kept_though_a_record_can_not_be(tmp_path: Path) -> None:
    records = Records(tmp_path)
    (tmp_path / "mounts").write_text("no directory")
    with pytest.raises(OSError, match="mounts"):
        add(records, "/mnt/a")
    assert guarded(tmp_path) == ["/mnt/a"]


@given(st.text(min_size=1, max_size=20))
def test_no_path_of_a_configuration_breaks_a_line(text: str) -> None:
    path = f"/mnt/{text}"
    try:
        taken = places.mount_path(path)
    except ValueError:
        return
    assert taken.splitlines() == [path]
    assert taken.encode(errors="surrogateescape").count(b"\n") == 0


def test_after_a_boot_only_the_guard_and_the_log_are_true(tmp_path: Path) -> None:
    records = Records(tmp_path)
    record = replace(
        records.new("a", "/mnt/a", "vol"),
        fingerprint="f",
        device=(0, 60),
        client=ProcessId(1, 2),
        guarded=True,
        client_log="/var/log/gluster-ml/a.log",
    )
    records.save(record)
    assert Records(tmp_path).load("/mnt/a", "vol") == record
    (file,) = (tmp_path / "mounts").iterdir()
    file.write_text(json.dumps({**json.loads(file.read_text()), "boot_id": "another"}))
    expected = replace(record, fingerprint="", device=None, client=None)
    assert Records(tmp_path).load("/mnt/a", "vol") == expected


def test_a_record_of_a_version_that_knew_no_log_is_read(tmp_path: Path) -> None:
    records = Records(tmp_path)
    records.save(replace(records.new("a", "/mnt/a", "vol"), fingerprint="f", device=(0, 60)))
    (file,) = (tmp_path / "mounts").iterdir()
    fields = json.loads(file.read_text())
    del fields["client_log"]
    file.write_text(json.dumps(fields))
    found = Records(tmp_path).load("/mnt/a", "vol")
    assert found
    assert (found.device, found.client_log) == ((0, 60), "")
