"""Which classes lie behind each label: shares put in, shares found."""

from __future__ import annotations

import pytest
import torch

from lond.audit.label_mixes import label_mixes, wrong_ratios


def test_known_mixes_are_found() -> None:
    random = torch.Generator().manual_seed(0)
    probabilities = torch.softmax(3 * torch.randn(20_000, 4, generator=random, dtype=torch.float64), dim=1)
    true = torch.multinomial(probabilities, 1, generator=random).squeeze(1)
    # Class 0 is often called 1, class 2 sometimes 3, the others never anything else.
    turned = torch.rand(20_000, generator=random) < torch.tensor([0.4, 0.0, 0.2, 0.0])[true]
    labels = torch.where(turned, true + 1, true)
    mixes, _ = label_mixes(probabilities, labels)
    expected = torch.stack([torch.bincount(true[labels == label], minlength=4) for label in range(4)]).double()
    assert torch.allclose(mixes, expected / expected.sum(dim=1, keepdim=True), atol=0.03)


def test_one_round_by_hand() -> None:
    probabilities = torch.tensor([[0.75, 0.25], [0.25, 0.75]])
    mixes, ratios = label_mixes(probabilities, torch.tensor([0, 1]), rounds=1)
    assert torch.allclose(ratios, 2 * probabilities.double())
    assert torch.allclose(mixes, torch.tensor([[0.75, 0.25], [0.25, 0.75]], dtype=torch.float64))


def test_certain_right_labels_leave_nothing_wrong() -> None:
    labels = torch.arange(30) % 3
    mixes, ratios = label_mixes(torch.eye(3)[labels], labels)
    assert torch.allclose(mixes, torch.eye(3, dtype=torch.float64))
    assert wrong_ratios(mixes, ratios, labels).tolist() == [0.0] * 30


def test_wrong_ratios_by_hand() -> None:
    mixes = torch.tensor([[0.5, 0.3, 0.2], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]], dtype=torch.float64)
    ratios = torch.tensor([[1.0, 2.0, 3.0], [1.0, 2.0, 3.0]], dtype=torch.float64)
    assert wrong_ratios(mixes, ratios, torch.tensor([0, 1])).tolist() == pytest.approx([0.6 * 2 + 0.4 * 3, 2.0])


def test_empty_labels_single_images_and_one_class() -> None:
    mixes, _ = label_mixes(torch.tensor([[0.9, 0.05, 0.05]]), torch.tensor([0]))
    assert mixes[1].tolist() == [0.25, 0.5, 0.25]
    assert mixes.sum(dim=1).tolist() == pytest.approx([1, 1, 1])
    mixes, ratios = label_mixes(torch.ones(2, 1), torch.zeros(2, dtype=torch.long))
    assert mixes.tolist() == [[1.0]]
    assert wrong_ratios(mixes, ratios, torch.zeros(2, dtype=torch.long)).tolist() == [0.0, 0.0]
    none, _ = label_mixes(torch.empty(0, 2), torch.empty(0, dtype=torch.long))
    assert none.tolist() == [[0.5, 0.5], [0.5, 0.5]]
