"""Figures of the benchmarks: medians, ratios, and bounds that can break."""

import json

from tests.bench.figures import Figure, as_json, as_markdown, as_text, median, ratio


def test_a_median_keeps_its_spread_and_its_bound() -> None:
    figure = median("a", [0.3, 0.1, 0.2], at_most=200)
    assert (figure.value, figure.spread, figure.holds) == (200.0, "100 to 300 (3)", True)
    assert not median("a", [0.3, 0.1, 0.25], at_most=200).holds


def test_a_ratio_breaks_its_bound_only_above_it() -> None:
    two, one = Figure("two", 2.0, "s"), Figure("one", 1.0, "s")
    assert ratio("r", two, one, 2).holds
    assert not ratio("r", two, one, 1.9).holds


def test_a_figure_without_a_bound_holds() -> None:
    assert Figure("a", 1e9, "ms").holds


def test_every_table_says_what_is_broken() -> None:
    figures = [Figure("good", 1.0, "ms", 2.0), Figure("bad", 3.0, "ms", 2.0)]
    about = {"cores": "2"}
    assert "BROKEN" in as_text(figures).splitlines()[2]
    assert "| bad | 3.00 ms |  | 2.00 ms | BROKEN |" in as_markdown(about, figures)
    told = json.loads(as_json(about, figures))
    assert [figure["holds"] for figure in told["figures"]] == [True, False]
