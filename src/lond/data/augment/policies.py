"""Strong augmentation policies: literal tables, sampled per image, applied to the whole batch op by op.

``autoaugment`` is the CIFAR-10 policy of AutoAugment (Cubuk et al., 2019, arXiv:1805.09501, appendix) with the
magnitude ranges of the usual PyTorch port; unlike that port, rotation has a random sign too, and all geometric
ops take the nearest pixel. ``randaugment`` draws two of 15 ops with replacement, each kept with probability 0.5.
``augmix`` has its own module. ``geometric`` is for images where colours and mirror images mean something, such as
digits.
"""

from __future__ import annotations

from collections.abc import Callable
from types import MappingProxyType
from typing import Final

import torch
from torch import Generator, Tensor

from lond.data.augment.augmix import augmix
from lond.data.augment.geometry import affine, affine_matrix
from lond.data.augment.plans import OPS, SIGNED, AugmentationPlan, apply_plan

Policy = Callable[[Tensor, Generator], Tensor]
Step = tuple[str, float, int]

RANGES: Final = MappingProxyType({
    "shear_x": (0.0, 0.3), "shear_y": (0.0, 0.3),
    "translate_x": (0.0, 150 / 331), "translate_y": (0.0, 150 / 331), "rotate": (0.0, 30.0),
    "brightness": (0.0, 0.9), "contrast": (0.0, 0.9), "color": (0.0, 0.9), "sharpness": (0.0, 0.9),
    "posterize": (8.0, 4.0), "solarize": (256.0, 0.0),
    "invert": (0.0, 0.0), "autocontrast": (0.0, 0.0), "equalize": (0.0, 0.0), "cutout": (0.0, 60 / 331),
})  # fmt: skip
"""Magnitude at level 0 and at level 9; lengths are fractions of the side."""

AUTOAUGMENT_CIFAR10: Final[tuple[tuple[Step, Step], ...]] = (
    (("invert", 0.1, 7), ("contrast", 0.2, 6)),
    (("rotate", 0.7, 2), ("translate_x", 0.3, 9)),
    (("sharpness", 0.8, 1), ("sharpness", 0.9, 3)),
    (("shear_y", 0.5, 8), ("translate_y", 0.7, 9)),
    (("autocontrast", 0.5, 8), ("equalize", 0.9, 2)),
    (("shear_y", 0.2, 7), ("posterize", 0.3, 7)),
    (("color", 0.4, 3), ("brightness", 0.6, 7)),
    (("sharpness", 0.3, 9), ("brightness", 0.7, 9)),
    (("equalize", 0.6, 5), ("equalize", 0.5, 1)),
    (("contrast", 0.6, 7), ("sharpness", 0.6, 5)),
    (("color", 0.7, 7), ("translate_x", 0.5, 8)),
    (("equalize", 0.3, 7), ("autocontrast", 0.4, 8)),
    (("translate_y", 0.4, 3), ("sharpness", 0.2, 6)),
    (("brightness", 0.9, 6), ("color", 0.2, 8)),
    (("solarize", 0.5, 2), ("invert", 0.0, 3)),
    (("equalize", 0.2, 0), ("autocontrast", 0.6, 0)),
    (("equalize", 0.2, 8), ("equalize", 0.6, 4)),
    (("color", 0.9, 9), ("equalize", 0.6, 6)),
    (("autocontrast", 0.8, 4), ("solarize", 0.2, 8)),
    (("brightness", 0.1, 3), ("color", 0.7, 0)),
    (("solarize", 0.4, 5), ("autocontrast", 0.9, 3)),
    (("translate_y", 0.9, 9), ("translate_y", 0.7, 9)),
    (("autocontrast", 0.9, 2), ("solarize", 0.8, 3)),
    (("equalize", 0.8, 8), ("invert", 0.1, 3)),
    (("translate_y", 0.7, 9), ("autocontrast", 0.9, 1)),
)

RANDAUGMENT_SLOTS: Final = 2
RANDAUGMENT_PROBABILITY: Final = 0.5


_LEVELS: Final = torch.stack([torch.linspace(*RANGES[name], 10, dtype=torch.float64) for name in OPS]).float()
_TABLE_OPS: Final = torch.tensor([[OPS.index(name) for name, _, _ in pair] for pair in AUTOAUGMENT_CIFAR10])
_TABLE_LEVELS: Final = torch.tensor([[level for _, _, level in pair] for pair in AUTOAUGMENT_CIFAR10])
_TABLE_CHANCES: Final = torch.tensor([[chance for _, chance, _ in pair] for pair in AUTOAUGMENT_CIFAR10])


def draw_autoaugment(batch: int, generator: Generator) -> AugmentationPlan:
    """Draw a sub-policy of ``AUTOAUGMENT_CIFAR10`` for each of ``batch`` images."""
    rows = torch.randint(len(AUTOAUGMENT_CIFAR10), (batch,), generator=generator)
    return _draw(_TABLE_OPS[rows], _TABLE_LEVELS[rows], _TABLE_CHANCES[rows], generator)


def draw_randaugment(batch: int, generator: Generator) -> AugmentationPlan:
    """Draw two ops at levels 1..9 for each of ``batch`` images, each kept with probability 0.5."""
    shape = (batch, RANDAUGMENT_SLOTS)
    ops = torch.randint(len(OPS), shape, generator=generator)
    levels = torch.randint(1, 10, shape, generator=generator)
    return _draw(ops, levels, torch.full(shape, RANDAUGMENT_PROBABILITY), generator)


def autoaugment(images: Tensor, generator: Generator) -> Tensor:
    """Apply AutoAugment's CIFAR-10 policy to ``(B, C, H, W)`` uint8 images."""
    return apply_plan(images, draw_autoaugment(len(images), generator))


def randaugment(images: Tensor, generator: Generator) -> Tensor:
    """Apply the RandAugment variant for web images to ``(B, C, H, W)`` uint8 images."""
    return apply_plan(images, draw_randaugment(len(images), generator))


def geometric(images: Tensor, generator: Generator) -> Tensor:
    """Rotate within 15 degrees, shear within 0.2, shift within 12 % of the side; black outside, bilinear."""
    draws = torch.rand(len(images), 5, generator=generator) * 2 - 1
    matrix = affine_matrix(
        (images.shape[2], images.shape[3]),
        angle=draws[:, 0] * 15,
        shear=draws[:, 1:3] * 0.2,
        shift=draws[:, 3:] * 0.12,
        shear_about_centre=True,
    )
    return affine(images, matrix, fill=0, bilinear=True)


def unchanged(images: Tensor, generator: Generator) -> Tensor:
    """Return the images as they are and draw nothing."""
    return images


STRONG_POLICIES: Final[dict[str, Policy]] = {
    "autoaugment": autoaugment,
    "randaugment": randaugment,
    "augmix": augmix,
    "geometric": geometric,
    "none": unchanged,
}
"""Every strong policy by the name that settings use."""


def _draw(ops: Tensor, levels: Tensor, chances: Tensor, generator: Generator) -> AugmentationPlan:
    """Draw for ``(B, S)`` ops which are kept, their signs and the places of cutouts."""
    kept = torch.rand(ops.shape, generator=generator) < chances
    signs = torch.randint(2, ops.shape, generator=generator) * 2 - 1
    centres = torch.rand(*ops.shape, 2, generator=generator)
    values = _LEVELS[ops, levels] * torch.where(ops < SIGNED, signs, 1)
    return AugmentationPlan(torch.where(kept, ops, len(OPS)), values, centres)
