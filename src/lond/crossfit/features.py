"""Features of any network brought to a common shape, so that one penalty and one table of chances fit them all."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor

DIRECTIONS = 256
"""Most principal directions that are kept."""

ROWS = 4096
"""Images that are looked at at a time."""

BLOCK = 320
"""Rows of the product of all directions that are computed at a time: of each only what lies below the diagonal."""


@dataclass(frozen=True)
class Preparation:
    """How features are brought to a common shape: learned on training images, applied to any.

    ``mean`` is ``(D,)``, ``directions`` ``(D, E)`` or None where all D are kept.
    """

    mean: Tensor
    directions: Tensor | None

    def __call__(self, features: Tensor) -> Tensor:
        """Return features ``(N, D)`` as signed square roots, centred, of unit length, in the principal directions."""
        width = features.shape[1] if self.directions is None else self.directions.shape[1]
        found = torch.empty(len(features), width)
        for start in range(0, len(features), ROWS):
            part = slice(start, start + ROWS)
            centred = F.normalize(signed_root(features[part]).sub_(self.mean), dim=1)
            found[part] = centred if self.directions is None else centred @ self.directions
        return found


def learn_preparation(features: Tensor, directions: int = DIRECTIONS) -> Preparation:
    """Return the preparation that fits features ``(N, D)``; at most so many directions stay."""
    total = torch.zeros(features.shape[1], dtype=torch.float64)
    for part in features.split(ROWS):
        total += signed_root(part).sum(dim=0, dtype=torch.float64)
    first = Preparation((total / len(features)).float(), None)
    if features.shape[1] <= directions:
        return first
    products = torch.zeros(features.shape[1], features.shape[1])
    for centred in map(first, features.split(ROWS)):
        for start in range(0, len(products), BLOCK):
            end = start + BLOCK
            products[start:end, :end].addmm_(centred[:, start:end].T, centred[:, :end])
    return Preparation(first.mean, _principal(products, directions))


def _principal(products: Tensor, count: int) -> Tensor:
    """Return the eigenvectors ``(D, count)`` of the largest eigenvalues of ``(D, D)``, of which the lower half counts.

    In single precision the solver is twice as fast, but fails where there are far fewer images than dimensions.
    """
    with suppress(RuntimeError):
        found: Tensor = torch.linalg.eigh(products).eigenvectors[:, -count:]
        if found.isfinite().all():
            return found.contiguous()
    exact: Tensor = torch.linalg.eigh(products.double()).eigenvectors[:, -count:]
    return exact.float()


def signed_root(features: Tensor) -> Tensor:
    """Return square roots that keep the sign, float32; they tame the few large entries of rectified features."""
    values = features.float()
    return torch.copysign(values.abs().sqrt_(), values)
