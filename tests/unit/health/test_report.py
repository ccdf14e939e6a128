from dataclasses import replace
from datetime import UTC

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.health.report import exit_code, status_sentence, status_text
from agent.model.mount import Holder
from agent.model.status import ConfigState, LayoutState, LayoutStatus
from agent.model.verdict import Verdict
from tests.unit.health.samples import HEALTHY, HUNG, NOW, agent_status, config

GOLDEN = """\
gpu-17: CRITICAL: 1 of 2 mounts healthy, model-share hung

model-share: hung since 14:02 (3 min)
  evidence no answer for 95 s; the client process 4711 is alive
  do       look at the storage first: gluster volume status model-store on a
           storage node; if it won't come back: kill -9 4711 ends the client
  pending  entry-timeout changes from 1 to 120
  leaving  no longer configured; unmounted as soon as nothing uses it
  finding  root is squashed: the write probe is refused
  volume   model-store at /mnt/model-share
  client   pid 4711, volfile server node1, adopted
  log      /var/log/gluster-ml/model-share.log
  bricks   2 of 3 connected; not connected: node2:/bricks/b1
  space    1.0 TiB free of 3.0 TiB (33 %)
  layout   12 directories, 1 finding
           cache: was there before the agent: mode 0755, declared 2775
  recovery 2 times; last: client died; back after 0.2 s by node2
  held by  pid 900 python (uid 20001, docker 3f2a): open file on the old mount

datasets: healthy since 2026-11-29 14:05 (24 h)
  evidence round trip in 4 ms
  volume   data at /mnt/datasets
  client   pid 4242, volfile server node1
  space    1.0 TiB free of 10.0 TiB (10 %)
"""


def test_status_for_people() -> None:
    assert status_text(agent_status(HUNG, HEALTHY), NOW, zone=UTC) == GOLDEN


@pytest.mark.parametrize(
    ("layout", "words"),
    [
        (LayoutStatus(LayoutState.PENDING, 1), "1 directory, not looked at yet"),
        (LayoutStatus(LayoutState.APPLIED, 12, looked=NOW), "12 directories as declared"),
        (
            LayoutStatus(LayoutState.FAILED, 12, findings=("EROFS",)),
            "12 directories, which can't be looked after: EROFS",
        ),
    ],
)
def test_the_layout_in_words(layout: LayoutStatus, words: str) -> None:
    text = status_text(agent_status(replace(HEALTHY, layout=layout)), NOW, zone=UTC)
    assert f"  layout   {words}\n" in text
    assert exit_code(agent_status(replace(HEALTHY, layout=layout))) == 0


def test_colours_only_where_asked_for() -> None:
    coloured = status_text(agent_status(HUNG), NOW, colour=True, zone=UTC)
    assert "\x1b[1;31mCRITICAL\x1b[0m" in coloured
    assert "\x1b" not in status_text(agent_status(HUNG), NOW, zone=UTC)


def test_a_rejected_configuration_is_shown_and_is_a_warning() -> None:
    status = agent_status(HEALTHY, config=config(ConfigState.REJECTED, "agent.yaml:3:1: a", "b"))
    lines = status_text(status, NOW, zone=UTC).splitlines()
    assert lines[:4] == [
        "gpu-17: WARNING: 1 mount healthy, configuration rejected",
        "configuration rejected: 2 errors, the one before stays in force",
        "  agent.yaml:3:1: a",
        "  b",
    ]
    assert exit_code(status) == 1


def test_rejected_with_nothing_in_force_does_not_speak_of_one_before() -> None:
    nothing = replace(config(ConfigState.REJECTED, "a"), fingerprint="")
    sentence = status_sentence((), nothing, NOW)
    assert sentence == "configuration rejected: 1 error, none is in force"
    assert sentence in status_text(agent_status(config=nothing), NOW)


def test_more_holders_than_a_screen_takes_are_counted() -> None:
    many = replace(HUNG, holders=tuple(Holder(n, "p", 0, "", "cwd") for n in range(14)))
    text = status_text(agent_status(many), NOW, zone=UTC)
    assert text.count("(uid 0): cwd on the old mount") == 10
    assert "           and 4 more" in text


@given(st.text(max_size=300))
def test_foreign_text_never_reaches_a_terminal_raw(foreign: str) -> None:
    layout = LayoutStatus(LayoutState.FINDINGS, 1, findings=(foreign,))
    holders = (Holder(1, foreign, 0, foreign, ""),)
    mount = replace(HUNG, evidence=foreign, holders=holders, layout=layout)
    for line in status_text(agent_status(mount), NOW, zone=UTC).split("\n"):
        assert line.isprintable()


@given(st.lists(st.text("abc/", min_size=1, max_size=30), max_size=60))
def test_lines_are_80_columns(words: list[str]) -> None:
    text = status_text(agent_status(replace(HUNG, evidence=" ".join(words))), NOW, zone=UTC)
    assert max(len(line) for line in text.splitlines()) <= 80


@pytest.mark.parametrize("verdict", Verdict)
def test_exit_code_is_that_of_the_worst(verdict: Verdict) -> None:
    status = agent_status(HEALTHY, replace(HUNG, verdict=verdict))
    assert exit_code(status) == verdict.exit_code


def test_no_mounts() -> None:
    status = agent_status()
    assert exit_code(status) == 0
    assert status_text(status, NOW) == "gpu-17: OK: no mounts configured\n"
    sentence = status_sentence((), config(), NOW)
    assert sentence == "no mounts configured; edit /etc/gluster-ml/agent.yaml"


def test_a_mount_without_a_verdict_is_not_taken_for_well() -> None:
    first = agent_status(unjudged=("model-share",))
    assert exit_code(first) == 3
    assert status_text(first, NOW) == "gpu-17: UNKNOWN: no verdict yet on model-share\n"
    sentence = status_sentence((), config(), NOW, unjudged=("model-share",))
    assert sentence == "no verdict yet on model-share"


def test_a_mount_without_a_verdict_beside_others() -> None:
    well = agent_status(HEALTHY, unjudged=("model-share",))
    assert exit_code(well) == 3
    headline = status_text(well, NOW).splitlines()[0]
    assert headline == "gpu-17: UNKNOWN: 1 mount healthy, no verdict yet on model-share"
    assert exit_code(agent_status(HUNG, unjudged=("datasets",))) == 2


def test_sentences() -> None:
    assert status_sentence((HEALTHY, HEALTHY), config(), NOW) == "2 mounts healthy"
    assert status_sentence((HEALTHY, HUNG), config(), NOW, UTC) == (
        "model-share hung since 14:02 (no answer for 95 s; the client process 4711 is alive);"
        " 1 healthy"
    )
    rejected = config(ConfigState.REJECTED, "a", "b", "c")
    assert status_sentence((HEALTHY,), rejected, NOW) == (
        "configuration rejected: 3 errors, the one before stays in force; 1 mount healthy"
    )
    last_good = config(ConfigState.LAST_GOOD, "a")
    assert status_sentence((HEALTHY,), last_good, NOW) == (
        "configuration invalid: 1 error, the last good one is in force; 1 mount healthy"
    )
    paused = replace(HUNG, verdict=Verdict.PAUSED, observed=Verdict.DEAD, evidence="")
    assert status_sentence((paused,), config(), NOW, UTC) == (
        "model-share paused (observed: dead) since 14:02"
    )


def test_a_sentence_names_the_worst_first_and_stays_short() -> None:
    slow = replace(HUNG, name="slow-one", verdict=Verdict.SLOW, since=NOW - 9999)
    mounts = [slow, *(replace(HUNG, name=f"m{n}", evidence="e\n" * 200) for n in range(9))]
    sentence = status_sentence(mounts, config(), NOW, UTC)
    assert sentence.startswith("m0 hung")
    assert len(sentence) <= 300
    assert sentence.isprintable()
