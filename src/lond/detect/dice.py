"""Energy of logits to which only the largest contributions of the last layer's weights count."""

from __future__ import annotations

from typing import Self

import numpy as np
import torch
from torch import Tensor

from lond.detect.base import Detector
from lond.detect.ebo import ebo_score
from lond.detect.evidence import BLOCK_ROWS, Evidence, fit_rows, part
from lond.detect.last_layer import Head, last_layer
from lond.detect.network import AnyNetwork
from lond.errors import ConfigError


def sparse_weight(weight: Tensor, mean: Tensor, percentile: float = 90.0) -> Tensor:
    """Return the weights ``(C, D)`` with zero where ``W_cd m_d`` is at most its percentile over all entries.

    Args:
        weight: W ``(C, D)``.
        mean: m ``(D,)``, the mean features.
        percentile: share in percent that is set to zero; linear interpolation.
    """
    contributions = weight * mean.to(weight)
    # torch.quantile refuses more than 16 million entries.
    level = float(np.percentile(contributions.cpu().numpy(), percentile))
    return weight * (contributions > level)


class DICE(Detector):
    """Directed sparsification (Sun and Li, ECCV 2022, arXiv 2111.09805), then energy.

    Fitted on features, without labels; needs the last layer, which must be linear, to score.

    Examples:
        >>> layer = torch.nn.Linear(2, 2)
        >>> torch.nn.init.eye_(layer.weight), layer.bias.data.zero_()
        (Parameter containing:
        tensor([[1., 0.],
                [0., 1.]], requires_grad=True), tensor([0., 0.]))
        >>> bank = Evidence(features=torch.tensor([[4.0, 1.0], [1.0, 4.0]]))
        >>> detector = DICE(percentile=50, head=layer).fit_features(bank)
        >>> scores = detector.score_features(Evidence(features=torch.tensor([[4.0, 1.0], [0.1, 0.1]])))
        >>> bool(scores[0] < scores[1])
        True
    """

    state_names = ("mean",)
    fits_on = "training"

    def __init__(
        self, network: AnyNetwork | None = None, *, percentile: float = 90.0, head: Head | None = None
    ) -> None:
        """Set the share of the weights in percent that is set to zero, and optionally a head."""
        super().__init__(network)
        if not 0 <= percentile < 100:
            raise ConfigError(f"the percentile must lie in [0, 100), not {percentile}")
        self.percentile, self._head = percentile, head

    def fit_features(self, evidence: Evidence) -> Self:
        """Fit the mean features."""
        features = fit_rows(evidence, "features").detach()
        total = sum(block.double().sum(dim=0) for block in features.split(BLOCK_ROWS))
        self.state = {"mean": torch.as_tensor(total) / len(features)}
        return self

    @torch.no_grad()
    def score_features(self, evidence: Evidence) -> Tensor:
        """Return the energy; raises NoNetworkError if there is neither a head nor a network."""
        mean, features = self.fitted("mean"), part(evidence, "features").float()
        weight, bias = last_layer(self._head or self.network.head, features)
        return ebo_score(features @ sparse_weight(weight, mean, self.percentile).T + bias)
