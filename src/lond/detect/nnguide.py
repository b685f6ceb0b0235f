"""Energy, guided by the nearest training features and their energies."""

from __future__ import annotations

from typing import Self

import torch
import torch.nn.functional as F
from torch import Tensor

from lond.detect.base import Detector
from lond.detect.evidence import Evidence, fit_rows, in_blocks, part
from lond.detect.knn import BLOCK_BYTES
from lond.detect.network import AnyNetwork
from lond.errors import ConfigError


def guided_bank(features: Tensor, logits: Tensor) -> Tensor:
    """Return the unit features ``(N, D)``, each times ``log sum_c exp z_c``, float32."""
    return F.normalize(features.float(), dim=1) * logits.float().logsumexp(dim=1, keepdim=True)


def nnguide_score(features: Tensor, logits: Tensor, bank: Tensor, k: int = 10) -> Tensor:
    """Return minus the energy times the mean of the k largest products of unit feature and bank, ``(B,)``.

    The search is exact, in blocks of bounded memory; larger = more foreign.

    Args:
        features: ``(B, D)``, of any length.
        logits: ``(B, C)``.
        bank: ``(N, D)`` from ``guided_bank``.
        k: neighbours; at most N.
    """
    k = min(k, len(bank))

    def guidance(block: Tensor) -> Tensor:
        return (F.normalize(block.to(bank.dtype), dim=1) @ bank.T).topk(k, dim=1).values.mean(dim=1)

    rows = BLOCK_BYTES // (bank.element_size() * len(bank))
    return -in_blocks(guidance, features, rows) * logits.float().logsumexp(dim=1)


class NNGuide(Detector):
    """Nearest-neighbour guidance (Park, Jung and Teoh, ICCV 2023, arXiv 2309.14888).

    Fitted on features and logits; of the labels only the sign matters. In this setting the training set itself holds
    open-set images: a bank of all of it makes unknowns look known. Fit on ``trusted_only`` evidence to leave them out.

    Examples:
        >>> bank = Evidence(features=torch.eye(2), logits=5 * torch.eye(2))
        >>> detector = NNGuide(k=1).fit_features(bank)
        >>> features, logits = torch.tensor([[1.0, 0.0], [-1.0, 0.0]]), torch.tensor([[5.0, 0.0], [1.0, 1.0]])
        >>> scores = detector.score_features(Evidence(features=features, logits=logits))
        >>> bool(scores[1] > scores[0])
        True
    """

    state_names = ("bank",)
    fits_on = "training"

    def __init__(self, network: AnyNetwork | None = None, *, k: int = 10) -> None:
        """Set how many neighbours guide; a smaller bank counts whole."""
        super().__init__(network)
        if k < 1:
            raise ConfigError(f"k must be at least 1, not {k}")
        self.k = k

    def fit_features(self, evidence: Evidence) -> Self:
        """Keep the unit features with their energies."""
        bank = guided_bank(fit_rows(evidence, "features").detach(), fit_rows(evidence, "logits").detach())
        self.state = {"bank": bank}
        return self

    @torch.no_grad()
    def score_features(self, evidence: Evidence) -> Tensor:
        """Return minus the guided energy."""
        bank = self.fitted("bank")
        return nnguide_score(part(evidence, "features"), part(evidence, "logits"), bank, self.k)
