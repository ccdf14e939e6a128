"""What reaches status.json and the status line of systemd."""

from pathlib import Path

import pytest

from agent.daemon.reporting import Reporting
from agent.health import statusfile
from agent.health.journal import Journal
from agent.health.notify import Notify
from agent.model import ConfigState, ConfigStatus
from tests.unit.daemon.test_keepers import named
from tests.unit.health.samples import HEALTHY, NOW, own_process
from tests.unit.mounts.world import config


def test_a_configured_mount_is_told_of_before_its_first_verdict(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("NOTIFY_SOCKET", raising=False)
    identity = ("gpu-17", "0.1.0", own_process())
    reporting = Reporting(Journal(), Notify(), tmp_path, identity, lambda: NOW)
    reporting.configured(named(datasets=config()), ConfigStatus(ConfigState.VALID, "agent.yaml"))
    reporting.write()
    assert statusfile.read(tmp_path).unjudged == ("datasets",)
    assert reporting.sentence() == "no verdict yet on datasets"
    reporting.changed(HEALTHY)
    reporting.write()
    assert statusfile.read(tmp_path).unjudged == ()
    assert reporting.sentence() == "1 mount healthy"
