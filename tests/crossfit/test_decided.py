"""What a person decided: the labels that are learned from, and how much they count."""

from __future__ import annotations

import torch

from lond.crossfit.decided import NO_CLASS, UNDECIDED, taught_labels, taught_weights


def test_decisions_replace_labels_and_count_fully() -> None:
    labels = torch.tensor([0, 1, 2, -2, 1])
    decided = torch.tensor([UNDECIDED, 2, NO_CLASS, 0, 1])
    assert taught_labels(labels, None) is labels
    taught = taught_labels(labels, decided)
    assert taught.tolist() == [0, 2, NO_CLASS, 0, 1]
    chances = torch.log_softmax(torch.randn(5, 3, generator=torch.Generator().manual_seed(0)), dim=1)
    plain = taught_weights(chances, labels, None)
    expected = [float(chances[row, label].exp() / chances[row].exp().max()) for row, label in enumerate([0, 1, 2])]
    assert torch.allclose(plain[:3], torch.tensor(expected)) and plain[3] == 0
    assert taught_weights(chances, taught, decided).tolist() == [float(plain[0]), 1.0, 1.0, 1.0, 1.0]
