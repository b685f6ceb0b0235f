"""Ranks against values computed by hand."""

from __future__ import annotations

from tools.reproduced.ranking import ranked, ranked_table, ranks, same_order

from lond.paper.reproduce.lines import FITTED_CLEAN, Line


def line(row: str, values: list[float], published: float | None, metric: str = "accuracy", **rest: str) -> Line:
    place = {"data": "cifar80n", "noise": "sym80", "reading": "", **rest}
    found = dict(enumerate(values))
    return Line(row, "", "", place["data"], place["noise"], metric, place["reading"], found, published, comparable=True)


def test_ranks_by_hand() -> None:
    assert ranks({"a": 50.0, "b": 70.0, "c": 50.0, "d": 40.0}) == {"a": 2, "b": 1, "c": 2, "d": 4}
    assert ranks({"a": 50.0, "b": 70.0}, lower_is_better=True) == {"a": 1, "b": 2}
    assert ranks({}) == {}


CONTENDERS = [
    line("A", [50.0, 52.0], 60.0),
    line("B", [40.0], 70.0),
    line("C", [45.0], None),
    line("D", [], 90.0),
    line("A", [99.0], 60.0, reading=FITTED_CLEAN),
]


def test_only_what_was_run_is_ranked() -> None:
    assert ranked(CONTENDERS) == ({"A": 1, "B": 3, "C": 2}, {"A": 2, "B": 1})
    assert same_order(CONTENDERS) == (0, 1)
    assert ranked_table(CONTENDERS).texts() == [
        [f"A ({FITTED_CLEAN})", "99.00 (n=1)", "60.00", "+39.00", "–", "–"],
        ["A", "51.00 ± 1.41 (n=2)", "60.00", "-9.00", "1", "2"],
        ["C", "45.00 (n=1)", "–", "–", "2", "–"],
        ["B", "40.00 (n=1)", "70.00", "-30.00", "3", "1"],
    ]


def test_less_is_better_where_it_is() -> None:
    rates = [line("A", [90.0], 95.0, "fpr95"), line("B", [80.0], 93.0, "fpr95"), line("C", [70.0], 93.0, "fpr95")]
    assert ranked(rates) == ({"A": 3, "B": 2, "C": 1}, {"A": 3, "B": 1, "C": 1})
    assert same_order(rates) == (2, 2)
    assert [row[0] for row in ranked_table(rates).texts()] == ["C", "B", "A"]
