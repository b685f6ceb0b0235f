"""Energy of the logits that follow from features scaled by the share of the largest in their sum."""

from __future__ import annotations

import torch
from torch import Tensor

from lond.detect.base import Detector
from lond.detect.ebo import ebo_score
from lond.detect.evidence import Evidence, part
from lond.detect.last_layer import Head
from lond.detect.network import AnyNetwork
from lond.errors import ConfigError

LARGEST_RATIO = 60.0
"""Ratio of sums beyond which a row is scaled no further: float32 ends at exp(88), and logits follow the scale."""


def largest(features: Tensor, percentile: float) -> torch.return_types.topk:
    """Return the entries of each row ``(B, D)`` that are left when ``percentile`` percent are dropped; at least one."""
    size = features.shape[1]
    return features.topk(max(1, size - round(size * percentile / 100)), dim=1)


def ratio_of_sums(features: Tensor, kept: Tensor) -> Tensor:
    """Return ``s1 / s2``, ``(B, 1)``: the sum of each row over the sum of its kept entries; 1 if that is not positive.

    It never exceeds the number of entries over that of the kept ones, nor ``LARGEST_RATIO``.
    """
    whole, rest = features.sum(dim=1, keepdim=True), kept.sum(dim=1, keepdim=True)
    return torch.where(rest > 0, whole / rest.where(rest > 0, 1), 1.0).clamp_max(LARGEST_RATIO)


def scaled_features(features: Tensor, percentile: float = 85.0) -> Tensor:
    """Return each row of ``(B, D)``, whole, times ``exp(s1 / s2)``: its sum over the sum of its largest entries."""
    features = features.float()
    return features * ratio_of_sums(features, largest(features, percentile).values).exp()


class SCALE(Detector):
    """SCALE (Xu et al., ICLR 2024, arXiv 2310.00227): ASH-S without the pruning, then energy.

    No fit; needs the head that follows the features, which should not be negative (the output of a ReLU).

    Examples:
        >>> evidence = Evidence(features=torch.tensor([[4.0, 1.0], [1.0, 1.0]]))
        >>> SCALE(percentile=50, head=torch.nn.Identity()).score_features(evidence).argmax().item()
        1
    """

    def __init__(
        self, network: AnyNetwork | None = None, *, percentile: float = 85.0, head: Head | None = None
    ) -> None:
        """Set the share of each row in percent that is left out of the smaller sum, and optionally a head."""
        super().__init__(network)
        if not 0 <= percentile < 100:
            raise ConfigError(f"the percentile must lie in [0, 100), not {percentile}")
        self.percentile, self._head = percentile, head

    @torch.no_grad()
    def score_features(self, evidence: Evidence) -> Tensor:
        """Return the energy of the scaled features; raises NoNetworkError if there is neither a head nor a network."""
        scaled = scaled_features(part(evidence, "features"), self.percentile)
        return ebo_score((self._head or self.network.head)(scaled))
