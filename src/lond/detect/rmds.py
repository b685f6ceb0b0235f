"""Mahalanobis distance to the nearest class, minus the one to all classes together."""

from __future__ import annotations

from typing import Self

import torch
from torch import Tensor

from lond.detect.evidence import Evidence, labelled, part
from lond.detect.mds import MDS, fit_classes, mds_score


class RMDS(MDS):
    """Relative Mahalanobis distance (Ren et al., 2021, arXiv 2106.09022) on the last features.

    Fitted on features and given labels, in float64: what ``MDS`` fits, and a mean and covariance of all samples as one
    class. As with ``MDS``, fit on ``trusted_only`` evidence to leave out open-set images and wrong labels.

    Examples:
        >>> features = torch.tensor([[0.0, 0.0], [1.0, 1.0], [5.0, 5.0], [6.0, 4.0]])
        >>> detector = RMDS().fit_features(Evidence(features=features, labels=torch.tensor([0, 0, 1, 1])))
        >>> scores = detector.score_features(Evidence(features=torch.tensor([[0.5, 0.5], [3.0, 9.0]])))
        >>> bool(scores[1] > scores[0])
        True
    """

    state_names = ("whitening", "white_means", "all_whitening", "all_white_means")

    def fit_features(self, evidence: Evidence) -> Self:
        """Fit both Gaussians; raises DataError also where no feature varies within a class."""
        features, labels = labelled(evidence, "features")
        by_class = fit_classes(features.detach(), labels, self.eigen_cutoff)
        together = fit_classes(features.detach(), torch.zeros_like(labels), self.eigen_cutoff)
        self.state = dict(zip(self.state_names, (*by_class, *together), strict=True))
        return self

    def score_features(self, evidence: Evidence) -> Tensor:
        """Return ``min_c d_c - d_0`` of squared Mahalanobis distances."""
        whitening, white_means, all_whitening, all_white_means = (self.fitted(name) for name in self.state_names)
        features = part(evidence, "features").detach()
        return mds_score(features, whitening, white_means) - mds_score(features, all_whitening, all_white_means)
