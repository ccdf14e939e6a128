"""What is told of a mount's troubles, and how long they lasted."""

from pathlib import Path

from agent.events import Event
from agent.model.verdict import Verdict
from agent.mounts.chronicle import Chronicle
from agent.mounts.facts import Judgement
from tests.unit.mounts.world import PATH, World


def test_a_hung_mount_was_broken_from_the_first_late_answer_on(tmp_path: Path) -> None:
    world = World(tmp_path)
    chronicle = Chronicle("a", PATH, world.edges())
    for verdict, now in ((Verdict.HEALTHY, 90.0), (Verdict.SLOW, 100.0), (Verdict.HUNG, 160.0)):
        chronicle.judged(Judgement(verdict, "evidence"), now, tried=False, bare=False)
    chronicle.needs_repair(160.1, Verdict.HUNG)
    chronicle.judged(Judgement(Verdict.HEALTHY, "evidence"), 161.0, tried=False, bare=False)
    assert world.report.told(Event.RECOVERED) == [
        f"{PATH} works again after 61.00 s; cause: the client hung"
    ]


def test_a_client_that_dies_after_it_was_late_was_broken_since_its_death(tmp_path: Path) -> None:
    world = World(tmp_path)
    chronicle = Chronicle("a", PATH, world.edges())
    for verdict, now in ((Verdict.SLOW, 100.0), (Verdict.DEAD, 160.0), (Verdict.HEALTHY, 160.5)):
        chronicle.judged(Judgement(verdict, "evidence"), now, tried=False, bare=False)
    assert world.report.told(Event.RECOVERED) == [
        f"{PATH} works again after 0.50 s; cause: the client died"
    ]
