"""Mahalanobis distance to the nearest class mean."""

from __future__ import annotations

from typing import ClassVar, Self

import torch
from torch import Tensor

from lond.detect.base import Detector
from lond.detect.evidence import BLOCK_ROWS, Evidence, in_blocks, labelled, part
from lond.detect.network import AnyNetwork
from lond.errors import ConfigError, DataError


def class_means(features: Tensor, labels: Tensor) -> tuple[Tensor, Tensor]:
    """Return the means ``(M, D)`` float64 of the M classes that occur, and the row ``(N,)`` of each sample's mean."""
    classes, rows = labels.unique(return_inverse=True)
    sums = torch.zeros(len(classes), features.shape[1], dtype=torch.float64, device=features.device)
    for block, block_rows in zip(features.split(BLOCK_ROWS), rows.split(BLOCK_ROWS), strict=True):
        sums.index_add_(0, block_rows, block.double())
    return sums / rows.bincount()[:, None], rows


def within_covariance(features: Tensor, means: Tensor, rows: Tensor) -> Tensor:
    """Return ``S = (1/N) sum_i (h_i - m_i)(h_i - m_i)^T``, ``(D, D)`` float64, with ``m_i = means[rows[i]]``."""
    total = torch.zeros(features.shape[1], features.shape[1], dtype=torch.float64, device=features.device)
    for block, block_rows in zip(features.split(BLOCK_ROWS), rows.split(BLOCK_ROWS), strict=True):
        centred = block.double() - means[block_rows]
        total.addmm_(centred.T, centred)
    return total / len(features)


def whitener(covariance: Tensor, eigen_cutoff: float = 1e-10) -> Tensor:
    """Return W ``(D, R)`` with ``W W^T`` the pseudo-inverse of the covariance ``(D, D)``.

    Directions with an eigenvalue of at most ``eigen_cutoff`` times the largest (dead units, copies) are left out.

    Raises:
        DataError: the covariance is zero.
    """
    values, vectors = torch.linalg.eigh(covariance)
    kept = values > eigen_cutoff * values[-1].clamp(min=0)
    if not kept.any():
        raise DataError("no feature varies within a class: MDS needs classes with several different samples")
    white: Tensor = vectors[:, kept] / values[kept].sqrt()
    return white


def fit_classes(features: Tensor, labels: Tensor, eigen_cutoff: float) -> tuple[Tensor, Tensor]:
    """Return W ``(D, R)`` of the covariance that the classes share, and their means ``(M, R)`` times W."""
    means, rows = class_means(features, labels)
    whitening = whitener(within_covariance(features, means, rows), eigen_cutoff)
    return whitening, means @ whitening


def mds_score(features: Tensor, whitening: Tensor, white_means: Tensor) -> Tensor:
    """Return ``min_c (h - m_c)^T S^-1 (h - m_c) = min_c |h W - m_c W|^2``; larger = more foreign.

    Args:
        features: ``(B, D)``.
        whitening: W ``(D, R)`` float64.
        white_means: ``m_c W``, ``(M, R)`` float64.

    Returns:
        ``(B,)`` float64.
    """
    lengths = white_means.square().sum(dim=1)

    def nearest(block: Tensor) -> Tensor:
        white = block.double() @ whitening
        distances = white.square().sum(dim=1, keepdim=True) - 2 * white @ white_means.T + lengths
        return distances.amin(dim=1).clamp(min=0)

    return in_blocks(nearest, features)


class MDS(Detector):
    """Mahalanobis distance on the last features (Lee et al., NeurIPS 2018, arXiv 1807.03888).

    Fitted on features and given labels, in float64. Open-set images and wrong labels in the training set shift the
    class means and inflate the covariance, so that unknown images look known. Fit on ``trusted_only`` evidence to leave
    them out. A class without samples is ignored.

    Examples:
        >>> features = torch.tensor([[0.0, 0.0], [1.0, 1.0], [5.0, 5.0], [6.0, 4.0]])
        >>> detector = MDS().fit_features(Evidence(features=features, labels=torch.tensor([0, 0, 1, 1])))
        >>> scores = detector.score_features(Evidence(features=torch.tensor([[0.5, 0.5], [3.0, 9.0]])))
        >>> [round(score, 1) for score in scores.tolist()]
        [0.0, 106.0]
    """

    state_names: ClassVar[tuple[str, ...]] = ("whitening", "white_means")
    fits_on = "training"

    def __init__(self, network: AnyNetwork | None = None, *, eigen_cutoff: float = 1e-10) -> None:
        """Set the share of the largest eigenvalue below which a direction is ignored."""
        super().__init__(network)
        if not 0 <= eigen_cutoff < 1:
            raise ConfigError(f"the eigenvalue cutoff must lie in [0, 1), not {eigen_cutoff}")
        self.eigen_cutoff = eigen_cutoff

    def fit_features(self, evidence: Evidence) -> Self:
        """Fit class means and shared covariance; raises DataError also where no feature varies within a class."""
        features, labels = labelled(evidence, "features")
        self.state = dict(zip(self.state_names, fit_classes(features.detach(), labels, self.eigen_cutoff), strict=True))
        return self

    def score_features(self, evidence: Evidence) -> Tensor:
        """Return the squared Mahalanobis distance to the nearest class mean."""
        return mds_score(part(evidence, "features").detach(), self.fitted("whitening"), self.fitted("white_means"))
