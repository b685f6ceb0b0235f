"""Make ``tests/reference`` importable, and a tiny frozen network whose evidence every detector can use."""

import sys
from pathlib import Path

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor

from lond.detect import Evidence

sys.path.insert(0, str(Path(__file__).parents[1]))


class TinyNetwork:
    """Two blocks, pooling, one linear layer; images (B, 3, 8, 8), 6 features, 4 classes. Counts its passes."""

    def __init__(self) -> None:
        random = torch.Generator().manual_seed(0)

        def weight(*shape: int) -> Tensor:
            return torch.randn(*shape, generator=random).requires_grad_()

        self.first, self.second = weight(5, 3, 3, 3), weight(6, 5, 3, 3)
        self.weight, self.bias = weight(4, 6), weight(4)
        self.prototypes = weight(4, 2)
        self.passes = 0

    def block(self, x: Tensor, weight: Tensor) -> Tensor:
        return F.max_pool2d(F.conv2d(x, weight, padding=1).relu(), 2)

    def evidence(self, images: Tensor, *, maps: bool = False) -> Evidence:
        self.passes += 1
        previous = self.block(images, self.first)
        last = self.block(previous, self.second)
        features = last.mean(dim=(2, 3))
        embeddings = F.normalize(features[:, :2], dim=1)
        return Evidence(
            features,
            self.head(features),
            maps=(previous, last) if maps else None,
            embeddings=embeddings,
            class_scores=embeddings @ self.prototypes.T,
        )

    def head(self, features: Tensor) -> Tensor:
        return F.linear(features, self.weight, self.bias)

    def finish(self, block: int, maps: Tensor) -> Tensor:
        last = self.block(maps, self.second) if block == 1 else maps
        return self.head(last.mean(dim=(2, 3)))


@pytest.fixture
def network() -> TinyNetwork:
    return TinyNetwork()


@pytest.fixture
def clusters() -> tuple[Evidence, Evidence, Evidence]:
    """Fit set, known and foreign samples: 3 classes of 60 around unit axes in 5 dimensions, logits = first 3 features.

    Foreign samples lie along the fourth axis, far from all classes; every seventh fit label is wrong.
    """
    random = torch.Generator().manual_seed(1)

    def made(centres: Tensor) -> Tensor:
        return centres + 0.3 * torch.randn(centres.shape, generator=random)

    truth = torch.arange(180) % 3
    features = made(8 * torch.eye(5)[truth])
    labels = torch.where(torch.arange(180) % 7 == 0, (truth + 1) % 3, truth)
    known = made(8 * torch.eye(5)[torch.arange(12) % 3])
    foreign = made(30 * torch.eye(5)[torch.full((9,), 3)])
    return (
        Evidence(features, features[:, :3], labels),
        Evidence(known, known[:, :3]),
        Evidence(foreign, foreign[:, :3]),
    )
