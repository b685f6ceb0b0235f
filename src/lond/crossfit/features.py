"""Features of any network brought to a common shape, so that one penalty and one table fit them all."""

from __future__ import annotations

from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor

DIRECTIONS = 256
"""Most principal directions that are kept."""


@dataclass(frozen=True)
class Preparation:
    """How features are brought to a common shape: learned on training images, applied to any.

    ``mean`` is ``(D,)``, ``directions`` ``(D, E)`` or None where all D are kept.
    """

    mean: Tensor
    directions: Tensor | None

    def __call__(self, features: Tensor) -> Tensor:
        """Return features ``(N, D)`` as signed square roots, centred, of unit length, in the principal directions."""
        centred = F.normalize(signed_root(features) - self.mean, dim=1)
        return centred if self.directions is None else centred @ self.directions


def learn_preparation(features: Tensor, directions: int = DIRECTIONS) -> Preparation:
    """Return the preparation that fits features ``(N, D)``; at most so many directions stay."""
    first = Preparation(signed_root(features).mean(dim=0), None)
    if features.shape[1] <= directions:
        return first
    centred = first(features)
    # In single precision the solver fails where there are far fewer images than dimensions.
    vectors = torch.linalg.eigh((centred.T @ centred).double())[1]
    return Preparation(first.mean, vectors[:, -directions:].float())


def signed_root(features: Tensor) -> Tensor:
    """Return square roots that keep the sign, float32; they tame the few large entries of rectified features."""
    values = features.float()
    return values.sign() * values.abs().sqrt()
