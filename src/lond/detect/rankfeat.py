"""Energy of the logits that follow from maps without their largest singular component."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor

from lond.detect.base import Detector
from lond.detect.ebo import ebo_score
from lond.detect.evidence import Evidence
from lond.detect.network import AnyNetwork
from lond.errors import ConfigError


def remove_rank_one(maps: Tensor, power_iterations: int | None = None) -> Tensor:
    """Return ``A - s_1 u_1 v_1^T`` of each sample's matrix A ``(C, H W)``, ``(N, C, H, W) -> (N, C, H, W)`` float32.

    ``s_1 u_1 v_1^T = A v_1 v_1^T``, and v_1 is the first eigenvector of ``A^T A`` (or u_1 of ``A A^T``, whichever is
    smaller): exact as a full decomposition of A, and several times faster.

    Args:
        maps: ``(N, C, H, W)``.
        power_iterations: rounds of power iteration instead of the exact vector.
    """
    matrices = maps.float().flatten(2)
    tall = matrices.shape[1] >= matrices.shape[2]
    matrices = matrices if tall else matrices.mT
    first = _first_vector(matrices, power_iterations)
    left = matrices - (matrices @ first) @ first.mT
    return (left if tall else left.mT).reshape(maps.shape)


def rankfeat_score(last_logits: Tensor, previous_logits: Tensor, temperature: float = 1.0) -> Tensor:
    """Return the energy of the mean of two sets of logits, ``(B, C), (B, C) -> (B,)``; larger = more foreign."""
    return ebo_score((last_logits.float() + previous_logits.float()) / 2, temperature)


class RankFeat(Detector):
    """Rank-1 feature removal (Song, Sebe and Wang, NeurIPS 2022, arXiv 2209.08590) on the last two blocks.

    No fit; needs the maps and a network that continues from them (``Network.finish``).

    Examples:
        >>> RankFeat(power_iterations=20).needs
        ('maps',)
    """

    needs = ("maps",)

    def __init__(
        self, network: AnyNetwork | None = None, *, temperature: float = 1.0, power_iterations: int | None = None
    ) -> None:
        """Set T, and the rounds of power iteration (usual: 20) if the exact decomposition is too slow."""
        super().__init__(network)
        if not temperature > 0:
            raise ConfigError(f"the temperature must be positive, not {temperature}")
        if power_iterations is not None and power_iterations < 1:
            raise ConfigError(f"there must be at least one power iteration, not {power_iterations}")
        self.temperature, self.power_iterations = temperature, power_iterations

    @torch.no_grad()
    def score_features(self, evidence: Evidence) -> Tensor:
        """Return the energy of the mean logits of both blocks after the removal; raises NoNetworkError without one."""
        if evidence.maps is None:
            raise ValueError("this detector needs maps; the evidence holds none")
        previous, last = (remove_rank_one(maps, self.power_iterations) for maps in evidence.maps)
        return rankfeat_score(self.network.finish(0, last), self.network.finish(1, previous), self.temperature)


def _first_vector(matrices: Tensor, power_iterations: int | None) -> Tensor:
    """Return the first right singular vector ``(N, K, 1)`` of matrices ``(N, M, K)``."""
    if power_iterations is None:
        wide = matrices.double()
        vectors: Tensor = torch.linalg.eigh(wide.mT @ wide).eigenvectors
        return vectors[:, :, -1:].to(matrices.dtype)
    # The longest row is a fixed start with a share in the first component.
    longest = matrices.norm(dim=2).argmax(dim=1)
    vector = matrices[torch.arange(len(matrices), device=matrices.device), longest].unsqueeze(2)
    for _ in range(power_iterations):
        vector = F.normalize(matrices.mT @ (matrices @ F.normalize(vector, dim=1)), dim=1)
    return vector
