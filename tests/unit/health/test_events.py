import re
import shutil
import subprocess
from pathlib import Path

import pytest

from agent.events import Event, Priority, priority_of
from agent.model.verdict import Verdict

CATALOG = Path(__file__).parents[3] / "systemd" / "gluster-ml-agent.catalog"


def catalog_entries() -> dict[str, str]:
    """Message id -> header and text."""
    parts = re.split(r"^-- (\w+)$", CATALOG.read_text(), flags=re.MULTILINE)
    return dict(zip(parts[1::2], parts[2::2], strict=True))


def test_every_event_has_its_own_word_and_id() -> None:
    assert len({event.word for event in Event}) == len(Event)
    assert len({event.message_id for event in Event}) == len(Event)
    for event in Event:
        assert re.fullmatch(r"[0-9a-f]{32}", event.message_id)
        assert re.fullmatch(r"[a-z]+(-[a-z]+)*", event.word)


def test_catalog_and_events_name_the_same_ids() -> None:
    assert set(catalog_entries()) == {event.message_id for event in Event}


@pytest.mark.parametrize("event", Event, ids=lambda event: event.word)
def test_each_catalog_entry_is_complete(event: Event) -> None:
    header, _, body = catalog_entries()[event.message_id].strip().partition("\n\n")
    keys = [line.partition(":")[0] for line in header.splitlines()]
    assert keys == ["Subject", "Defined-By", "Support", "Documentation"]
    assert len(body) > 60
    assert all(len(line) <= 110 for line in body.splitlines())


@pytest.mark.skipif(shutil.which("journalctl") is None, reason="needs systemd's journalctl")
def test_systemd_accepts_the_catalog(tmp_path: Path) -> None:
    place = tmp_path / "usr/lib/systemd/catalog"
    place.mkdir(parents=True)
    shutil.copy(CATALOG, place)
    subprocess.run(["journalctl", f"--root={tmp_path}", "--update-catalog"], check=True)
    listed = subprocess.run(
        ["journalctl", f"--root={tmp_path}", "--list-catalog"],
        check=True,
        capture_output=True,
        text=True,
    ).stdout
    assert {line.split()[0] for line in listed.splitlines()} == {e.message_id for e in Event}


def test_a_change_of_verdict_is_as_loud_as_the_verdict_is_bad() -> None:
    assert priority_of(Event.VERDICT, Verdict.HEALTHY) is Priority.NOTICE
    assert priority_of(Event.VERDICT, Verdict.SLOW) is Priority.WARNING
    assert priority_of(Event.VERDICT, Verdict.HUNG) is Priority.ERROR
    assert priority_of(Event.MOUNTED, Verdict.HUNG) is Priority.NOTICE
