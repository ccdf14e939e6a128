"""The log against a real journald, in mount and PID namespaces of its own."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import agent
from agent.events import Event

JOURNALD = Path("/lib/systemd/systemd-journald")

pytestmark = pytest.mark.skipif(
    os.geteuid() != 0 or not JOURNALD.exists() or shutil.which("journalctl") is None,
    reason="needs root and systemd-journald",
)

# Runs as the namespace's first process: a fresh /run with a journald, which is stopped (SIGSTOP)
# in the middle; what the journal holds in the end goes to stdout.
INSIDE = """
import os, signal, subprocess, sys, time
from pathlib import Path

for command in (
    ["mount", "--make-rprivate", "/"],
    ["mount", "-t", "tmpfs", "none", "/run"],
    ["mount", "-t", "tmpfs", "none", "/var/log"],
):
    subprocess.run(command, check=True)
Path("/run/log/journal").mkdir(parents=True)
journald = subprocess.Popen([sys.argv[1]])
while not Path("/run/systemd/journal/socket").is_socket():
    time.sleep(0.05)

from agent.events import Event
from agent.health.journal import MAX_BACKLOG, Journal
from agent.health.output import JournaldOutput
from agent.model.verdict import Verdict

journal = Journal("info", JournaldOutput())
journal.emit(
    Event.VERDICT, "model-share is hung", mount="model-share", verdict=Verdict.HUNG,
    holder=["pid 1 a", "pid 2 b"], foreign="x\\nMESSAGE_ID=0",
)
try:
    1 / 0
except ZeroDivisionError as error:
    journal.emit(Event.INTERNAL_ERROR, "größer", error=error)

os.kill(journald.pid, signal.SIGSTOP)
start = time.monotonic()
for number in range(MAX_BACKLOG):
    journal.emit(Event.FINDING, f"while stopped {number}")
took = time.monotonic() - start
os.kill(journald.pid, signal.SIGCONT)
shown = ["journalctl", "-D", "/run/log/journal", "-o", "json", "--no-pager", "-q"]
for _ in range(600):
    journal.flush()
    out = subprocess.run(shown, stdout=subprocess.PIPE).stdout
    if b"while stopped %d" % (MAX_BACKLOG - 1) in out:
        break
    time.sleep(0.1)
sys.stdout.buffer.write(out)
print('{"MESSAGE": "took", "SECONDS": %f}' % took)
"""


@pytest.fixture(scope="module")
def entries(tmp_path_factory: pytest.TempPathFactory) -> list[dict[str, Any]]:
    script = tmp_path_factory.mktemp("journald") / "inside.py"
    script.write_text(INSIDE)
    done = subprocess.run(
        [
            "unshare", "--mount", "--pid", "--fork", "--kill-child", "--mount-proc",
            sys.executable, str(script), str(JOURNALD),
        ],
        check=True,
        stdout=subprocess.PIPE,
        env={"PATH": os.environ["PATH"], "PYTHONPATH": str(Path(agent.__file__).parents[1])},
        timeout=120,
    )  # fmt: skip
    return [json.loads(line) for line in done.stdout.splitlines()]


def _one(entries: list[dict[str, Any]], message: str) -> dict[str, Any]:
    (found,) = [entry for entry in entries if entry["MESSAGE"] == message]
    return found


def test_native_fields(entries: list[dict[str, Any]]) -> None:
    entry = _one(entries, "model-share is hung")
    assert entry["_TRANSPORT"] == "journal"
    assert entry["MESSAGE_ID"] == Event.VERDICT.message_id
    assert entry["PRIORITY"] == "3"
    assert entry["GLUSTER_ML_EVENT"] == "verdict"
    assert entry["GLUSTER_ML_MOUNT"] == "model-share"
    assert entry["GLUSTER_ML_VERDICT"] == "hung"
    assert entry["GLUSTER_ML_HOLDER"] == ["pid 1 a", "pid 2 b"]
    assert entry["GLUSTER_ML_FOREIGN"] == "x\\x0aMESSAGE_ID=0"


def test_a_traceback_keeps_its_lines(entries: list[dict[str, Any]]) -> None:
    trace = _one(entries, "größer")["GLUSTER_ML_TRACEBACK"]
    assert trace.splitlines()[-1].startswith("ZeroDivisionError")


def test_a_stopped_journald_holds_nobody_up_and_gets_all_of_it(
    entries: list[dict[str, Any]],
) -> None:
    got = [e["MESSAGE"] for e in entries if e["MESSAGE"].startswith("while stopped ")]
    assert got == [f"while stopped {number}" for number in range(len(got))]
    assert len(got) == 256
    assert _one(entries, "took")["SECONDS"] < 5
