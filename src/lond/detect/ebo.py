"""Energy-based score."""

from __future__ import annotations

from torch import Tensor

from lond.detect.base import Detector
from lond.detect.evidence import Evidence, part
from lond.detect.network import AnyNetwork
from lond.errors import ConfigError


def ebo_score(logits: Tensor, temperature: float = 1.0) -> Tensor:
    """Return the energy ``-T log sum_c exp(z_c / T)``, ``(B, C) -> (B,)``; larger = more foreign."""
    return -temperature * (logits.float() / temperature).logsumexp(dim=1)


class EBO(Detector):
    """Energy (Liu et al., NeurIPS 2020, arXiv 2010.03759): logits, no fit.

    Examples:
        >>> import torch
        >>> scores = EBO().score_features(Evidence(logits=torch.tensor([[9.0, 0.0], [1.0, 1.0]])))
        >>> [round(score, 2) for score in scores.tolist()]
        [-9.0, -1.69]
    """

    def __init__(self, network: AnyNetwork | None = None, *, temperature: float = 1.0) -> None:
        """Set T."""
        super().__init__(network)
        if not temperature > 0:
            raise ConfigError(f"the temperature must be positive, not {temperature}")
        self.temperature = temperature

    def score_features(self, evidence: Evidence) -> Tensor:
        """Return ``-T log sum_c exp(z_c / T)``."""
        return ebo_score(part(evidence, "logits"), self.temperature)
