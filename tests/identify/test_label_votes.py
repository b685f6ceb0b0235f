"""Votes of the neighbours' labels against loops, and at the edges."""

from __future__ import annotations

import math

import pytest
import torch

from lond.identify import Neighbours, label_votes, nearest_neighbours, scattered_labels


def by_loops(labels: list[int], neighbours: Neighbours, classes: int, temperature: float) -> list[list[float]]:
    rows = []
    for indices, similarities in zip(neighbours.indices.tolist(), neighbours.similarities.tolist(), strict=True):
        shares = [0.0] * classes
        for index, similarity in zip(indices, similarities, strict=True):
            if labels[index] >= 0:
                shares[labels[index]] += math.exp(similarity / temperature)
        total = sum(shares)
        rows.append([share / total if total else 1 / classes for share in shares])
    return rows


@pytest.mark.parametrize("classes", [2, 5])
@pytest.mark.parametrize("temperature", [0.05, 0.2, 3.0])
def test_equals_loops(classes: int, temperature: float) -> None:
    random = torch.Generator().manual_seed(classes)
    bank = torch.nn.functional.normalize(torch.randn(30, 4, generator=random, dtype=torch.float64), dim=1)
    labels = torch.randint(-2, classes, (30,), generator=random)
    labels[labels == -1] = 0
    found = nearest_neighbours(bank, 6, include_self=False)
    votes = label_votes(labels, found, classes, temperature)
    assert votes.tolist() == [pytest.approx(row) for row in by_loops(labels.tolist(), found, classes, temperature)]
    assert scattered_labels(votes).tolist() == pytest.approx([1 - max(row) for row in votes.tolist()])


def test_by_hand() -> None:
    found = Neighbours(torch.tensor([[0, 1, 2], [3, 3, 3]]), torch.tensor([[1.0, 1.0, 1.0], [0.5, 0.5, 0.5]]))
    votes = label_votes(torch.tensor([0, 0, 1, -2]), found, 2)
    assert torch.allclose(votes, torch.tensor([[2 / 3, 1 / 3], [0.5, 0.5]]))
    assert torch.allclose(scattered_labels(votes), torch.tensor([1 / 3, 0.5]))
    # A vote falls to 1 / e over a similarity of 0.2.
    unlike = Neighbours(torch.tensor([[0, 1]]), torch.tensor([[0.9, 0.7]]))
    assert label_votes(torch.tensor([0, 1]), unlike, 2)[0, 0].item() == pytest.approx(math.e / (math.e + 1))


def test_small_temperatures_neither_overflow_nor_vanish() -> None:
    found = Neighbours(torch.tensor([[0, 1]]), torch.tensor([[1.0, 0.9]]))
    for sign in (1.0, -1.0):
        signed = Neighbours(found.indices, sign * found.similarities)
        votes = label_votes(torch.tensor([1, 0]), signed, 3, 1e-4)
        assert torch.allclose(votes, torch.tensor([[0.0, 1.0, 0.0]]) if sign > 0 else torch.tensor([[1.0, 0.0, 0.0]]))


def test_no_queries() -> None:
    empty = Neighbours(torch.empty(0, 3, dtype=torch.long), torch.empty(0, 3))
    assert label_votes(torch.tensor([0, 1]), empty, 2).shape == (0, 2)


def test_scattered_labels_by_hand() -> None:
    """A class of which only half of the voters can be is measured by that half; more than all it has counts as all."""
    votes = torch.tensor([[0.5, 0.25, 0.25], [0.125, 0.125, 0.75]])
    assert scattered_labels(votes).tolist() == [0.5, 0.25]
    assert scattered_labels(votes, torch.tensor([1.0, 0.5, 1.0])).tolist() == [0.5, 0.25]
    assert scattered_labels(votes, torch.tensor([1.0, 0.25, 0.5])).tolist() == [0.0, 0.0]
    assert scattered_labels(votes, torch.tensor([0.25, 1.0, 1.0])).tolist() == [0.0, 0.25]
