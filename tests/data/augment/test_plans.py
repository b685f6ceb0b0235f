"""How plans are carried out: to each image its own ops, in its own order."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor

from lond.data.augment import colour
from lond.data.augment.geometry import affine, affine_matrix
from lond.data.augment.plans import GEOMETRIC, OPS, SIGNED, AugmentationPlan, apply_plan
from lond.data.augment.policies import RANGES, draw_autoaugment, draw_randaugment


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


def plan_of(*rows: tuple[str, float]) -> AugmentationPlan:
    """Return a plan that does to one image one op after the other."""
    ops = torch.tensor([[OPS.index(name) if name else len(OPS) for name, _ in rows]])
    return AugmentationPlan(ops, torch.tensor([[value for _, value in rows]]), torch.full((1, len(rows), 2), 0.5))


def test_slots_follow_one_another() -> None:
    """200 is not below 100 and becomes 55, which inverted is 200; the other way round 55 stays 55."""
    image = torch.full((1, 1, 2, 2), 200, dtype=torch.uint8)
    assert apply_plan(image, plan_of(("solarize", 100.0), ("invert", 0.0))).unique().tolist() == [200]
    assert apply_plan(image, plan_of(("invert", 0.0), ("solarize", 100.0))).unique().tolist() == [55]
    assert apply_plan(image, plan_of(("brightness", -0.5), ("", 0.0))).unique().tolist() == [100]
    assert image.unique().tolist() == [200]
