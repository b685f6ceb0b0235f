"""Likeness of the features to the stored pattern of the predicted class."""

from __future__ import annotations

from typing import Self

import torch
from torch import Tensor

from lond.detect.base import Detector
from lond.detect.evidence import BLOCK_ROWS, Evidence, labelled, part
from lond.errors import DataError


def class_patterns(features: Tensor, logits: Tensor, labels: Tensor) -> Tensor:
    """Return the mean features of each class over its samples that are predicted as it, ``(C, D)`` float64.

    A class without such a sample has the pattern zero.
    """
    right = logits.argmax(dim=1) == labels
    features, labels = features[right], labels[right]
    sums = torch.zeros(logits.shape[1], features.shape[1], dtype=torch.float64, device=features.device)
    for block, block_labels in zip(features.split(BLOCK_ROWS), labels.split(BLOCK_ROWS), strict=True):
        sums.index_add_(0, block_labels, block.double())
    counts = labels.bincount(minlength=logits.shape[1])
    return sums / counts.clamp(min=1)[:, None]


def she_score(features: Tensor, logits: Tensor, patterns: Tensor) -> Tensor:
    """Return ``-<h, S_y>``, y being the class of the largest logit, ``(B,)`` float64; larger = more foreign."""
    return -(features.double() * patterns[logits.argmax(dim=1)]).sum(dim=1)


class SHE(Detector):
    """Simplified Hopfield energy (Zhang et al., ICLR 2023, openreview KkazG4lgKL) with inner products.

    Fitted on features, logits and given labels of the samples whose prediction equals the label. A class without
    one has the pattern zero, so images predicted as it score 0: as features are not negative, the most foreign score.

    Examples:
        >>> features = torch.tensor([[3.0, 0.0], [0.0, 3.0]])
        >>> detector = SHE().fit_features(Evidence(features=features, logits=features, labels=torch.tensor([0, 1])))
        >>> new = torch.tensor([[3.0, 0.0], [0.1, 0.2]])
        >>> [round(score, 2) for score in detector.score_features(Evidence(features=new, logits=new)).tolist()]
        [-9.0, -0.6]
    """

    state_names = ("patterns",)
    fits_on = "training"

    def fit_features(self, evidence: Evidence) -> Self:
        """Keep the patterns; raises DataError also where no sample is predicted as its label."""
        logits, labels = labelled(evidence, "logits")
        patterns = class_patterns(labelled(evidence, "features")[0].detach(), logits.detach(), labels)
        if not patterns.any():
            raise DataError("no sample is predicted as its label: SHE has no pattern to compare with")
        self.state = {"patterns": patterns}
        return self

    def score_features(self, evidence: Evidence) -> Tensor:
        """Return minus the inner product with the pattern of the predicted class."""
        patterns, features = self.fitted("patterns"), part(evidence, "features").detach()
        return she_score(features, part(evidence, "logits").detach(), patterns)
