"""Policy tables, what is drawn from them, and how plans are carried out."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor

from lond.data.augment import colour
from lond.data.augment.geometry import affine, affine_matrix
from lond.data.augment.plans import GEOMETRIC, OPS, SIGNED, AugmentationPlan, apply_plan
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


def slow_op(image: Tensor, name: str, value: Tensor, centre: Tensor) -> Tensor:
    """Apply one op to one ``(1, C, H, W)`` image."""
    place = OPS.index(name)
    if place < GEOMETRIC:
        amounts = torch.zeros(5)
        amounts[place] = value
        matrix = affine_matrix(
            (image.shape[2], image.shape[3]), angle=amounts[4:], shear=amounts[None, :2], shift=amounts[None, 2:4]
        )
        return affine(image, matrix, fill=128)
    if name in ("invert", "autocontrast", "equalize"):
        return getattr(colour, name)(image)  # type: ignore[no-any-return]
    if name == "cutout":
        return colour.cutout(image, value[None], centre[None])
    factor = value[None] + (1 if place < SIGNED else 0)
    return getattr(colour, name)(image, factor)  # type: ignore[no-any-return]


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


@pytest.mark.parametrize("shape", [(90, 3, 16, 16), (90, 1, 12, 17), (1, 3, 16, 16)], ids=str)
def test_a_plan_does_to_each_image_what_its_ops_do_alone(shape: tuple[int, ...]) -> None:
    images = random_images(*shape)
    before = images.clone()
    for plan in (draw_autoaugment(shape[0], seeded(4)), draw_randaugment(shape[0], seeded(5))):
        result = apply_plan(images, plan)
        for number in range(shape[0]):
            image = images[number : number + 1]
            for slot in range(2):
                if plan.ops[number, slot] < len(OPS):
                    name = OPS[int(plan.ops[number, slot])]
                    image = slow_op(image, name, plan.values[number, slot], plan.centres[number, slot])
            assert torch.equal(result[number], image[0])
    assert torch.equal(images, before)


@pytest.mark.parametrize("level", [0, 9])
@pytest.mark.parametrize("channels", [1, 3])
def test_every_op_survives_its_extremes(level: int, channels: int) -> None:
    images = random_images(30, channels, 16, 11)
    ops = torch.arange(15).repeat(2)[:, None]
    signs = torch.tensor([1.0, -1.0]).repeat_interleave(15)
    signs[15 + SIGNED :] = 1
    values = torch.tensor([RANGES[OPS[number]][level == 9] for number in ops.flatten().tolist()]) * signs
    result = apply_plan(images, AugmentationPlan(ops, values[:, None], torch.full((30, 1, 2), 0.5)))
    assert result.shape == images.shape
    if level == 0:
        changing = {"invert", "autocontrast", "equalize"}
        kept = [number for number in range(30) if OPS[number % 15] not in changing]
        assert torch.equal(result[kept], images[kept])


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
