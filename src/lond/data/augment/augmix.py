"""AugMix (Hendrycks et al., 2020, arXiv:1912.02781): a random mixture of an image and of three chains of mild ops.

All 13 ops of the published program at its severity 1; its ranges, with the nearest pixel and a grey outside as in the
other policies. The colour ops are the published ones, too: at this severity they leave 12 to 28 % of the contrast,
brightness, colour or sharpness, and the mixture with the image brings much of it back.
"""

from __future__ import annotations

from dataclasses import dataclass
from types import MappingProxyType
from typing import Final

import torch
from torch import Generator, Tensor

from lond.data.augment.plans import OPS, AugmentationPlan, apply_plan

WIDTH: Final = 3
"""Chains an image."""
DEPTH: Final = 3
"""Most ops a chain; every length from 1 on is as likely."""
SEVERITY: Final = 1.0
"""Levels are uniform between 0.1 and this, out of 10."""

SIGNED_RANGES: Final = MappingProxyType({
    "shear_x": (0.0, 0.3), "shear_y": (0.0, 0.3), "translate_x": (0.0, 1 / 3), "translate_y": (0.0, 1 / 3),
    "rotate": (0.0, 30.0),
})  # fmt: skip
"""Magnitude at level 0 and at level 10 of ops that take a random sign; lengths are fractions of the side."""

RANGES: Final = MappingProxyType({
    **SIGNED_RANGES,
    "brightness": (-0.9, 0.9), "contrast": (-0.9, 0.9), "color": (-0.9, 0.9), "sharpness": (-0.9, 0.9),
    "posterize": (4.0, 0.0), "solarize": (256.0, 0.0), "autocontrast": (0.0, 0.0), "equalize": (0.0, 0.0),
})  # fmt: skip
"""Magnitude at level 0 and at level 10 of every op; that of the four blends is their factor less 1."""

_NUMBERS: Final = torch.tensor([OPS.index(name) for name in RANGES])
_LOW: Final = torch.tensor([low for low, _ in RANGES.values()])
_HIGH: Final = torch.tensor([high for _, high in RANGES.values()])
_SIGNED: Final = torch.tensor([name in SIGNED_RANGES for name in RANGES])


@dataclass(frozen=True)
class Mixture:
    """How B images are augmented: the chains of all, chain by chain, ``(WIDTH * B, DEPTH)``, and their weights.

    ``weights`` is ``(WIDTH + 1, B)`` and sums to one: the share of the image itself, then that of each chain.
    """

    chains: AugmentationPlan
    weights: Tensor


def draw_augmix(batch: int, generator: Generator) -> Mixture:
    """Draw chains, Dirichlet(1, 1, 1) weights among them and the share, Beta(1, 1), of the chains in all."""
    shape = (WIDTH * batch, DEPTH)
    depths = torch.randint(1, DEPTH + 1, (WIDTH * batch, 1), generator=generator)
    kinds = torch.randint(len(RANGES), shape, generator=generator)
    levels = 0.1 + (SEVERITY - 0.1) * torch.rand(shape, generator=generator)
    signs = torch.randint(2, shape, generator=generator) * 2 - 1
    values = torch.lerp(_LOW[kinds], _HIGH[kinds], levels / 10) * torch.where(_SIGNED[kinds], signs, 1)
    ops = torch.where(torch.arange(DEPTH) < depths, _NUMBERS[kinds], len(OPS))
    # Exponential draws, scaled to sum one, are a Dirichlet(1, 1, 1) draw; Beta(1, 1) is uniform.
    parts = torch.empty(WIDTH, batch).exponential_(generator=generator)
    share = torch.rand(batch, generator=generator)
    weights = torch.cat([1 - share[None], share * parts / parts.sum(dim=0)])
    return Mixture(AugmentationPlan(ops, values, torch.zeros(*shape, 2)), weights)


def apply_mixture(images: Tensor, mixture: Mixture) -> Tensor:
    """Carry out a mixture on ``(B, C, H, W)`` uint8 images; the input stays as it is."""
    chains = apply_plan(images.repeat(WIDTH, 1, 1, 1), mixture.chains).unflatten(0, (WIDTH, len(images)))
    weights = mixture.weights.to(images.device)[..., None, None, None]
    mixed = images * weights[0]
    for chain, weight in zip(chains, weights[1:], strict=True):
        mixed.add_(chain * weight)
    return mixed.add_(0.5).clamp_(0, 255).to(torch.int16).to(torch.uint8)


def augmix(images: Tensor, generator: Generator) -> Tensor:
    """Apply AugMix to ``(B, C, H, W)`` uint8 images."""
    return apply_mixture(images, draw_augmix(len(images), generator))
