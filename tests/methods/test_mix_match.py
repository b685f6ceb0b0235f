"""The semi-supervised step against hand-computed values."""

from __future__ import annotations

import math

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor

from lond.losses import draw_mix
from lond.methods.mix_match import guess, mean_probabilities, mix_match_terms, ramp, refine
from lond.types import Clock


def linear(weights: list[list[float]]):
    matrix = torch.tensor(weights)
    return lambda x: x @ matrix


def test_the_mean_is_over_networks_and_views() -> None:
    nets = [linear([[1.0, 0.0], [0.0, 1.0]]), linear([[2.0, 0.0], [0.0, -1.0]])]
    views = [torch.tensor([[1.0, 2.0], [0.5, 0.0]]), torch.tensor([[0.0, 1.0], [3.0, 1.0]])]
    expected = sum(F.softmax(net(view), dim=1) for net in nets for view in views) / 4
    found = mean_probabilities(nets, views)
    assert torch.allclose(found, expected)
    assert not found.requires_grad


def test_guess_and_refine_by_hand() -> None:
    p = torch.tensor([[0.6, 0.4]])
    assert torch.allclose(guess(p, 0.5), torch.tensor([[0.36, 0.16]]) / 0.52)
    given = torch.tensor([[0.0, 1.0]])
    blend = torch.tensor([[0.25 * 0.6, 0.75 + 0.25 * 0.4]])
    assert torch.allclose(refine(given, torch.tensor([0.75]), p, 0.5), blend**2 / (blend**2).sum())
    assert torch.allclose(refine(given, torch.tensor([1.0]), p, 0.5), given)


RAMP = [
    (Clock(10, 0, 4), 0.0),
    (Clock(10, 2, 4), 0.5 / 16),
    (Clock(18, 0, 4), 0.5),
    (Clock(99, 0, 4), 1.0),
    (Clock(3), 0.0),
]


@pytest.mark.parametrize(("clock", "expected"), RAMP)
def test_ramp(clock: Clock, expected: float) -> None:
    assert ramp(clock, 10, 16) == pytest.approx(expected)
    assert ramp(clock, 10, 0) == 1.0


def reference(
    views: list[Tensor], targets: list[Tensor], rows: int, net, seed: int, concentration: float
) -> tuple[float, float, float]:
    """Row by row: labelled cross-entropy, unlabelled squared error, prior term."""
    inputs, wanted = torch.cat(views), torch.cat(targets)
    mix = draw_mix(len(inputs), concentration, torch.Generator().manual_seed(seed))
    labelled, unlabelled, mean = [], [], torch.zeros(wanted.shape[1])
    for i, j in enumerate(mix.partners.tolist()):
        x = mix.ratio * inputs[i] + (1 - mix.ratio) * inputs[j]
        t = mix.ratio * wanted[i] + (1 - mix.ratio) * wanted[j]
        p = F.softmax(net(x[None])[0], dim=0)
        mean += p / len(inputs)
        if i < rows:
            labelled.append(-sum(t[c].item() * math.log(p[c].item()) for c in range(len(t))))
        else:
            unlabelled.append(sum((p[c].item() - t[c].item()) ** 2 for c in range(len(t))) / len(t))
    prior = sum(math.log(1 / len(mean) / m.item()) / len(mean) for m in mean)
    return sum(labelled) / len(labelled), sum(unlabelled) / max(1, len(unlabelled)), prior


def test_the_three_terms_by_a_slow_loop() -> None:
    random = torch.Generator().manual_seed(0)
    net = linear([[1.0, -1.0, 0.5], [0.0, 2.0, 1.0]])
    labelled = [torch.randn(3, 2, generator=random) for _ in range(2)]
    unlabelled = [torch.randn(4, 2, generator=random) for _ in range(2)]
    targets, guesses = (F.softmax(torch.randn(n, 3, generator=random), dim=1) for n in (3, 4))
    found = mix_match_terms(
        net, labelled, targets, unlabelled, guesses,
        concentration=4.0, unlabelled_weight=25.0, random=torch.Generator().manual_seed(5),
    )  # fmt: skip
    expected = reference([*labelled, *unlabelled], [targets] * 2 + [guesses] * 2, 6, net, 5, 4.0)
    assert found["labelled"].values.shape == (6,)
    assert found["unlabelled"].values.shape == (8,)
    assert found["unlabelled"].weight == 25.0
    means = [float(found[name].values.mean()) for name in ("labelled", "unlabelled", "prior")]
    assert means == pytest.approx(expected, rel=1e-5)


def test_without_weight_unlabelled_rows_are_partners_only() -> None:
    calls = []

    def net(x: Tensor) -> Tensor:
        calls.append(len(x))
        return x

    terms = mix_match_terms(
        net, [torch.eye(3)], torch.eye(3), [torch.ones(5, 3)], torch.full((5, 3), 1 / 3),
        concentration=4.0, unlabelled_weight=0.0, random=torch.Generator().manual_seed(0),
    )  # fmt: skip
    assert calls == [3]
    assert set(terms) == {"labelled", "prior"}


def test_no_unlabelled_samples_at_all() -> None:
    terms = mix_match_terms(
        lambda x: x, [torch.eye(2)], torch.eye(2), [], torch.empty(0, 2),
        concentration=0.0, unlabelled_weight=9.0, random=torch.Generator(),
    )  # fmt: skip
    assert set(terms) == {"labelled", "prior"}
    assert terms["prior"].values.item() == pytest.approx(0.0, abs=1e-6)
