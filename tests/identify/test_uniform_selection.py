"""UNICON's selection: the cut-off by hand, the choice against a loop, and the edges."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from lond.identify import divergence_cutoff, divergence_weights, select_uniformly
from lond.types import UNLABELLED


def test_the_cutoff_by_hand() -> None:
    low, high = torch.tensor([0.1, 0.2, 0.6]), torch.tensor([0.6, 0.9, 0.9])
    assert divergence_cutoff(low) == pytest.approx(0.3)
    assert divergence_cutoff(high) == pytest.approx(0.8 - 0.2 / 5)
    assert divergence_cutoff(high, correction=2) == pytest.approx(0.7)
    assert divergence_cutoff(high, limit=0.8001) == pytest.approx(0.8)
    assert divergence_cutoff(low, limit=0.2) == pytest.approx(0.3 - 0.2 / 5)


def test_every_class_gives_as_many() -> None:
    divergences = torch.tensor([0.5, 0.1, 0.3, 0.2, 0.9, 0.8, 0.7, 0.6])
    labels = torch.tensor([0, 0, 0, 0, 1, 1, 1, 1])
    chosen, ratio = select_uniformly(divergences, labels, 2, 0.55)
    # Four lie below the cut-off, all of class 0; two of each class are taken.
    assert ratio == 0.5
    assert chosen.tolist() == [False, True, False, True, False, False, True, True]


def slow_choice(divergences: list[float], labels: list[int], classes: int, cutoff: float) -> list[bool]:
    below = sum(d < cutoff for d, label in zip(divergences, labels, strict=True) if label >= 0)
    quota = max(1, below // classes) if below else 0
    chosen = set()
    for label in range(classes):
        own = [index for index, given_label in enumerate(labels) if given_label == label]
        chosen |= set(sorted(own, key=lambda index: (divergences[index], index))[:quota])
    return [index in chosen for index in range(len(labels))]


@given(
    st.lists(st.tuples(st.sampled_from([0.0, 0.25, 0.5, 0.75, 1.0]), st.sampled_from([-2, 0, 1, 3])), max_size=30),
    st.sampled_from([0.0, 0.3, 0.6, 2.0]),
)
@settings(max_examples=100, deadline=None)
def test_the_choice_equals_the_loop(rows: list[tuple[float, int]], cutoff: float) -> None:
    divergences, labels = [row[0] for row in rows], [row[1] for row in rows]
    chosen = select_uniformly(torch.tensor(divergences), torch.tensor(labels, dtype=torch.long), 4, cutoff).chosen
    assert chosen.tolist() == slow_choice(divergences, labels, 4, cutoff)


def test_nothing_below_the_cutoff() -> None:
    chosen, ratio = select_uniformly(torch.full((6,), 0.4), torch.arange(6) % 2, 2, 0.4)
    assert not chosen.any()
    assert ratio == 0


def test_more_classes_than_trusted_samples() -> None:
    chosen, ratio = select_uniformly(torch.tensor([0.1, 0.9, 0.9]), torch.tensor([0, 1, 5]), 50, 0.5)
    assert chosen.all()
    assert ratio == pytest.approx(1 / 3)


def test_unlabelled_samples_are_neither_chosen_nor_counted() -> None:
    labels = torch.tensor([UNLABELLED, 0, 1, UNLABELLED])
    chosen, ratio = select_uniformly(torch.tensor([0.0, 0.1, 0.9, 0.0]), labels, 2, 0.5)
    assert chosen.tolist() == [False, True, True, False]
    assert ratio == 0.5


def test_weights() -> None:
    weights = divergence_weights(torch.tensor([0.0, 0.49, 0.5, 0.8, 1.0, 1.0000001]))
    assert weights.tolist() == pytest.approx([1, 1, 0.5, 0.2, 0, 0], abs=1e-6)
    assert (weights >= 0).all()
