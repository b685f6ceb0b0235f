"""A small trainable trunk on features that a frozen network computed beforehand."""

from __future__ import annotations

from torch import Tensor, nn

WIDTH = 512
"""Features of a trunk of width 1."""


class FeatureTrunk(nn.Module):
    """Standardise, then Linear - BatchNorm1d - ReLU: ``(B, D)`` to ``(B, feature_size)``.

    Args:
        in_size: D.
        width: factor on the 512 features it gives.
    """

    def __init__(self, in_size: int, width: float = 1.0) -> None:
        """Build the layers."""
        super().__init__()
        self.feature_size = max(1, round(WIDTH * width))
        self.standardise = nn.BatchNorm1d(in_size, affine=False)
        self.layers = nn.Sequential(
            nn.Linear(in_size, self.feature_size), nn.BatchNorm1d(self.feature_size), nn.ReLU(inplace=True)
        )

    def forward(self, x: Tensor) -> Tensor:
        """Map features ``(B, D)``, or stored views ``(B, V, 1, D)`` whose mean is taken, to ``(B, feature_size)``."""
        features: Tensor = self.layers(self.standardise(x if x.dim() == 2 else x.flatten(2).mean(dim=1)))
        return features
