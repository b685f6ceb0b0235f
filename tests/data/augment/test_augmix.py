"""AugMix: what is drawn, and the mixture against a loop over images, chains and ops."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor

from lond.data.augment.augmix import DEPTH, RANGES, SIGNED_RANGES, WIDTH, Mixture, apply_mixture, augmix, draw_augmix
from lond.data.augment.plans import OPS, AugmentationPlan, apply_plan


def seeded(seed: int = 0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def random_images(*shape: int) -> Tensor:
    return torch.randint(0, 256, shape, generator=seeded(3)).to(torch.uint8)


def test_thirteen_ops_without_inversion_and_cutout() -> None:
    assert len(RANGES) == 13
    assert set(OPS) - set(RANGES) == {"invert", "cutout"}


def test_depths_and_ops_are_uniform() -> None:
    plan = draw_augmix(30_000, seeded()).chains
    assert plan.ops.shape == plan.values.shape == (WIDTH * 30_000, DEPTH)
    used = plan.ops < len(OPS)
    assert torch.equal(used, used.cummin(dim=1).values)
    depths = torch.bincount(used.sum(dim=1), minlength=4) / len(used)
    assert torch.allclose(depths, torch.tensor([0, 1 / 3, 1 / 3, 1 / 3]), atol=0.01)
    shares = torch.bincount(plan.ops[used], minlength=len(OPS)) / used.sum()
    expected = torch.tensor([1 / 13 if name in RANGES else 0.0 for name in OPS])
    assert torch.allclose(shares, expected, atol=0.004)


def test_magnitudes_are_those_of_severity_one() -> None:
    plan = draw_augmix(20_000, seeded(1)).chains
    for name, (low, high) in RANGES.items():
        values = plan.values[plan.ops == OPS.index(name)]
        ends = sorted(low + (high - low) * level / 10 for level in (0.1, 1.0))
        sizes = values.abs() if name in SIGNED_RANGES else values
        assert sizes.min().item() >= ends[0] - 1e-5
        assert sizes.max().item() <= ends[1] + 1e-5
        if high != low:
            assert sizes.mean().item() == pytest.approx(sum(ends) / 2, rel=0.02)
        if name in SIGNED_RANGES:
            assert (values > 0).float().mean().item() == pytest.approx(0.5, abs=0.03)
    # 4 bits whatever the level; the blends keep 12 to 28 % of the image.
    assert set(plan.values[plan.ops == OPS.index("posterize")].round().tolist()) == {4.0}
    factors = 1 + plan.values[plan.ops == OPS.index("contrast")]
    assert factors.min().item() >= 0.118 - 1e-5
    assert factors.max().item() <= 0.28 + 1e-5


def test_weights_are_beta_and_dirichlet_and_sum_to_one() -> None:
    weights = draw_augmix(100_000, seeded(2)).weights
    assert weights.shape == (WIDTH + 1, 100_000)
    assert torch.allclose(weights.sum(dim=0), torch.ones(100_000), atol=1e-5)
    assert (weights >= 0).all()
    own = weights[0]
    assert own.mean().item() == pytest.approx(1 / 2, abs=0.005)
    assert own.var().item() == pytest.approx(1 / 12, abs=0.002)
    chains = weights[1:] / (1 - own)
    assert torch.allclose(chains.mean(dim=1), torch.full((3,), 1 / 3), atol=0.005)
    # Var of one part of Dirichlet(1, 1, 1) is 2 / (9 * 4).
    assert torch.allclose(chains.var(dim=1), torch.full((3,), 1 / 18), atol=0.002)


@pytest.mark.parametrize("shape", [(30, 3, 12, 12), (30, 1, 9, 13), (1, 3, 8, 8)], ids=str)
def test_the_mixture_equals_the_loop(shape: tuple[int, ...]) -> None:
    images = random_images(*shape)
    before = images.clone()
    mixture = draw_augmix(len(images), seeded(4))
    got = apply_mixture(images, mixture)
    assert torch.equal(images, before)
    plan = mixture.chains
    for number, image in enumerate(images):
        mixed = mixture.weights[0, number] * image.double()
        for chain in range(WIDTH):
            row = chain * len(images) + number
            single = AugmentationPlan(plan.ops[row, None], plan.values[row, None], plan.centres[row, None])
            mixed += mixture.weights[1 + chain, number] * apply_plan(image[None], single)[0].double()
        assert (got[number].double() - mixed).abs().max() <= 0.5 + 1e-3


def test_all_weight_on_the_image_changes_nothing() -> None:
    images = random_images(20, 3, 8, 8)
    mixture = draw_augmix(20, seeded(5))
    own = torch.zeros_like(mixture.weights)
    own[0] = 1
    assert torch.equal(apply_mixture(images, Mixture(mixture.chains, own)), images)


def test_blank_images_do_not_fade() -> None:
    """Weights that sum to one leave a grey image grey, unlike a mixture that drops two of the chains."""
    images = torch.full((200, 1, 8, 8), 128, dtype=torch.uint8)
    chains = draw_augmix(200, seeded(6)).chains
    nothing = AugmentationPlan(torch.full_like(chains.ops, len(OPS)), chains.values, chains.centres)
    assert torch.equal(apply_mixture(images, Mixture(nothing, draw_augmix(200, seeded(7)).weights)), images)


def test_no_images() -> None:
    assert augmix(torch.empty(0, 3, 8, 8, dtype=torch.uint8), seeded()).shape == (0, 3, 8, 8)
