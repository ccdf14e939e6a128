"""Which host looks after the checkpoints of a volume."""

from collections.abc import Sequence

from agent.retention.turns import MISSED, SKIPS, Seen, Word, look


def passes(words: Sequence[Word], host: str = "here") -> list[bool]:
    """Whose pass it is, look by look."""
    known, ours = Seen(), []
    for word in words:
        mine, known = look(word, known, host)
        ours.append(mine)
    return ours


def test_where_nobody_was_it_is_ours() -> None:
    assert passes([Word()]) == [True]


def test_our_own_word_means_that_we_go_on() -> None:
    assert passes([Word("here", "1"), Word("here", "1"), Word("here", "2")]) == [True] * 3


def test_another_one_that_goes_on_is_left_alone() -> None:
    assert passes([Word("there", str(n)) for n in range(SKIPS)]) == [False] * SKIPS


def test_another_one_that_says_nothing_any_more_is_followed() -> None:
    silent = [Word("there", "1")] * (MISSED + 1)
    assert passes(silent) == [False] * MISSED + [True]


def test_one_late_pass_is_no_silence() -> None:
    words = [Word("there", "1"), Word("there", "1"), Word("there", "2"), Word("there", "2")]
    assert passes(words) == [False] * 4


def test_a_forged_word_does_not_keep_us_for_ever() -> None:
    forged = [Word("nobody", str(n)) for n in range(SKIPS + 2)]
    assert passes(forged) == [False] * SKIPS + [True, False]
