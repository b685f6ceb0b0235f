"""Losses refuse parts of different lengths, which broadcasting or gathering would hide."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from torch import Tensor

from lond import losses
from lond.losses.rows import check_rows

LONG, SHORT = 6, 5
MIX = losses.Mix(0.7, torch.arange(LONG))


def rows(count: int, *shape: int) -> Tensor:
    return torch.rand(count, *shape)


def labels(count: int) -> Tensor:
    return torch.zeros(count, dtype=torch.long)


CASES: dict[str, Callable[[int], Tensor]] = {
    "nt_xent": lambda n: losses.nt_xent(rows(LONG, 4), rows(n, 4), 0.5),
    "generalised_cross_entropy": lambda n: losses.generalised_cross_entropy(rows(LONG, 3), labels(n), 0.7),
    "one_vs_all": lambda n: losses.one_vs_all(rows(LONG, 3, 2), rows(n, 3)),
    "one_vs_all_consistency": lambda n: losses.one_vs_all_consistency(rows(LONG, 3, 2), rows(n, 3, 2)),
    "soft_cross_entropy": lambda n: losses.soft_cross_entropy(rows(LONG, 3), rows(n, 3)),
    "pseudo_label_distance": lambda n: losses.pseudo_label_distance(rows(LONG, 3), rows(n, 3)),
    "jeffreys_divergence": lambda n: losses.jeffreys_divergence(rows(LONG, 3), rows(n, 3)),
    "negative_learning": lambda n: losses.negative_learning(rows(LONG, 3), rows(n, 3) > 0.5),
    "binary_bank": lambda n: losses.binary_bank(rows(LONG, 3, 2), labels(n), labels(LONG)[:, None]),
    "hardest_other": lambda n: losses.hardest_other(rows(LONG, 3), labels(n)),
    "instance_contrastive": lambda n: losses.instance_contrastive(rows(LONG, 4), rows(n, 4), 0.5),
    "subgraph_contrastive": lambda n: losses.subgraph_contrastive(
        rows(LONG, 4), rows(LONG, 4), labels(n), labels(LONG) == 0, 0.5
    ),
    "bi_level_contrastive": lambda n: losses.bi_level_contrastive(
        rows(LONG, 4), torch.arange(LONG), labels(LONG), rows(n), 0.5
    ),
    "mixed_bi_level_contrastive": lambda n: losses.mixed_bi_level_contrastive(
        rows(LONG, 4), labels(n), rows(n), (MIX,), 0.5
    ),
    "mix_inputs": lambda n: losses.mix_inputs(rows(n, 4), MIX),
    "mix_losses": lambda n: losses.mix_losses(lambda targets: targets.sum(dim=1), rows(n, 3), MIX),
}


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("count", [1, SHORT, LONG + 1])
def test_parts_of_different_lengths_are_refused(name: str, count: int) -> None:
    assert len(CASES[name](LONG)) >= LONG
    with pytest.raises(ValueError, match="needs one row a sample in each of its parts, not .*, "):
        CASES[name](count)


def test_sharpening_takes_one_exponent_or_one_a_row() -> None:
    assert losses.sharpen(rows(4, 3), rows(4)).shape == losses.sharpen(rows(4, 3), 2.0).shape
    with pytest.raises(ValueError, match="exponents"):
        losses.sharpen(rows(4, 3), rows(3))


def test_a_single_number_has_no_rows() -> None:
    with pytest.raises(ValueError, match=r"logits \(2, 3\), labels \(\)"):
        check_rows(logits=rows(2, 3), labels=torch.tensor(1))


def test_arrays_are_refused_with_advice() -> None:
    with pytest.raises(TypeError, match=r"losses take tensors; give torch.as_tensor\(logits\) for this ndarray"):
        losses.generalised_cross_entropy(rows(2, 3).numpy(), labels(2), 0.7)  # type: ignore[arg-type]


ONLY = torch.rand(3)
ALIKE: dict[str, Callable[[], Tensor]] = {
    "soft_cross_entropy": lambda: losses.soft_cross_entropy(rows(3, 3), ONLY),
    "soft_cross_entropy, column": lambda: losses.soft_cross_entropy(rows(3, 3), ONLY[:, None]),
    "jeffreys_divergence": lambda: losses.jeffreys_divergence(rows(3, 3), ONLY[:, None]),
    "negative_learning": lambda: losses.negative_learning(rows(3, 3), ONLY > 0.5),
    "pseudo_label_distance": lambda: losses.pseudo_label_distance(rows(3, 3), ONLY),
    "one_vs_all_consistency": lambda: losses.one_vs_all_consistency(rows(3, 3, 2), rows(3, 1, 2)),
    "nt_xent": lambda: losses.nt_xent(ONLY, ONLY, 0.5),
}


@pytest.mark.parametrize("name", ALIKE)
def test_parts_that_would_be_broadcast_are_refused(name: str) -> None:
    with pytest.raises(ValueError, match="parts of one shape with . dimensions, not"):
        ALIKE[name]()


@pytest.mark.parametrize("shape", [(4, 2), (4, 3), (4, 3, 3)])
def test_one_vs_all_logits_have_pairs(shape: tuple[int, ...]) -> None:
    with pytest.raises(ValueError, match=r"one-vs-all logits are \(B, C, 2\), not"):
        losses.log_odds(torch.rand(shape))


@pytest.mark.parametrize(
    "loss",
    [
        losses.jensen_shannon_to_label,
        losses.log_complements,
        losses.negative_entropy,
        losses.positive_probabilities,
        losses.prior_penalty,
    ],
)
def test_functions_of_one_array_refuse_arrays_too(loss: Callable[[object], Tensor]) -> None:
    with pytest.raises(TypeError, match="losses take tensors"):
        loss(rows(4, 3, 2).numpy())
