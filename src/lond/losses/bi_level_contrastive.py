"""Bi-level contrastive learning: instance level for all samples, class level for the trusted ones (Eq. 4-5)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import torch
import torch.nn.functional as F
from torch import Tensor

from lond.losses.mixup import Mix
from lond.losses.rows import check_rows

MixedPairs = Literal["major", "minor"]
"""What the other views stand for in the minor term of a mixed batch."""


def _pair_log_probabilities(embeddings: Tensor, temperature: float) -> Tensor:
    """Return ``log [exp(z_i . z_j / tau) / sum_{r != i} exp(z_i . z_r / tau)]`` as ``(M, M)``; the diagonal is 0."""
    # Autocast would run this product in half precision, and 1 / tau magnifies its error.
    with torch.autocast(embeddings.device.type, enabled=False):
        similarities = embeddings.float() @ embeddings.float().T / temperature
    itself = torch.eye(len(embeddings), dtype=torch.bool, device=embeddings.device)
    log_probabilities = F.log_softmax(similarities.masked_fill(itself, -torch.inf), dim=1)
    return log_probabilities.masked_fill(itself, 0.0)


@dataclass(frozen=True)
class _Shown:
    """Sample that each of the M views represents, with its label and weight; all ``(M,)``."""

    identities: Tensor
    labels: Tensor
    weights: Tensor


def _bi_level_term(log_probabilities: Tensor, anchors: _Shown, others: _Shown) -> Tensor:
    """Return Eq. 4 for every anchor, comparing its sample with the samples of the other views."""
    itself = torch.eye(len(log_probabilities), dtype=torch.bool, device=log_probabilities.device)
    same_sample = (anchors.identities[:, None] == others.identities[None, :]) & ~itself
    same_label = (anchors.labels[:, None] == others.labels[None, :]) & ~same_sample & ~itself
    pair_weights = same_label * (anchors.weights[:, None] * others.weights[None, :])
    total = ((same_sample + pair_weights) * log_probabilities).sum(dim=1)
    return -total / (same_sample.sum(dim=1).clamp_min(1) + pair_weights.sum(dim=1))


def bi_level_contrastive(
    embeddings: Tensor, identities: Tensor, labels: Tensor, weights: Tensor, temperature: float
) -> Tensor:
    """Return the bi-level contrastive loss of every view (Eq. 4-5, with the weight outside the logarithm).

    An anchor is pulled towards the other view of its own sample with weight 1, and towards each view of another sample
    of the same label with weight ``w_i w_j``; the sum is divided by 1 + the weighted number of such views. A sample of
    weight 0 (judged foreign) has only its instance term, and serves as a negative.

    Args:
        embeddings: ``(M, E)`` unit vectors of M = 2B views.
        identities: ``(M,)`` index of the sample that a view shows.
        labels: ``(M,)`` corrected labels.
        weights: ``(M,)`` sample weights of Eq. 12.
        temperature: tau.

    Returns:
        ``(M,)`` losses in float32.

    Examples:
        >>> views = torch.nn.functional.normalize(torch.tensor([[1.0, 0.1], [0.1, 1.0], [1.0, 0.0], [0.0, 1.0]]))
        >>> identities, labels = torch.tensor([0, 1, 0, 1]), torch.tensor([5, 7, 5, 7])
        >>> losses = bi_level_contrastive(views, identities, labels, torch.ones(4), 0.1)
        >>> losses.shape, bool((losses < 0.1).all())
        (torch.Size([4]), True)
    """
    check_rows(embeddings=embeddings, identities=identities, labels=labels, weights=weights)
    shown = _Shown(identities, labels, weights.detach().float())
    return _bi_level_term(_pair_log_probabilities(embeddings, temperature), shown, shown)


def mixed_bi_level_contrastive(
    embeddings: Tensor,
    labels: Tensor,
    weights: Tensor,
    mixes: tuple[Mix, ...],
    temperature: float,
    pairs: MixedPairs = "major",
) -> Tensor:
    """Return the loss for mixed views: lambda times the major partner's term plus 1 - lambda times the minor's.

    In the minor term, an anchor represents its minor partner, and every other view its own major one. Both views that
    show the partner with the larger share are therefore its positives, and the sum is divided by 2 + the weighted
    number of views of the same label.

    Args:
        embeddings: ``(V * B, E)``: the B mixed samples of view 0, then those of view 1, ...
        labels: ``(B,)`` corrected labels before mixing.
        weights: ``(B,)`` sample weights before mixing.
        mixes: one mixing per view.
        temperature: tau.
        pairs: "minor" = in the minor term, the other views represent their minor partners too.

    Returns:
        ``(V * B,)`` losses in float32.

    Examples:
        >>> views = torch.nn.functional.normalize(torch.tensor([[1.0, 0.1], [0.1, 1.0], [1.0, 0.0], [0.0, 1.0]]))
        >>> unmixed = Mix(1.0, torch.arange(2))
        >>> labels, weights = torch.tensor([5, 7]), torch.ones(2)
        >>> mixed_bi_level_contrastive(views, labels, weights, (unmixed, unmixed), 0.1).shape
        torch.Size([4])
    """
    device = embeddings.device
    log_probabilities = _pair_log_probabilities(embeddings, temperature)
    own = torch.arange(len(labels), device=device).repeat(len(mixes))
    partners = torch.cat([mix.partners for mix in mixes]).to(device)
    check_rows(labels=labels, weights=weights)
    check_rows(embeddings=embeddings, labels_of_all_views=own, partners=partners)
    ratios = torch.tensor([mix.ratio for mix in mixes], device=device).repeat_interleave(len(labels))
    weights = weights.detach().float()
    major = _Shown(own, labels[own], weights[own])
    minor = _Shown(partners, labels[partners], weights[partners])
    major_term = _bi_level_term(log_probabilities, major, major)
    minor_term = _bi_level_term(log_probabilities, minor, major if pairs == "major" else minor)
    return ratios * major_term + (1 - ratios) * minor_term
