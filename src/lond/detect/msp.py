"""Maximum softmax probability, the common score of softmax classifiers."""

from __future__ import annotations

import torch.nn.functional as F
from torch import Tensor

from lond.detect.base import Detector
from lond.detect.evidence import Evidence, part


def msp_score(logits: Tensor) -> Tensor:
    """Return ``1 - max_c softmax(logits)_c``, ``(B, C) -> (B,)``; larger = more foreign.

    Examples:
        >>> import torch
        >>> msp_score(torch.tensor([[0.0, 0.0]])).tolist()
        [0.5]
    """
    probabilities = F.softmax(logits.float(), dim=1)
    best = probabilities.argmax(dim=1, keepdim=True)
    # Summing the others keeps apart what 1 - p rounds to the same 0.
    return probabilities.scatter(1, best, 0.0).sum(dim=1)


class MSP(Detector):
    """Maximum softmax probability (Hendrycks and Gimpel, ICLR 2017, arXiv 1610.02136): logits, no fit.

    Examples:
        >>> import torch
        >>> scores = MSP().score_features(Evidence(logits=torch.tensor([[9.0, 0.0], [1.0, 1.0]])))
        >>> [round(score, 2) for score in scores.tolist()]
        [0.0, 0.5]
    """

    def score_features(self, evidence: Evidence) -> Tensor:
        """Return ``1 - max_c softmax(z)_c``."""
        return msp_score(part(evidence, "logits"))
