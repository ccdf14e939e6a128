"""What reaches status.json and the status line of systemd."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from agent.daemon.reporting import Reporting
from agent.health import statusfile
from agent.health.journal import Journal
from agent.health.notify import Notify
from agent.model.status import ConfigState, ConfigStatus
from agent.model.verdict import Verdict
from tests.unit.daemon.test_keepers import named
from tests.unit.health.samples import HEALTHY, NOW, own_process
from tests.unit.mounts.world import config


@pytest.fixture
def reporting(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Reporting]:
    monkeypatch.delenv("NOTIFY_SOCKET", raising=False)
    journal, notify = Journal(), Notify()
    identity = ("gpu-17", "0.1.0", own_process())
    made = Reporting(journal, notify, tmp_path, identity, lambda: NOW)
    made.configured(named(datasets=config()), ConfigStatus(ConfigState.VALID, "agent.yaml"))
    yield made
    journal.close()
    notify.close()


def test_a_configured_mount_is_told_of_before_its_first_verdict(
    reporting: Reporting, tmp_path: Path
) -> None:
    reporting.write()
    assert statusfile.read(tmp_path).unjudged == ("datasets",)
    assert reporting.sentence() == "no verdict yet on datasets"
    reporting.changed(HEALTHY)
    reporting.write()
    assert statusfile.read(tmp_path).unjudged == ()
    assert reporting.sentence() == "1 mount healthy"


@pytest.mark.parametrize("verdict", [Verdict.HEALTHY, Verdict.FOREIGN])
def test_who_uses_the_mount_of_before_is_told_where_it_is_shown(
    reporting: Reporting, tmp_path: Path, verdict: Verdict
) -> None:
    reporting.changed(replace(HEALTHY, verdict=Verdict.ABSENT))
    old = replace(HEALTHY, name="datasets.removed", removing=True, verdict=verdict)
    reporting.changed(old)
    reporting.write()
    advice = statusfile.read(tmp_path).mounts[0].advice
    assert ("status datasets.removed" in advice) == (verdict is Verdict.HEALTHY)
