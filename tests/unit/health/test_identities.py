"""What `status` tells of users and groups."""

from dataclasses import replace

from agent.health.identities import SHOWN, lines
from agent.health.report import exit_code, status_text
from agent.model.status import IdentitiesState, IdentitiesStatus, RemapState, RemapStatus
from tests.unit.health.samples import HEALTHY, IDENTITIES, NOW, agent_status


def test_each_difference_has_its_word() -> None:
    text = status_text(agent_status(HEALTHY, identities=IDENTITIES), NOW)
    assert text.endswith(
        """
users and groups: differs
  failed   user carol with number 20003 and group 20000: useradd failed: no
           space left
  lacks    user carol with number 20003 and group 20000
  conflict user alice is number 20001 in the file, and number 1001 on this host
  finding  user bob is in 90 groups: GlusterFS serves none with more than 87
"""
    )


def test_the_mounts_verdict_is_not_affected() -> None:
    assert exit_code(agent_status(HEALTHY, identities=IDENTITIES)) == 0


def test_where_all_agree_nothing_is_told() -> None:
    settled = IdentitiesStatus(IdentitiesState.SETTLED, checked=NOW)
    for status in (agent_status(HEALTHY, identities=settled), agent_status(HEALTHY)):
        assert "users" not in status_text(status, NOW)


def test_more_than_a_screen_takes_is_counted() -> None:
    many = replace(IDENTITIES, missing=tuple(f"user u{n}" for n in range(100)))
    told = list(lines(many))
    assert told[-1].strip() == f"{103 - SHOWN} more: gluster-ml-agent ids check"


def test_where_the_search_for_old_ids_stands() -> None:
    found = RemapStatus(RemapState.WALKING, "enforce", 120, 12, 10, problems=("a/b: is odd",))
    text = status_text(agent_status(replace(HEALTHY, remap=found)), NOW)
    assert (
        "  old ids  120 files looked at, 12 with an old id, 10 changed so far\n"
        "           a/b: is odd\n" in text
    )
    done = RemapStatus(RemapState.DONE, "report", 120, 12, ended=NOW, host="gpu-3")
    text = status_text(agent_status(replace(HEALTHY, remap=done)), NOW)
    assert "  old ids  120 files looked at, 12 with an old id, by gpu-3\n" in text
