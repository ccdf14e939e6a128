from hypothesis import given
from hypothesis import strategies as st

from agent.model.mount import Obstacle, ObstacleKind
from agent.mounts import servers
from agent.system.net import Contact, Outcome

NAMES = ("node1", "node2", "node3", "node4")


def contacts(**outcomes: Outcome) -> dict[str, Contact]:
    return {name: Contact(name, outcome) for name, outcome in outcomes.items()}


def test_those_that_answer_come_first_in_the_files_order() -> None:
    found = contacts(
        node1=Outcome.SILENT, node2=Outcome.ANSWERED, node3=Outcome.LATE, node4=Outcome.ANSWERED
    )
    assert servers.order(NAMES, found) == ("node2", "node4", "node3", "node1")


def test_what_is_not_known_to_fail_comes_before_what_is() -> None:
    found = contacts(node1=Outcome.REFUSED, node2=Outcome.UNRESOLVABLE)
    assert servers.order(NAMES, found) == ("node3", "node4", "node1", "node2")


def test_servers_that_attempts_failed_with_come_last_for_a_while() -> None:
    failed_at = {"node1": 100.0, "node3": 90.0}
    assert servers.by_failures(NAMES, failed_at, 110.0) == ("node2", "node4", "node3", "node1")
    assert servers.by_failures(NAMES, failed_at, 401.0) == NAMES
    assert servers.by_failures(NAMES, {}, 0.0) == NAMES


@given(st.dictionaries(st.sampled_from(NAMES), st.sampled_from(Outcome)))
def test_none_is_lost(outcomes: dict[str, Outcome]) -> None:
    assert sorted(servers.order(NAMES, contacts(**outcomes))) == sorted(NAMES)


@given(st.dictionaries(st.sampled_from(NAMES), st.sampled_from(Outcome)))
def test_a_preferred_server_that_answers_stays_first(outcomes: dict[str, Outcome]) -> None:
    found = contacts(**{**outcomes, "node1": Outcome.ANSWERED})
    assert servers.order(NAMES, found)[0] == "node1"


def test_the_evidence_in_words() -> None:
    found = [Contact("node1", Outcome.SILENT), Contact("node2", Outcome.ANSWERED, 0.0021)]
    assert servers.describe(found) == "node1 silent, node2 answered in 2 ms"


def test_what_is_in_the_way_until_one_answers() -> None:
    found = contacts(
        node1=Outcome.SILENT, node2=Outcome.UNREACHABLE, node3=Outcome.UNRESOLVABLE
    ) | contacts(node4=Outcome.REFUSED)
    assert servers.obstacles(found.values()) == (
        Obstacle(ObstacleKind.SILENT, "node1"),
        Obstacle(ObstacleKind.SILENT, "node2"),
        Obstacle(ObstacleKind.UNRESOLVABLE, "node3"),
        Obstacle(ObstacleKind.REFUSED, "node4"),
    )
    assert servers.obstacles((found | contacts(node2=Outcome.ANSWERED)).values()) == ()
