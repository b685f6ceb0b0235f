"""Length of the gradient of the last layer's weights towards a uniform prediction."""

from __future__ import annotations

import torch.nn.functional as F
from torch import Tensor

from lond.detect.base import Detector
from lond.detect.evidence import Evidence, part
from lond.detect.network import AnyNetwork
from lond.errors import ConfigError


def gradnorm_score(features: Tensor, logits: Tensor, temperature: float = 1.0) -> Tensor:
    """Return ``-|h|_1 |softmax(z / T) - 1 / C|_1 / T``, ``(B,)``; larger = more foreign.

    That is minus the sum of the absolute gradients of ``KL(uniform || softmax(z / T))`` by the weights of the last
    layer: the gradient is the outer product of ``(softmax(z / T) - 1 / C) / T`` and the features, so no backward
    pass is needed.

    Args:
        features: ``(B, D)``, the direct input of the last layer.
        logits: ``(B, C)``, its output.
        temperature: T.
    """
    excess = F.softmax(logits.float() / temperature, dim=1) - 1 / logits.shape[1]
    return -features.float().abs().sum(dim=1) * excess.abs().sum(dim=1) / temperature


class GradNorm(Detector):
    """Gradient norm (Huang, Geng and Li, NeurIPS 2021, arXiv 2110.00218) of the last layer; no fit.

    Examples:
        >>> import torch
        >>> evidence = Evidence(features=torch.ones(2, 3), logits=torch.tensor([[9.0, 0.0], [1.0, 1.0]]))
        >>> scores = GradNorm().score_features(evidence)
        >>> bool(scores[1] > scores[0])
        True
    """

    def __init__(self, network: AnyNetwork | None = None, *, temperature: float = 1.0) -> None:
        """Set T."""
        super().__init__(network)
        if not temperature > 0:
            raise ConfigError(f"the temperature must be positive, not {temperature}")
        self.temperature = temperature

    def score_features(self, evidence: Evidence) -> Tensor:
        """Return minus the norm."""
        return gradnorm_score(part(evidence, "features").detach(), part(evidence, "logits").detach(), self.temperature)
