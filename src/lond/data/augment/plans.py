"""Augmentation plans: which ops each image of a batch gets; a batch is sorted by op and processed op by op."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

import torch
from torch import Tensor

from lond.data.augment import colour
from lond.data.augment.geometry import affine, affine_matrix

OPS: Final = (
    "shear_x", "shear_y", "translate_x", "translate_y", "rotate",
    "brightness", "contrast", "color", "sharpness", "posterize", "solarize",
    "invert", "autocontrast", "equalize", "cutout",
)  # fmt: skip
"""Every op; the first ``GEOMETRIC`` of them are affine maps and share one call."""

GEOMETRIC: Final = 5
SIGNED: Final = 9
"""The first ``SIGNED`` ops take their magnitude with a random sign."""

_COLOUR_OPS: Final[dict[str, Callable[[Tensor, Tensor, Tensor], Tensor]]] = {
    "brightness": lambda images, value, _: colour.brightness(images, 1 + value),
    "contrast": lambda images, value, _: colour.contrast(images, 1 + value),
    "color": lambda images, value, _: colour.color(images, 1 + value),
    "sharpness": lambda images, value, _: colour.sharpness(images, 1 + value),
    "posterize": lambda images, value, _: colour.posterize(images, value),
    "solarize": lambda images, value, _: colour.solarize(images, value),
    "invert": lambda images, _value, _: colour.invert(images),
    "autocontrast": lambda images, _value, _: colour.autocontrast(images),
    "equalize": lambda images, _value, _: colour.equalize(images),
    "cutout": colour.cutout,
}


@dataclass(frozen=True)
class AugmentationPlan:
    """What happens to each of B images in S slots; drawn on the CPU.

    ``ops`` is ``(B, S)`` int64, an index into ``OPS`` or ``len(OPS)`` for nothing; ``values`` is ``(B, S)`` float32,
    the signed magnitude; ``centres`` is ``(B, S, 2)`` in [0, 1], where a cutout falls.
    """

    ops: Tensor
    values: Tensor
    centres: Tensor


def apply_plan(images: Tensor, plan: AugmentationPlan) -> Tensor:
    """Carry out a plan slot by slot on ``(B, C, H, W)`` uint8 images; the input stays as it is."""
    for slot in range(plan.ops.shape[1]):
        images = _apply_slot(images, plan.ops[:, slot], plan.values[:, slot], plan.centres[:, slot])
    return images


def _apply_slot(images: Tensor, ops: Tensor, values: Tensor, centres: Tensor) -> Tensor:
    """Apply to every image its op of one slot; sorted by op, each op owns one contiguous run."""
    order = ops.argsort(stable=True)
    ends = torch.bincount(ops, minlength=len(OPS) + 1).cumsum(0).tolist()
    moved = order[: ends[GEOMETRIC - 1]]
    matrix = _geometric_matrix(images, ops[moved], values[moved])
    values, centres = values[order].to(images.device), centres[order].to(images.device)
    chosen = images.index_select(0, order.to(images.device))
    results = [affine(chosen[: len(moved)], matrix, fill=colour.GREY)]
    for number in range(GEOMETRIC, len(OPS)):
        run = slice(ends[number - 1], ends[number])
        if run.start < run.stop:
            results.append(_COLOUR_OPS[OPS[number]](chosen[run], values[run], centres[run]))
    results.append(chosen[ends[-2] :])
    # Selecting by the inverse order is far faster on a CPU than index_copy.
    return torch.cat(results).index_select(0, order.argsort().to(images.device))


def _geometric_matrix(images: Tensor, ops: Tensor, values: Tensor) -> Tensor:
    """Return ``(G, 2, 3)`` maps for G geometric ops, each with its one magnitude."""
    amounts = torch.zeros(len(ops), GEOMETRIC).scatter_(1, ops[:, None], values[:, None])
    size = (images.shape[2], images.shape[3])
    return affine_matrix(size, angle=amounts[:, 4], shear=amounts[:, :2], shift=amounts[:, 2:4])
