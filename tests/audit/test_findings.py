"""From what was learned to rows and figures: eight images, of which five are learned from."""

from __future__ import annotations

import math
from types import SimpleNamespace
from typing import Any

import pytest
import torch

from lond.audit.copies.duplicates import find_duplicates
from lond.audit.findings import Findings
from lond.audit.judge.learn import Learned
from lond.crossfit.chances import FOREIGN_FROM, load_table
from lond.crossfit.evidence import LabelEvidence
from lond.crossfit.features import Preparation
from lond.crossfit.judgement import Judgement
from lond.frozen.read import ImageFacts
from lond.identify import Neighbours
from lond.types import UNLABELLED, Problem, Samples

IDS = ("clean", "clash", "foreign", "broken", "copy", "bare", "clash again", "wrong")
VERDICTS = [
    "clean", "duplicate conflict", "foreign", "unreadable", "clean", "unlabelled", "duplicate conflict", "mislabelled",
]  # fmt: skip


@pytest.fixture
def found() -> Findings:
    labels = torch.tensor([0, 0, 1, 1, 0, UNLABELLED, 1, 0])
    hashes = ["h0", "h1", "h2", "", "h0", "h5", "h1", "h7"]
    samples: Any = Samples(range(8), labels, ("cat", "dog"), IDS, problems=(Problem("row 9", "no such file"),))
    facts = ImageFacts(samples, hashes, {3: "cut short"}, torch.zeros(8, 1, 0), None, None)
    chances = torch.tensor([[0.85, 0.15, 0.0], [0.75, 0.25, 0.0], [0.05, 0.05, 0.9], [0.7, 0.1, 0.2], [0.1, 0.8, 0.1]])
    likely = torch.tensor([[0.9, 0.1], [0.8, 0.2], [0.5, 0.5], [0.3, 0.7], [0.05, 0.95]])
    own = torch.tensor([0, UNLABELLED, 1, UNLABELLED, 0])
    label = torch.tensor([0, 0, 1, 1, 0])
    near = Neighbours(torch.zeros(5, 1, dtype=torch.long), torch.zeros(5, 1))
    opinions: Any = SimpleNamespace(
        near=near,
        at_once=5,
        shares=lambda rows: likely[rows],
        members=lambda rows: likely[rows],
        log_chances=lambda rows: likely[rows].log(),
    )
    best = likely.max(dim=1)
    evidence = LabelEvidence(
        {}, {"disagreement": 0.2}, label, 1 - label, best.indices, best.values, torch.ones(5), opinions
    )
    sure = torch.tensor([0.1, 0.2, 0.3, 0.4, 0.95])
    preparation = Preparation(torch.zeros(2), None)
    judgement = Judgement(own, evidence, chances, sure, torch.zeros(5, 2), preparation, label, load_table())
    learned = Learned(judgement, torch.tensor([[1], [0], [3], [2], [0]]))
    return Findings(facts, find_duplicates(hashes, labels), torch.tensor([0, 1, 2, 5, 7]), learned)


def test_a_copy_has_what_was_learned_of_its_original(found: Findings) -> None:
    assert found.own_row().tolist() == [0, 1, 2, -1, 0, 3, 1, 4]
    assert found.verdicts(found.own_row()) == VERDICTS


def test_the_table_says_nothing_that_is_not_known(found: Findings) -> None:
    at = found.own_row()
    table = found.table(at, found.verdicts(at))
    assert table.label == ("cat", "cat", "dog", "dog", "cat", "", "dog", "cat")
    assert table.suggested_label == ("cat", "cat", "", "", "cat", "dog", "cat", "dog")
    unlabelled = 0.7 * (1 - 0.2)
    assert table.confidence == pytest.approx((0.85, 0.8, 0.9, math.nan, 0.85, unlabelled, 0.8, 0.8), nan_ok=True)
    assert table.foreign_score == pytest.approx((0, 0, 0.9, math.nan, 0, 0.2, 0, 0.1), nan_ok=True)
    assert table.duplicate_of == ("", "", "", "", "clean", "", "clash", "")
    assert table.reason == ("", "", "", "cut short", "", "", "", "")
    assert table.neighbours[3:6] == ((), ("clash",), ("foreign",))


def test_a_suggestion_is_never_likelier_than_a_wrong_label(found: Findings) -> None:
    """The confidence of 0.95 was fitted apart from the chance of a wrong label, 0.8."""
    at = found.own_row()
    table = found.table(at, found.verdicts(at))
    assert table.wrong_score == pytest.approx((0.15, 0.2, 0.05, math.nan, 0.15, math.nan, 0.8, 0.8), nan_ok=True)
    for row in table.rows():
        if row["label"] and row["suggested_label"] not in ("", row["label"]):
            assert row["confidence"] <= row["wrong_score"]


def test_a_copy_is_measured_by_its_own_label(found: Findings) -> None:
    """Of a vote of 0.8 for cat, the label cat is 0.6 ahead, and dog as far behind."""
    at = found.own_row()
    margins = found.table(at, found.verdicts(at)).neighbour_margin
    assert (margins[1], margins[6]) == pytest.approx((0.6, -0.6)) and math.isnan(margins[3])


def test_the_summary_counts_every_image_and_names_all_problems(found: Findings) -> None:
    summary = found.summary(found.verdicts(found.own_row()), ["a note"], [])
    assert (summary["images"], summary["notes"], summary["threshold"]) == (8, ["a note"], FOREIGN_FROM)
    assert summary["counts"] == {verdict: VERDICTS.count(verdict) for verdict in VERDICTS}
    # Of three labelled images one is clean, one foreign and one wrong.
    assert summary["rates"]["wrong"]["estimate"] == pytest.approx((0.15 + 0.05 + 0.8) / 3)
    assert summary["rates"]["foreign"]["estimate"] == pytest.approx((0 + 0.9 + 0.1) / 3)
    assert summary["confusions"] == [{"given": "cat", "suggested": "dog", "images": 1}]
    assert summary["problems"] == [
        {"id": "broken", "reason": "cut short"}, {"id": "row 9", "reason": "no such file"},
    ]  # fmt: skip


def test_all_copies_of_an_image_name_their_group(found: Findings) -> None:
    at = found.own_row()
    table = found.table(at, found.verdicts(at))
    assert table.copy_group == ("1", "2", "", "", "1", "", "2", "")


def test_the_figure_that_is_compared_with_the_limit_is_told(found: Findings) -> None:
    at = found.own_row()
    verdicts = found.verdicts(at)
    table, summary = found.table(at, verdicts), found.summary(verdicts, [], [])
    expected = (0.15, 0.2, 0.05 / 0.1, math.nan, 0.15, math.nan, 0.8, 0.8 / 0.9)
    assert table.wrong_if_known == pytest.approx(expected, nan_ok=True)
    for verdict, chance in zip(table.verdict, table.wrong_if_known, strict=True):
        if verdict in ("clean", "mislabelled"):
            assert (verdict == "mislabelled") == (chance > summary["wrong_threshold"])
