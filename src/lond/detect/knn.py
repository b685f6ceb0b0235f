"""Distance to the K-th nearest training feature."""

from __future__ import annotations

from typing import Self

import torch.nn.functional as F
from torch import Tensor

from lond.detect.base import Detector
from lond.detect.evidence import Evidence, fit_rows, in_blocks, part
from lond.detect.network import AnyNetwork
from lond.errors import ConfigError

BLOCK_BYTES = 64 * 2**20
"""Largest similarity block held at a time."""


def knn_score(features: Tensor, bank: Tensor, k: int = 50) -> Tensor:
    """Return ``2 - 2 cos``, the squared distance of each normalised feature to its K-th nearest in the bank.

    The search is exact, in blocks of bounded memory. A feature of norm zero counts as orthogonal to all (score 2).

    Args:
        features: ``(B, D)``, of any length.
        bank: ``(N, D)`` unit rows.
        k: which neighbour, counted from 1; at most N.

    Returns:
        ``(B,)`` in [0, 4]; larger = more foreign.
    """
    k = min(k, len(bank))

    def kth_distance(block: Tensor) -> Tensor:
        similarities = F.normalize(block.to(bank.dtype), dim=1) @ bank.T
        return (2 - 2 * similarities.topk(k, dim=1).values[:, -1]).clamp(min=0)

    return in_blocks(kth_distance, features, BLOCK_BYTES // (bank.element_size() * len(bank)))


class KNN(Detector):
    """Deep nearest neighbours (Sun et al., ICML 2022, arXiv 2204.06507).

    Fitted on features; only the sign of the labels matters. The training set itself may contain open-set images, and a
    bank that includes them makes unknown images look known. Fit on ``trusted_only`` evidence to leave them out.

    Examples:
        >>> import torch
        >>> bank = Evidence(features=torch.tensor([[1.0, 0.0], [1.0, 0.1]]))
        >>> detector = KNN(k=1).fit_features(bank)
        >>> scores = detector.score_features(Evidence(features=torch.tensor([[2.0, 0.0], [0.0, 2.0]])))
        >>> [round(score, 2) for score in scores.tolist()]
        [0.0, 1.8]
    """

    state_names = ("bank",)
    fits_on = "training"

    def __init__(self, network: AnyNetwork | None = None, *, k: int = 50) -> None:
        """Set K; in a smaller bank the last row counts."""
        super().__init__(network)
        if k < 1:
            raise ConfigError(f"k must be at least 1, not {k}")
        self.k = k

    def fit_features(self, evidence: Evidence) -> Self:
        """Store the normalised features."""
        self.state = {"bank": F.normalize(fit_rows(evidence, "features").detach().float(), dim=1)}
        return self

    def score_features(self, evidence: Evidence) -> Tensor:
        """Return the squared distance to the K-th nearest of the bank."""
        return knn_score(part(evidence, "features").detach(), self.fitted("bank"), self.k)
