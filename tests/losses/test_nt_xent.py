"""NT-Xent against loops, by hand, and as the instance level of the bi-level loss."""

from __future__ import annotations

import math

import pytest
import torch
import torch.nn.functional as F

from lond.losses import bi_level_contrastive, nt_xent


def views(batch: int, seed: int = 0) -> tuple[torch.Tensor, torch.Tensor]:
    random = torch.Generator().manual_seed(seed)
    first, second = F.normalize(torch.randn(2, batch, 5, generator=random), dim=2)
    return first, second


@pytest.mark.parametrize(("batch", "tau"), [(2, 0.5), (7, 0.05), (16, 0.2)])
def test_equals_the_loop(batch: int, tau: float) -> None:
    first, second = views(batch)
    rows = [*first.double().tolist(), *second.double().tolist()]

    def similarity(i: int, j: int) -> float:
        return math.exp(math.fsum(a * b for a, b in zip(rows[i], rows[j], strict=True)) / tau)

    expected = []
    for i in range(2 * batch):
        others = math.fsum(similarity(i, r) for r in range(2 * batch) if r != i)
        expected.append(-math.log(similarity(i, (i + batch) % (2 * batch)) / others))
    losses = nt_xent(first, second, tau)
    assert losses.tolist() == pytest.approx(expected, abs=1e-4)


def test_is_the_bi_level_loss_without_trusted_labels() -> None:
    first, second = views(6)
    identities = torch.arange(6).repeat(2)
    expected = bi_level_contrastive(torch.cat([first, second]), identities, identities * 0, torch.zeros(12), 0.1)
    assert torch.allclose(nt_xent(first, second, 0.1), expected, atol=1e-5)


def test_one_sample_has_nothing_to_tell_it_from() -> None:
    first, second = views(1)
    assert nt_xent(first, second, 0.05).tolist() == [0.0, 0.0]


def test_alike_views_cost_less_and_gradients_are_finite() -> None:
    first, second = views(8)
    assert nt_xent(first, first, 0.5).mean() < nt_xent(first, second, 0.5).mean()
    first.requires_grad_()
    nt_xent(first, second, 0.05).mean().backward()
    assert first.grad is not None and first.grad.isfinite().all()


def test_half_precision_is_not_used_for_similarities() -> None:
    first, second = views(8)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        losses = nt_xent(first, second, 0.05)
    assert losses.dtype == torch.float32
    assert torch.equal(losses, nt_xent(first, second, 0.05))
