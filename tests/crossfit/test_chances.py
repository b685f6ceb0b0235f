"""From evidence to probabilities: a small table by hand, and the one that comes with the package."""

from __future__ import annotations

import math
from typing import Any

import pytest
import torch

from lond.crossfit.chances import (
    DOUBTED_FROM,
    FOREIGN_FROM,
    called_foreign,
    called_wrong,
    chances,
    confidence,
    inputs,
    load_table,
    logits,
    table_of,
)
from lond.crossfit.evidence import LabelEvidence, gather

TABLE = table_of(
    {
        "image": ["doubt", "far"],
        "whole": ["size"],
        "mean": [1, 0, 8],
        "scale": [1, 2, 4],
        "inner": [[1, 0], [0, 1], [0, 2]],
        "inner_offsets": [0.5, -1],
        "weights": [[0, 1, 0], [0, 0, 3]],
        "offsets": [1, 0, -1],
        "suggestion": [0.5, 1.0, 2.0],
        "spread": {"wrong": [[0.1, 0.2], [0.3, 0.4]]},
    }
)


@pytest.fixture
def found() -> LabelEvidence:
    image = {"doubt": torch.tensor([1.0, 2.0]), "far": torch.tensor([0.0, 3.0])}
    labels, other = torch.tensor([0, 0]), torch.tensor([1, 2])
    best, share = torch.tensor([0, 2]), torch.tensor([0.3 / 0.4, 0.6 / 0.8])
    nothing: Any = None
    return LabelEvidence(image, {"size": 10.0}, labels, other, best, torch.ones(2), share, nothing)


def test_probabilities_by_hand(found: LabelEvidence) -> None:
    assert inputs(found.image, found.whole, TABLE.image, TABLE.whole).tolist() == [[1, 0, 10], [2, 3, 10]]
    # Inputs of the network: (0, 0, 0.5) and (1, 1.5, 0.5).
    hidden = [[math.tanh(0.5), math.tanh(0.0)], [math.tanh(1.5), math.tanh(1.5)]]
    wanted = torch.tensor([[1.0, first, 3 * second - 1] for first, second in hidden])
    assert torch.allclose(chances(found, TABLE), torch.softmax(wanted, dim=1))


def test_inputs_far_from_the_fitted_sets_count_as_at_the_border() -> None:
    usual = torch.tensor([[5.0, 8.0, 24.0], [-3.0, -8.0, -8.0]])
    far = torch.tensor([[1e6, 1e4, 25.0], [-50.0, -9.0, -1e9]])
    assert torch.equal(logits(far, TABLE), logits(usual, TABLE))
    assert not torch.allclose(logits(usual, TABLE), logits(usual - usual.sign(), TABLE))


def test_probabilities_are_computed_in_parts(found: LabelEvidence, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = chances(found, TABLE)
    monkeypatch.setattr("lond.crossfit.chances.ROWS", 1)
    assert torch.equal(chances(found, TABLE), whole)


def test_a_suggestion_is_as_sure_as_the_label_is_wrong_and_others_are_unlikely(found: LabelEvidence) -> None:
    sure = confidence(found, torch.tensor([0.5, 0.9]), TABLE)
    assert sure[0].item() == pytest.approx(1 / (1 + math.exp(-(0.5 + 2 * math.log(3)))))
    assert sure[1].item() == pytest.approx(1 / (1 + math.exp(-(0.5 + math.log(9) + 2 * math.log(3)))), abs=1e-6)
    assert float(confidence(found, torch.tensor([0.0, 1.0]), TABLE).min()) > 0


def test_an_image_is_foreign_or_wrong_or_neither() -> None:
    likely = torch.tensor([[0.1, 0.2, 0.7], [0.45, 0.45, 0.1], [0.6, 0.3, 0.1], [0.0, 0.5, 0.5], [0.39, 0.01, 0.6]])
    assert called_foreign(likely).tolist() == [True, False, False, False, False]
    assert called_wrong(likely, called_foreign(likely)).tolist() == [False, True, False, True, False]
    assert FOREIGN_FROM >= 0.5 and DOUBTED_FROM <= 0.5


def test_the_table_of_the_package_fits_the_evidence() -> None:
    generator = torch.Generator().manual_seed(0)
    features = torch.nn.functional.normalize(torch.randn(40, 6, generator=generator), dim=1)
    found = gather(features, torch.arange(40) % 2, 2, torch.arange(40) // 2 % 4)
    table = load_table()
    assert inputs(found.image, found.whole, table.image, table.whole).shape == (40, len(table.inner))
    assert set(table.image) == set(found.image) and set(table.whole) == set(found.whole)
    likely = chances(found, table)
    assert likely.shape == (40, 3) and torch.allclose(likely.sum(dim=1), torch.ones(40))
    assert set(table.spread) == {"wrong", "foreign", "either"}
