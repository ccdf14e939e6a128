"""The options of the agent's own mounts."""

from agent.config.options_table import OptionValue
from agent.system.workmount import fresh_view, true_view

JOBS: dict[str, OptionValue] = {
    "acl": True,
    "attribute-timeout": 600,
    "entry-timeout": 600,
    "dump-fuse": "/srv/x",
}
TIMEOUTS = ("entry-timeout", "attribute-timeout", "negative-timeout")


def test_no_cache_answers_who_must_know() -> None:
    assert true_view("v", JOBS) == {
        "acl": True,
        **dict.fromkeys(TIMEOUTS, 0),
        "xlator-option": "v-md-cache.md-cache-timeout=0",
    }
    given = {**JOBS, "xlator-option": "transport.address-family=inet6"}
    assert true_view("v", given)["xlator-option"] == "transport.address-family=inet6"


def test_a_second_at_most_whatever_the_jobs_have() -> None:
    assert fresh_view(JOBS) == {"acl": True, **dict.fromkeys(TIMEOUTS, 1)}
    assert fresh_view({}) == dict.fromkeys(TIMEOUTS, 1)
