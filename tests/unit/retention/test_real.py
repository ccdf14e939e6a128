"""The recognisers, on what frameworks have really written."""

import pytest

from agent.retention.formats import sound
from tests.unit.retention import real
from tests.unit.retention.trees import TreeView


@pytest.fixture(params=sorted(real.FAMILIES))
def writer(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def test_all_that_a_framework_wrote_is_found(writer: str) -> None:
    recorded = real.recorded(writer)
    real.check(real.runs(TreeView(recorded.run)), writer, recorded.truth)


def test_a_save_that_was_cut_counts_for_nothing(writer: str) -> None:
    recorded = real.recorded(writer)
    assert len(recorded.cuts) > 2
    for cut in recorded.cuts:
        real.check_cut(real.runs(TreeView(cut)), writer, cut, recorded)


def test_what_a_framework_wrote_is_sound(writer: str) -> None:
    view = TreeView(real.recorded(writer).run)
    assert [why for entry in view.entries().values() if (why := sound.unsound(view, entry))] == []
