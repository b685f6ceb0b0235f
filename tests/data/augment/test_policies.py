"""Policy tables, and what is drawn from them."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor

from lond.data.augment.plans import OPS, SIGNED
from lond.data.augment.policies import (
    AUTOAUGMENT_CIFAR10,
    RANGES,
    STRONG_POLICIES,
    draw_autoaugment,
    draw_randaugment,
)


def seeded(seed: int = 0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def random_images(*shape: int) -> Tensor:
    return torch.randint(0, 256, shape, generator=seeded(3)).to(torch.uint8)


def test_the_table_has_25_pairs_of_known_ops() -> None:
    assert len(AUTOAUGMENT_CIFAR10) == 25
    for pair in AUTOAUGMENT_CIFAR10:
        assert len(pair) == 2
        for name, chance, level in pair:
            assert name in RANGES
            assert 0 <= chance <= 1
            assert 0 <= level <= 9
    assert tuple(RANGES) == OPS
    assert len(OPS) == 15
    assert list(STRONG_POLICIES) == ["autoaugment", "randaugment", "augmix", "geometric", "none"]


def test_autoaugment_applies_ops_as_often_as_the_table_says() -> None:
    draws = 200_000
    plan = draw_autoaugment(draws, seeded())
    for slot in range(2):
        for number, name in enumerate(OPS):
            wanted = sum(pair[slot][1] for pair in AUTOAUGMENT_CIFAR10 if pair[slot][0] == name) / 25
            assert (plan.ops[:, slot] == number).float().mean().item() == pytest.approx(wanted, abs=0.004)


def test_autoaugment_draws_the_published_magnitudes_with_both_signs() -> None:
    plan = draw_autoaugment(50_000, seeded(1))
    for slot in range(2):
        for number, name in enumerate(OPS):
            values = plan.values[plan.ops[:, slot] == number, slot]
            levels = {pair[slot][2] for pair in AUTOAUGMENT_CIFAR10 if pair[slot][0] == name and pair[slot][1] > 0}
            low, high = RANGES[name]
            wanted = sorted({round(low + (high - low) * level / 9, 3) for level in levels})
            assert sorted({round(value, 3) for value in values.abs().tolist()}) == wanted
            if number < SIGNED and 0 not in levels and len(values) > 0:
                assert (values > 0).float().mean().item() == pytest.approx(0.5, abs=0.06)
            elif number >= SIGNED:
                assert bool((values >= 0).all())


def test_randaugment_is_uniform_over_ops_and_levels() -> None:
    plan = draw_randaugment(150_000, seeded())
    shares = torch.bincount(plan.ops.flatten(), minlength=16) / plan.ops.numel()
    assert torch.allclose(shares[:15], torch.full((15,), 0.5 / 15), atol=0.002)
    assert shares[15].item() == pytest.approx(0.5, abs=0.005)
    angles = plan.values[plan.ops == OPS.index("rotate")].abs()
    levels = (angles / 30 * 9).round().long().bincount(minlength=10) / len(angles)
    assert levels[0] == 0
    assert torch.allclose(levels[1:], torch.full((9,), 1 / 9), atol=0.02)


@pytest.mark.parametrize("name", STRONG_POLICIES)
@pytest.mark.parametrize("shape", [(40, 3, 16, 16), (40, 1, 8, 13), (1, 3, 16, 16), (0, 3, 16, 16)], ids=str)
def test_policies_repeat_for_equal_generators(name: str, shape: tuple[int, ...]) -> None:
    images = random_images(*shape)
    policy = STRONG_POLICIES[name]
    first, second = policy(images, seeded(7)), policy(images, seeded(7))
    assert first.dtype == torch.uint8
    assert first.shape == images.shape
    assert torch.equal(first, second)
    if shape[0] == 40 and name != "none":
        assert not torch.equal(first, policy(images, seeded(8)))
        assert not torch.equal(first, images)


def test_geometric_fills_with_black_and_keeps_blank_images_blank() -> None:
    images = torch.full((64, 1, 20, 20), 200, dtype=torch.uint8)
    result = STRONG_POLICIES["geometric"](images, seeded())
    assert result.min() == 0
    assert result.max() == 200
    assert bool((result[:, :, 8:12, 8:12] == 200).all())
