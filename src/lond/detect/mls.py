"""Maximum logit score."""

from __future__ import annotations

from torch import Tensor

from lond.detect.base import Detector
from lond.detect.evidence import Evidence, part


def mls_score(logits: Tensor) -> Tensor:
    """Return ``-max_c z_c``, ``(B, C) -> (B,)``; larger = more foreign.

    Examples:
        >>> import torch
        >>> mls_score(torch.tensor([[9.0, 0.0], [1.0, 1.0]])).tolist()
        [-9.0, -1.0]
    """
    return -logits.float().amax(dim=1)


class MLS(Detector):
    """Maximum logit (Hendrycks et al., ICML 2022, arXiv 1911.11132): logits, no fit.

    Examples:
        >>> import torch
        >>> MLS().score_features(Evidence(logits=torch.tensor([[9.0, 0.0], [1.0, 1.0]]))).tolist()
        [-9.0, -1.0]
    """

    def score_features(self, evidence: Evidence) -> Tensor:
        """Return ``-max_c z_c``."""
        return mls_score(part(evidence, "logits"))
