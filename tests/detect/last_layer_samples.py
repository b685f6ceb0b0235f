"""Positive features, and a last layer, for detectors that need its weights."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

SIZE = 8


def features(rows: int, seed: int = 0) -> Tensor:
    return torch.randn(rows, SIZE, generator=torch.Generator().manual_seed(seed)).abs()


class Head:
    """A linear layer as a function, and in double precision for references."""

    def __init__(self, classes: int = 3, seed: int = 7) -> None:
        random = torch.Generator().manual_seed(seed)
        self.weight, self.bias = torch.randn(classes, SIZE, generator=random), torch.randn(classes, generator=random)

    def __call__(self, values: Tensor) -> Tensor:
        return values @ self.weight.T + self.bias

    @property
    def arrays(self) -> tuple[np.ndarray, np.ndarray]:
        return self.weight.double().numpy(), self.bias.double().numpy()
