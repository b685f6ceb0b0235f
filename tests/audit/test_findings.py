"""From what was learned to rows and figures: eight images, of which five are learned from."""

from __future__ import annotations

import math
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest
import torch

from lond.audit.copies.duplicates import find_duplicates
from lond.audit.findings import Findings
from lond.audit.judge.learn import Learned
from lond.frozen.read import ImageFacts
from lond.runs.calibration import Calibration
from lond.types import UNLABELLED, Prediction, Problem, Samples

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
    truths = torch.tensor([[0.9, 0.1], [0.8, 0.2], [0.5, 0.5], [0.3, 0.7], [0.05, 0.95]])
    scores = torch.tensor([0.1, 0.2, 0.9, 0.3, 0.4])
    learned: Any = Learned(
        run=SimpleNamespace(config=SimpleNamespace(settings=SimpleNamespace(identify=SimpleNamespace(top=1)))),
        prediction=Prediction(truths, scores, torch.zeros(5, 2), truths.log()),
        votes=truths,
        denials=1 - truths,
        embeddings=torch.zeros(5, 2),
        neighbours=torch.tensor([[1], [0], [3], [2], [0]]),
        truths=truths,
        decision=Calibration(0.5, 0.2, torch.tensor([0.1, 0.2, 0.3, 0.4]), "by hand"),
    )
    return Findings(facts, find_duplicates(hashes, labels), torch.tensor([0, 1, 2, 5, 7]), learned)


def test_a_copy_has_what_was_learned_of_its_original(found: Findings) -> None:
    assert found.own_row().tolist() == [0, 1, 2, -1, 0, 3, 1, 4]
    assert found.verdicts(found.own_row()) == VERDICTS


def test_without_a_decision_nothing_is_foreign(found: Findings) -> None:
    undecided = replace(found, learned=replace(found.learned, decision=None))
    assert "foreign" not in undecided.verdicts(found.own_row())
    assert undecided.summary(undecided.verdicts(found.own_row()), [], [])["threshold"] is None


def test_the_table_says_nothing_that_is_not_known(found: Findings) -> None:
    at = found.own_row()
    table = found.table(at, found.verdicts(at))
    assert table.label == ("cat", "cat", "dog", "dog", "cat", "", "dog", "cat")
    assert table.suggested_label == ("cat", "cat", "", "", "cat", "dog", "cat", "dog")
    assert table.confidence == pytest.approx((0.9, 0.8, math.nan, math.nan, 0.9, 0.7, 0.8, 0.95), nan_ok=True)
    assert table.foreign_score == pytest.approx((0.1, 0.2, 0.9, math.nan, 0.1, 0.3, 0.2, 0.4), nan_ok=True)
    assert table.p_value[2] == pytest.approx(0.2) and math.isnan(table.p_value[3])
    assert table.duplicate_of == ("", "", "", "", "clean", "", "clash", "")
    assert table.reason == ("", "", "", "cut short", "", "", "", "")
    assert table.neighbours[3:6] == ((), ("clash",), ("foreign",))


def test_a_copy_is_measured_by_its_own_label(found: Findings) -> None:
    """Of a vote of 0.8 for cat, the label cat is 0.6 ahead, and dog as far behind."""
    at = found.own_row()
    margins = found.table(at, found.verdicts(at)).neighbour_margin
    assert (margins[1], margins[6]) == pytest.approx((0.6, -0.6)) and math.isnan(margins[3])


def test_the_summary_counts_every_image_and_names_all_problems(found: Findings) -> None:
    summary = found.summary(found.verdicts(found.own_row()), ["a note"], [])
    assert (summary["images"], summary["notes"], summary["threshold"]) == (8, ["a note"], 0.5)
    assert summary["counts"] == {verdict: VERDICTS.count(verdict) for verdict in VERDICTS}
    assert summary["confusions"] == [{"given": "cat", "suggested": "dog", "images": 1}]
    assert summary["problems"] == [
        {"id": "broken", "reason": "cut short"}, {"id": "row 9", "reason": "no such file"},
    ]  # fmt: skip
