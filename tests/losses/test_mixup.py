"""Eq. 3: the draw, the mixed inputs and the mixed losses."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from reference import losses as ref

from lond.losses.mixup import Mix, draw_mix, mix_inputs, mix_losses
from lond.losses.one_vs_all import one_vs_all


def generator(seed: int = 0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


@settings(max_examples=60, deadline=None, derandomize=True)
@given(st.integers(1, 40), st.floats(0.05, 8), st.integers(0, 2**31))
def test_draw_gives_a_permutation_and_the_larger_share(size: int, concentration: float, seed: int) -> None:
    mix = draw_mix(size, concentration, generator(seed))
    assert 0.5 <= mix.ratio <= 1
    assert sorted(mix.partners.tolist()) == list(range(size))


def test_draw_depends_on_the_generator_alone() -> None:
    first, again, other = (draw_mix(16, 1.0, generator(seed)) for seed in (3, 3, 4))
    assert first.ratio == again.ratio
    assert torch.equal(first.partners, again.partners)
    assert first.ratio != other.ratio
    torch.manual_seed(0)
    np.random.seed(0)
    assert draw_mix(16, 1.0, generator(3)).ratio == first.ratio


def test_successive_draws_differ() -> None:
    source = generator()
    weak, strong = draw_mix(64, 1.0, source), draw_mix(64, 1.0, source)
    assert weak.ratio != strong.ratio
    assert not torch.equal(weak.partners, strong.partners)


@pytest.mark.parametrize(("concentration", "mean"), [(1.0, 0.75), (0.5, 0.5 + 1 / np.pi)])
def test_ratio_has_the_mean_of_a_folded_beta(concentration: float, mean: float) -> None:
    """E max(l, 1 - l): 3/4 for the uniform, 1/2 + 1/pi for the arcsine distribution."""
    source = generator()
    ratios = [draw_mix(1, concentration, source).ratio for _ in range(4000)]
    assert np.mean(ratios) == pytest.approx(mean, abs=0.012)


def test_concentration_zero_switches_mixing_off() -> None:
    mix = draw_mix(8, 0.0, generator())
    x = torch.randn(8, 3, generator=generator())
    assert mix.ratio == 1
    assert torch.equal(mix_inputs(x, mix), x)
    assert torch.equal(mix_losses(lambda t: t.sum(1), x, mix), x.sum(1))


def test_inputs_by_hand() -> None:
    x = torch.tensor([[0.0], [10.0], [100.0]])
    mixed = mix_inputs(x, Mix(0.75, torch.tensor([1, 2, 0])))
    assert mixed.flatten().tolist() == [2.5, 32.5, 75.0]
    assert x.flatten().tolist() == [0, 10, 100]


def test_inputs_equal_loops_in_double() -> None:
    x = torch.randn(5, 2, 3, dtype=torch.float64, generator=generator())
    mix = draw_mix(5, 1.0, generator())
    mixed = mix_inputs(x, mix)
    assert mixed.dtype == torch.float64
    for i, j in enumerate(mix.partners.tolist()):
        np.testing.assert_allclose(mixed[i], mix.ratio * x[i] + (1 - mix.ratio) * x[j], rtol=1e-14, atol=1e-15)


def test_losses_by_hand() -> None:
    targets = torch.tensor([[1.0, 0.0], [0.0, 1.0]])
    cost = torch.tensor([[1.0, 2.0], [30.0, 40.0]])
    mixed = mix_losses(lambda t: (t * cost).sum(1), targets, Mix(0.75, torch.tensor([1, 0])))
    assert mixed.tolist() == [0.75 * 1 + 0.25 * 2, 0.75 * 40 + 0.25 * 30]


def test_losses_mix_losses_not_labels() -> None:
    """The two differ for a loss that is not linear in the target."""
    targets = torch.tensor([[1.0, 0.0], [0.0, 1.0]])
    mixed = mix_losses(lambda t: t.square().sum(1), targets, Mix(0.5, torch.tensor([1, 0])))
    assert mixed.tolist() == [1, 1]


def test_losses_equal_reference() -> None:
    rng = np.random.default_rng(0)
    logits, targets = rng.normal(size=(6, 4, 2)), rng.random((6, 4))
    mix = draw_mix(6, 1.0, generator())
    got = mix_losses(lambda t: one_vs_all(torch.tensor(logits), t), torch.tensor(targets), mix)
    swapped = targets[mix.partners.numpy()]
    expected = mix.ratio * ref.one_vs_all(logits, targets) + (1 - mix.ratio) * ref.one_vs_all(logits, swapped)
    np.testing.assert_allclose(got, expected, rtol=2e-6)


def test_gradients() -> None:
    mix = Mix(0.7, torch.tensor([2, 0, 1]))
    x = torch.randn(3, 2, dtype=torch.float64, generator=generator(), requires_grad=True)
    assert torch.autograd.gradcheck(lambda a: mix_inputs(a, mix).square(), (x,))
    targets = torch.rand(3, 2, dtype=torch.float64, generator=generator(1))
    assert torch.autograd.gradcheck(lambda a: mix_losses(lambda t: (a * t).sum(1).square(), targets, mix), (x,))
    (gradient,) = torch.autograd.grad(mix_inputs(x, mix)[0].sum(), x)
    np.testing.assert_allclose(gradient[:, 0], [0.7, 0, 0.3], atol=1e-12)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_half_precision_extremes(dtype: torch.dtype) -> None:
    x = torch.tensor([[60000.0], [-60000.0]], dtype=dtype)
    mixed = mix_inputs(x, Mix(0.75, torch.tensor([1, 0])))
    assert mixed.dtype == dtype
    np.testing.assert_allclose(mixed.float(), [[30000], [-30000]], rtol=4e-3)


def test_batch_of_one_mixes_with_itself() -> None:
    x = torch.tensor([[3.0, 4.0]])
    mix = draw_mix(1, 1.0, generator())
    torch.testing.assert_close(mix_inputs(x, mix), x)
    torch.testing.assert_close(mix_losses(lambda t: t.sum(1), x, mix), x.sum(1))
