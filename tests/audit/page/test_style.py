"""Rates and shares in words, from summaries that may lack any part."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import pytest
from audit.result_samples import one_image

from lond.audit.page.style import RATES, Rate, caption, chance_text, class_rates, read_rate
from lond.types import Verdict


def test_certainty_is_never_rounded_up_to() -> None:
    assert [chance_text(share) for share in (0.5, 0.999, 1.0, math.nan)] == ["50 %", "99 %", "100 %", ""]


def test_every_percentage_is_the_chance_of_the_words_before_it() -> None:
    def told(verdict: str, **changes: Any) -> tuple[str, str, str]:
        table = one_image(verdict).table
        return caption(replace(table, **{name: (value,) for name, value in changes.items()}), 0)

    assert told("mislabelled", confidence=0.6, wrong_score=0.8) == ("cat", "→ dog 60 %", "label wrong 80 %")
    assert told("mislabelled", confidence=0.6) == ("cat", "→ dog 60 %", "")
    assert told("foreign", confidence=0.92, suggested_label="") == ("cat", "", "foreign 92 %")
    assert told("foreign", confidence=0.92, suggested_label="", p_value=0.077) == ("cat", "", "p 0.077")
    assert told("clean", confidence=0.9, suggested_label="cat") == ("cat", "", "label right 90 %")
    assert told("unlabelled", confidence=0.7, label="") == ("(no label)", "→ dog 70 %", "")
    assert told("unreadable", suggested_label="") == ("cat", "", "")


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
