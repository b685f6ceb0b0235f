"""From embeddings and one-vs-all probabilities to a partition of the training set (Eq. 7-12)."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np
import torch
from torch import Tensor

from lond.errors import ConfigError, DataError
from lond.identify.negative_margin import negative_margin, select_open
from lond.identify.neighbour_margin import clean_quota, neighbour_labels, neighbour_margin, select_clean
from lond.identify.neighbours import nearest_neighbours
from lond.identify.uniform_selection import divergence_cutoff, select_uniformly
from lond.types import Partition

Selection = Literal["neighbour-margin", "uniform"]
"""How the clean samples are chosen."""


@dataclass(frozen=True)
class IdentifySettings:
    """Settings of the identification; defaults are the paper's values for CIFAR with symmetric noise.

    Examples:
        >>> IdentifySettings(neighbours=50, top=1).clean_quantile
        0.9
    """

    neighbours: int = 200
    """k, number of nearest neighbours."""
    top: int = 3
    """K, number of other classes in the neighbour margin; 1 for asymmetric noise and web data."""
    clean_quantile: float = 0.9
    """alpha_ID."""
    open_share: float = 0.1
    """alpha_OOD, share of the samples that are not clean."""
    temperature: float = 0.1
    """tau."""
    include_self: bool = True
    """Whether a sample is among its own neighbours."""
    selection: Selection = "neighbour-margin"
    """"neighbour-margin" is the paper's; "uniform" is UNICON's, which uses neither neighbours nor clean_quantile."""

    def __post_init__(self) -> None:
        """Check that counts are at least 1, shares lie in [0, 1] and the selection is a known one."""
        if self.neighbours < 1 or self.top < 1:
            raise ConfigError("neighbours (k) and top (K) must be at least 1")
        if not (0 <= self.clean_quantile <= 1 and 0 <= self.open_share <= 1):
            raise ConfigError("clean_quantile (alpha_ID) and open_share (alpha_OOD) must lie in [0, 1]")
        if not self.temperature > 0:
            raise ConfigError("temperature (tau) must be positive")
        if self.selection not in get_args(Selection):
            raise ConfigError(f"selection {self.selection!r} is unknown; use {' or '.join(get_args(Selection))}")


@torch.no_grad()
def identify(
    labels: Tensor | np.ndarray,
    positives: Tensor | np.ndarray,
    embeddings: Tensor | np.ndarray,
    settings: IdentifySettings | None = None,
    *,
    clip_weights: bool = True,
) -> Partition:
    """Divide N labelled samples into clean, closed-set noise and open-set noise.

    Args:
        labels: ``(N,)`` given labels in ``0..C-1``; negative = unlabelled (never clean).
        positives: ``(N, C)`` one-vs-all probabilities of belonging to each class, each in [0, 1].
        embeddings: ``(N, E)``; normalised here to unit length.
        settings: thresholds; the paper's if None.
        clip_weights: clip q of the given label in Eq. 12 as in Eq. 8; False as in the released program.

    Returns:
        The partition with the weights of Eq. 12, corrected labels (the neighbour label for closed-set noise) and
        margins.

    Raises:
        DataError: shapes disagree, values are not finite, or there are fewer than two classes.

    Examples:
        >>> labels = torch.tensor([0, 0, 0, 1, 1])
        >>> embeddings = torch.tensor([[1.0, 0.0]] * 2 + [[0.0, 1.0]] * 3)  # the third is mislabelled
        >>> positives = torch.where(embeddings > 0, 0.9, 0.1)
        >>> settings = IdentifySettings(neighbours=2, top=1, open_share=0.0)
        >>> identify(labels, positives, embeddings, settings).names()
        ['clean', 'clean', 'closed', 'clean', 'clean']
    """
    settings = settings or IdentifySettings()
    labels, positives, embeddings = _checked(labels, positives, embeddings)
    embeddings = torch.nn.functional.normalize(embeddings, dim=1)
    alone = len(labels) == 1
    near = nearest_neighbours(embeddings, settings.neighbours, include_self=settings.include_self or alone)
    votes = neighbour_labels(near, positives, settings.temperature)
    voted = votes.argmax(dim=1)
    margins = neighbour_margin(votes, labels, settings.top)
    if settings.selection == "uniform":
        clean = uniformly_clean(positives, labels)
    else:
        clean = select_clean(margins, labels, clean_quota(votes, labels, settings.clean_quantile))
    # An unlabelled sample has no class of its own to deny: its neighbours' vote stands in. In float32 small positives
    # would vanish in 1 - p, and the tied margins with them.
    negative_margins = negative_margin(1 - positives.double(), torch.where(labels >= 0, labels, voted)).float()
    is_open = select_open(negative_margins, clean, settings.open_share)
    closed = ~clean & ~is_open
    return Partition(
        clean=clean,
        closed=closed,
        open=is_open,
        weights=sample_weights(neighbour_margin(votes, labels, top=1, clip=clip_weights), clean, closed),
        corrected=torch.where(closed | (labels < 0), voted, labels),
        neighbour_margin=margins,
        negative_margin=negative_margins,
    )


def uniformly_clean(positives: Tensor, labels: Tensor) -> Tensor:
    """Return the mask ``(N,)`` of UNICON's selection at its published values, from one-vs-all positives.

    A sample's divergence is that of Jensen and Shannon, in bits, between its positives, normalised to sum to one, and
    its label; it depends on the label's own share q alone.

    Args:
        positives: ``(N, C)`` one-vs-all probabilities.
        labels: ``(N,)`` given labels; negative = unlabelled, never clean.
    """
    if not (labels >= 0).any():
        return torch.zeros_like(labels, dtype=torch.bool)
    own = positives.gather(1, labels.clamp_min(0)[:, None]).squeeze(1)
    q = (own / positives.sum(dim=1).clamp_min(torch.finfo(positives.dtype).tiny)).double()
    divergences = 1 + (torch.xlogy(q, q) - torch.xlogy(1 + q, 1 + q)) / (2 * math.log(2))
    cutoff = divergence_cutoff(divergences[labels >= 0])
    return select_uniformly(divergences, labels, positives.shape[1], cutoff).chosen


def sample_weights(best_margins: Tensor, clean: Tensor, closed: Tensor) -> Tensor:
    """Return Eq. 12: 1 for clean, ``(M + 1) / (M_max + 1)`` for closed-set noise, 0 for the rest, as ``(N,)`` float32.

    ``best_margins`` is the neighbour margin against the single best other class; M_max is over the closed set. A sample
    whose neighbours are all sure of another class has the weight 0, also if that holds for the whole closed set.
    """
    weights = clean.float()
    if closed.any():
        inside = best_margins[closed].float() + 1
        weights[closed] = inside / inside.max().clamp_min(torch.finfo(inside.dtype).tiny)
    return weights


def _checked(
    labels: Tensor | np.ndarray, positives: Tensor | np.ndarray, embeddings: Tensor | np.ndarray
) -> tuple[Tensor, Tensor, Tensor]:
    labels = torch.as_tensor(labels).long()
    positives, embeddings = torch.as_tensor(positives).float(), torch.as_tensor(embeddings).float()
    if labels.ndim != 1 or positives.ndim != 2 or embeddings.ndim != 2:
        raise DataError("need labels (N,), positives (N, C) and embeddings (N, E)")
    if not len(labels) == len(positives) == len(embeddings) or len(labels) == 0:
        raise DataError(
            f"lengths differ or are zero: {len(labels)} labels, {len(positives)} probability rows, "
            f"{len(embeddings)} embeddings"
        )
    classes = positives.shape[1]
    if classes < 2:
        raise DataError("identification compares classes: need at least two")
    if int(labels.max()) >= classes:
        raise DataError(f"label {int(labels.max())} is outside 0..{classes - 1}")
    if not (positives.isfinite().all() and embeddings.isfinite().all()):
        raise DataError("probabilities and embeddings must be finite; check for a diverged model")
    if positives.min() < 0 or positives.max() > 1:
        raise DataError("positives must be probabilities in [0, 1]; pass sigmoid outputs, not logits")
    return labels, positives, embeddings
