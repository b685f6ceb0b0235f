"""Which classes lie behind each label: shares put in, shares found."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor

from lond.audit.rates.label_mixes import (
    LABEL_PRIOR,
    PSEUDO_COUNTS,
    choose_counts,
    label_mixes,
    label_posteriors,
    smoothed_mixes,
    wrong_ratios,
)
from lond.types import UNLABELLED


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


def test_smoothed_mixes_by_hand() -> None:
    mixes = torch.tensor([[0.8, 0.2, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]], dtype=torch.float64)
    counts = torch.tensor([10, 20, 10])
    found = smoothed_mixes(mixes, counts, 6.0)
    mean = 0.2 * 10 / 40
    wrong = [(0.2 * 10 + mean * LABEL_PRIOR) / (10 + LABEL_PRIOR), mean * LABEL_PRIOR / (20 + LABEL_PRIOR)]
    assert found[0].tolist() == pytest.approx([1 - wrong[0], wrong[0] * 5 / 8, wrong[0] * 3 / 8])
    assert found[1].tolist() == pytest.approx([wrong[1] / 2, 1 - wrong[1], wrong[1] / 2])
    assert found.sum(dim=1).tolist() == pytest.approx([1, 1, 1])


COUNT, N_CLASSES = 20_000, 8


def noisy(seed: int, *, uneven: bool) -> tuple[Tensor, Tensor, Tensor]:
    """Return true probabilities, classes drawn from them, and labels of which three in ten are wrong.

    Uneven ones are those of the next class, even ones of any other.
    """
    random = torch.Generator().manual_seed(seed)
    probabilities = torch.softmax(2 * torch.randn(COUNT, N_CLASSES, generator=random), dim=1)
    true = torch.multinomial(probabilities, 1, generator=random).squeeze(1)
    step = torch.ones(COUNT, dtype=torch.long) if uneven else torch.randint(1, N_CLASSES, (COUNT,), generator=random)
    return probabilities, true, torch.where(torch.rand(COUNT, generator=random) < 0.3, (true + step) % N_CLASSES, true)


@pytest.mark.parametrize("uneven", [True, False])
def test_the_label_helps_where_the_look_leaves_doubt(uneven: bool) -> None:
    probabilities, true, labels = noisy(0, uneven=uneven)
    count, classes = probabilities.shape
    everyone = torch.ones(count, dtype=torch.bool)
    found = label_posteriors(probabilities, labels, everyone, everyone)
    assert torch.allclose(found.sum(dim=1), torch.ones(count, dtype=torch.float64))
    # Bayes' rule with the true noise.
    channel = 0.7 * torch.eye(classes) + 0.3 * (
        torch.eye(classes).roll(1, dims=1) if uneven else (1 - torch.eye(classes)) / (classes - 1)
    )
    exact = probabilities * channel[:, labels].T
    exact = exact / exact.sum(dim=1, keepdim=True)
    assert float((found - exact).abs().mean()) < 0.01
    accuracy = (found.argmax(dim=1) == true).float().mean()
    assert accuracy > (probabilities.argmax(dim=1) == true).float().mean() + 0.1


@pytest.mark.parametrize("uneven", [True, False])
def test_confusions_are_believed_only_where_they_explain_something(uneven: bool) -> None:
    """The model leans from each class to the next a little, as models do with like classes."""
    probabilities, _, labels = noisy(1, uneven=uneven)
    leaning = 0.95 * probabilities + 0.05 * probabilities.roll(1, dims=1)
    chosen = choose_counts(leaning, labels, torch.ones(COUNT, dtype=torch.bool), 0)
    assert bool((chosen <= 30).all()) if uneven else bool((chosen == PSEUDO_COUNTS[-1]).all())


@pytest.mark.parametrize("classes", [10, 60])
def test_a_confusion_of_one_class_is_seen_among_many(classes: int) -> None:
    """Classes look alike in pairs; three of ten images of class 1 carry the label 0."""
    random = torch.Generator().manual_seed(0)
    true = torch.arange(classes).repeat_interleave(100)
    means = 4 * torch.eye(classes) + 2 * torch.eye(classes)[torch.arange(classes) ^ 1]
    looks = means[true] + torch.randn(len(true), classes, generator=random)
    probabilities = torch.softmax(-((looks[:, None] - means) ** 2).sum(dim=2) / 2, dim=1)
    taken = (true == 1) & (torch.rand(len(true), generator=random) < 0.3)
    labels = torch.where(taken, 0, true)
    everyone = torch.ones(len(true), dtype=torch.bool)
    chosen = choose_counts(probabilities, labels, everyone, 0)
    assert float(chosen[0]) <= 100
    assert bool((chosen[1:] == PSEUDO_COUNTS[-1]).all())
    called = label_posteriors(probabilities, labels, everyone, everyone).argmax(dim=1) != labels
    assert float(called[taken].double().mean()) > 0.8
    assert int(called[~taken].sum()) <= 3


def test_posteriors_where_there_is_nothing_to_fit() -> None:
    told = torch.tensor([[0.6, 0.4], [0.3, 0.7], [0.5, 0.5]]).double()
    labels = torch.tensor([0, UNLABELLED, 1])
    everyone = torch.ones(3, dtype=torch.bool)
    assert torch.equal(label_posteriors(told, labels, everyone, everyone)[1], told[1])
    assert label_posteriors(told, torch.full((3,), UNLABELLED), everyone, everyone).equal(told)
    assert label_posteriors(told, labels, ~everyone, everyone).equal(told)
    one = torch.ones(3, 1, dtype=torch.float64)
    assert label_posteriors(one, torch.zeros(3, dtype=torch.long), everyone, everyone).equal(one)
    assert label_posteriors(told, labels, everyone, ~everyone).isfinite().all()
