"""Cosine distance to the nearest class prototype, the score of Noisy Graph Cleaning."""

from __future__ import annotations

from typing import Self

import torch.nn.functional as F
from torch import Tensor

from lond.detect.base import Detector
from lond.detect.evidence import Evidence, labelled, part


def ngc_prototypes(embeddings: Tensor, labels: Tensor) -> Tensor:
    """Return the unit means of the unit embeddings of each class that occurs, ``(N, E), (N,) -> (M, E)``."""
    classes, rows = labels.unique(return_inverse=True)
    units = F.normalize(embeddings.float(), dim=1)
    # The length of the mean drops out, so the sum does.
    return F.normalize(units.new_zeros(len(classes), units.shape[1]).index_add_(0, rows, units), dim=1)


def ngc_prototype_score(embeddings: Tensor, prototypes: Tensor) -> Tensor:
    """Return ``1 - max_c cos(z, m_c)``, ``(B, E), (M, E) -> (B,)`` in [0, 2]; larger = more foreign."""
    return 1 - (F.normalize(embeddings.to(prototypes.dtype), dim=1) @ prototypes.T).amax(dim=1)


class NGCPrototype(Detector):
    """NGC's prototype score (Wu et al., ICCV 2021, arXiv 2108.11035).

    Works on ``embeddings``, or on ``features`` where the evidence has none; the same kind in fit and score. NGC takes
    the mean over the samples it kept: fit on ``trusted_only`` evidence, under corrected labels where there are some. A
    class without a sample has no prototype and attracts nothing.

    Examples:
        >>> import torch
        >>> bank = Evidence(embeddings=torch.eye(3)[:2], labels=torch.tensor([0, 1]))
        >>> NGCPrototype().fit_features(bank).score_features(Evidence(embeddings=torch.eye(3))).tolist()
        [0.0, 0.0, 1.0]
    """

    state_names = ("prototypes",)
    fits_on = "training"

    def fit_features(self, evidence: Evidence) -> Self:
        """Fit the class prototypes."""
        embeddings, labels = labelled(evidence, _kind(evidence))
        self.state = {"prototypes": ngc_prototypes(embeddings.detach(), labels)}
        return self

    def score_features(self, evidence: Evidence) -> Tensor:
        """Return the cosine distance to the nearest prototype."""
        return ngc_prototype_score(part(evidence, _kind(evidence)).detach(), self.fitted("prototypes"))


def _kind(evidence: Evidence) -> str:
    return "features" if evidence.embeddings is None else "embeddings"
