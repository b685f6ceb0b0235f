"""Features of any network brought to a common shape, so that one penalty and one table fit them all."""

from __future__ import annotations

from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor

DIRECTIONS = 256
"""Most principal directions that are kept."""

ROWS = 65_536
"""Images that are looked at at a time."""


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
            centred = F.normalize(signed_root(features[part]) - self.mean, dim=1)
            found[part] = centred if self.directions is None else centred @ self.directions
        return found


def learn_preparation(features: Tensor, directions: int = DIRECTIONS) -> Preparation:
    """Return the preparation that fits features ``(N, D)``; at most so many directions stay."""
    shares = [signed_root(part).sum(dim=0) / len(features) for part in features.split(ROWS)]
    mean = signed_root(features).mean(dim=0) if len(shares) <= 1 else torch.stack(shares).sum(dim=0)
    first = Preparation(mean, None)
    if features.shape[1] <= directions:
        return first
    products = [centred.T @ centred for centred in map(first, features.split(ROWS))]
    # In single precision the solver fails where there are far fewer images than dimensions.
    vectors = torch.linalg.eigh(torch.stack(products).sum(dim=0).double())[1]
    return Preparation(first.mean, vectors[:, -directions:].float())


def signed_root(features: Tensor) -> Tensor:
    """Return square roots that keep the sign, float32; they tame the few large entries of rectified features."""
    values = features.float()
    return values.sign() * values.abs().sqrt()
