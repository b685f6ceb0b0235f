"""Rates and shares in words, from summaries that may lack any part."""

from __future__ import annotations

import math

import pytest

from lond.audit.page.style import RATES, Rate, class_rates, read_rate, sure_text
from lond.types import Verdict


def test_certainty_is_never_rounded_up_to() -> None:
    assert [sure_text(share) for share in (0.5, 0.999, 1.0, math.nan)] == ["50 %", "99 %", "100 %", ""]
    assert [sure_text(share, "foreign") for share in (0.923, 0.9996, math.nan)] == ["p 0.077", "p 0.0004", ""]


def test_a_rate_is_told_with_its_interval() -> None:
    assert str(Rate(0.12, 0.104, 0.139)) == "12.0 % (10.4–13.9 %)"
    assert {kind: verdict for kind, (_, verdict) in RATES.items()} == {
        "wrong": Verdict.MISLABELLED,
        "foreign": Verdict.FOREIGN,
    }


def test_an_interval_that_is_not_given_is_the_estimate() -> None:
    assert read_rate({"wrong": {"estimate": 0.5, "low": 0.25, "high": 1}}, "wrong") == Rate(0.5, 0.25, 1.0)
    assert read_rate({"wrong": {"estimate": 0.5, "low": None, "high": math.inf}}, "wrong") == Rate(0.5, 0.5, 0.5)


def test_rates_of_older_summaries_are_read() -> None:
    older = {"closed": {"estimate": 0.5}, "open": {"estimate": 0.25}}
    assert read_rate(older, "wrong") == Rate(0.5, 0.5, 0.5) and read_rate(older, "foreign") == Rate(0.25, 0.25, 0.25)


@pytest.mark.parametrize(
    "rates", [None, [], {}, {"foreign": None}, {"foreign": 0.1}, {"foreign": {"estimate": math.nan}}]
)
def test_a_rate_that_was_not_estimated_is_none(rates: object) -> None:
    assert read_rate(rates, "foreign") is None


def test_classes_of_damaged_summaries_are_left_out() -> None:
    entry = {"class": "cat", "foreign": None}
    assert class_rates({"rates": {"by_class": [entry, "dog", {"class": 3}]}}) == [("cat", entry), ("3", {"class": 3})]
    assert class_rates({}) == class_rates({"rates": None}) == class_rates({"rates": {"by_class": None}}) == []
