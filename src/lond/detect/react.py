"""Energy of the logits of clipped features."""

from __future__ import annotations

from collections.abc import Callable
from typing import Self

import numpy as np
import torch
from torch import Tensor

from lond.detect.base import Detector
from lond.detect.ebo import ebo_score
from lond.detect.evidence import Evidence, fit_rows, part
from lond.detect.network import AnyNetwork
from lond.errors import ConfigError


def clip_level(features: Tensor, percentile: float = 90.0) -> float:
    """Return the percentile (linear interpolation) of all entries of ``features`` (N, D), taken together."""
    # torch.quantile refuses more than 16 million entries.
    return float(np.percentile(features.detach().float().cpu().numpy(), percentile))


def react_score(features: Tensor, level: float, head: Callable[[Tensor], Tensor]) -> Tensor:
    """Return ``-log sum_c exp head(min(h, level))_c``, ``(B, D) -> (B,)``; larger = more foreign."""
    return ebo_score(head(features.clamp(max=level)))


class ReAct(Detector):
    """Rectified activations (Sun et al., NeurIPS 2021, arXiv 2111.12797).

    Fitted on features, without labels; they must be the direct input (after the ReLU) of the head.

    Examples:
        >>> bank = Evidence(features=torch.tensor([[1.0, 0.0], [0.0, 1.0]]))
        >>> detector = ReAct(percentile=100, head=torch.nn.Identity()).fit_features(bank)
        >>> scores = detector.score_features(Evidence(features=torch.tensor([[1.0, 0.0], [9.0, 0.0]])))
        >>> bool(scores[0] == scores[1])  # 9 is clipped to 1
        True
    """

    state_names = ("level",)
    fits_on = "clean"

    def __init__(
        self,
        network: AnyNetwork | None = None,
        *,
        percentile: float = 90.0,
        head: Callable[[Tensor], Tensor] | None = None,
    ) -> None:
        """Set the percentile to clip at, and optionally a head ``(B, D) -> (B, C)`` other than the network's."""
        super().__init__(network)
        if not 0 < percentile <= 100:
            raise ConfigError(f"the percentile must lie in (0, 100], not {percentile}")
        self.percentile = percentile
        self._head = head

    def fit_features(self, evidence: Evidence) -> Self:
        """Fit the level to clip at."""
        level = clip_level(fit_rows(evidence, "features"), self.percentile)
        self.state = {"level": torch.tensor(level, dtype=torch.float64)}
        return self

    @torch.no_grad()
    def score_features(self, evidence: Evidence) -> Tensor:
        """Return the energy after clipping; raises NoNetworkError if there is neither a head nor a network."""
        level = float(self.fitted("level"))
        return react_score(part(evidence, "features"), level, self._head or self.network.head)
