"""Whose turn a routine pass is."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.layout.seen import Turn
from agent.layout.turns import SKIPS, Decision, decide

WORD = st.builds(Turn, st.sampled_from(["", "a", "b"]), st.sampled_from(["", "mine", "other"]))


@pytest.mark.parametrize(
    ("found", "decision"),
    [
        (Turn(), Decision.OURS),
        (Turn("a", "mine"), Decision.OURS),
        (Turn("b", "mine"), Decision.THEIRS),
        (Turn("b", "other"), Decision.DISPUTED),
        (Turn("a", "other"), Decision.OURS),
    ],
)
def test_word_that_is_new_is_another_hosts(found: Turn, decision: Decision) -> None:
    assert decide(found, Turn("a", "mine"), "mine", 0) is decision


@given(WORD, WORD)
def test_forged_word_keeps_nobody_from_looking_for_ever(found: Turn, known: Turn) -> None:
    assert decide(found, known, "mine", SKIPS) is not Decision.THEIRS
