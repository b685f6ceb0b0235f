"""What speaks for and against every given label, drawn from heads and neighbours that never saw it."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

from lond.crossfit.decided import taught_labels, taught_weights
from lond.crossfit.heads import fit_one_vs_all, fit_softmax
from lond.identify.neighbours import Neighbours, nearest_neighbours

NEIGHBOURS = 20
"""Nearest images that vote on a label."""

NEAREST = 10
"""Nearest images whose distance counts."""

TEMPERATURE = 0.1
"""By how much similarity a neighbour's vote falls to 1 / e."""

NEIGHBOURS_WEIGHT = 0.5
"""Weight of the neighbours' log-probabilities beside the heads'."""

FLOOR = -8.0
"""Least log-probability that counts."""


@dataclass(frozen=True)
class LabelEvidence:
    """What is known of N images and of the set, out of fold.

    ``image`` holds named columns ``(N,)``, ``whole`` named numbers. ``log_chances`` ``(N, C)`` are log-probabilities
    of the given label, ``label`` ``(N,)`` the given label or, where there is none, the likeliest class, ``suggested``
    ``(N,)`` the likeliest class other than that. ``near`` are the nearest other images, ``shares`` ``(N, C)`` of labels
    among them, ``members`` ``(N, C)`` what one-vs-all heads say, about 1 for the class of an image and 0 for others.
    """

    image: dict[str, Tensor]
    whole: dict[str, float]
    log_chances: Tensor
    label: Tensor
    suggested: Tensor
    near: Neighbours
    shares: Tensor
    members: Tensor

    @property
    def share(self) -> Tensor:
        """How much of what is left for other classes than the given one the suggested class has, ``(N,)``."""
        rows = torch.arange(len(self.label))
        own, other = (self.log_chances[rows, kind].exp() for kind in (self.label, self.suggested))
        return other / (1 - own).clamp_min(1e-6)


def gather(
    features: Tensor,
    labels: Tensor,
    classes: int,
    folds: Tensor,
    unseen_logits: Tensor | None = None,
    decided: Tensor | None = None,
) -> LabelEvidence:
    """Return the evidence on labels ``(N,)``, negative where there is none.

    Args:
        features: ``(N, D)`` as ``Preparation`` returns them.
        labels: given labels.
        classes: C, at least 2.
        folds: ``(N,)`` in which part an image is judged, by heads trained on the other parts.
        unseen_logits: ``(N, C)`` of networks that did not see the image, in place of linear heads'.
        decided: ``(N,)`` what a person decided (``lond.crossfit.decided``): heads and neighbours learn from it, while
            the evidence stays that on the given labels.
    """
    taught = taught_labels(labels, decided)
    labelled = taught >= 0
    targets = F.one_hot(taught.clamp_min(0), classes) * labelled[:, None].float()
    logits = fit_softmax(features, targets, folds).unseen(features, folds) if unseen_logits is None else unseen_logits
    near = nearest_neighbours(F.normalize(features, dim=1), NEIGHBOURS, include_self=False)
    shares = label_shares(taught, near, classes)
    neighbours = NEIGHBOURS_WEIGHT * fitted(shares.log(), taught)
    head = fitted(logits, taught)
    chances = fitted(head + neighbours, taught)
    label = torch.where(labels >= 0, labels, chances.argmax(dim=1))
    rows = torch.arange(len(label))
    own = chances[rows, label]
    # A second training, in which images whose label is doubted count for less.
    weights = taught_weights(chances, taught, decided)
    logits2 = fit_softmax(features, targets * weights[:, None], folds).unseen(features, folds)
    chances2 = fitted(fitted(logits2, taught) + neighbours, taught)
    members = fit_one_vs_all(features, targets, weights, folds).unseen(features, folds)
    suggested = best_other(chances, label)
    scatter = 1 - shares.square().sum(dim=1)
    near_doubt = (1 - own.exp())[near.indices].mean(dim=1)
    distance = 1 - near.similarities[:, :NEAREST].mean(dim=1)
    # Features of unit length lost this in the directions that were left out; 0 where all were kept.
    residual = (1 - features.square().sum(dim=1)).clamp_min(0)
    member = members.amax(dim=1)
    image = {
        **_of_chances(chances, label, ""),
        "differs": (chances[rows, suggested] > own).float(),
        "entropy": -(chances.exp() * chances).sum(dim=1) / math.log(classes),
        "near_given": shares[rows, label].log(),
        "near_other": shares[rows, suggested].log(),
        "scatter": scatter,
        "scatter_rank": normal_ranks(scatter),
        "near_scatter": scatter[near.indices].mean(dim=1),
        "distance_rank": normal_ranks(distance),
        "distance_far": from_median(distance),
        "residual_rank": normal_ranks(residual),
        "residual_far": from_median(residual),
        "class_rank": class_ranks(own, label),
        "energy_rank": normal_ranks(energy(logits)),
        "near_doubt": near_doubt,
        "near_doubt_rank": normal_ranks(near_doubt),
        **_of_chances(chances2, label, "2"),
        "energy2_rank": normal_ranks(energy(logits2)),
        "member_rank": normal_ranks(-member),
        "member_far": from_median(-member),
        "near_member": member[near.indices].mean(dim=1),
        "member_given": members[rows, label],
        "member_other": members[rows, best_other(chances2, label)],
    }
    # The kind and amount of noise are those of the given labels, however many of them were decided on.
    labelled = labels >= 0
    whole = {
        **_of_set(chances[labelled], labels[labelled], ""),
        "split": float((head.argmax(dim=1) != shares.argmax(dim=1)).float().mean()),
        "classes": math.log(classes),
        "per_class": math.log(int(labelled.sum()) / classes),
        "mean_scatter": float(scatter.mean()),
        **_of_set(chances2[labelled], labels[labelled], "2"),
    }
    return LabelEvidence(image, whole, chances, label, suggested, near, shares, members)


def _of_chances(chances: Tensor, label: Tensor, mark: str) -> dict[str, Tensor]:
    rows = torch.arange(len(label))
    return {
        f"log_given{mark}": chances[rows, label].clamp_min(FLOOR),
        f"log_other{mark}": chances[rows, best_other(chances, label)].clamp_min(FLOOR),
    }


def _of_set(chances: Tensor, labels: Tensor, mark: str) -> dict[str, float]:
    """Return how often the likeliest class is another, how sure it is then, and how sure the surest tenth is."""
    best = chances.exp().max(dim=1)
    differs = best.indices != labels
    strength = best.values[differs].mean() if differs.any() else best.values.min()
    return {
        f"disagreement{mark}": float(differs.float().mean()),
        f"contradiction{mark}": float(strength),
        f"sure{mark}": float(np.quantile(best.values.numpy(), 0.9)),
    }


def label_shares(labels: Tensor, near: Neighbours, classes: int) -> Tensor:
    """Return the shares of labels among neighbours ``(N, C)``, with one more neighbour of the set's own mix."""
    labelled = labels >= 0
    mix = torch.bincount(labels[labelled], minlength=classes).float() + 0.5
    count = near.indices.shape[1]
    weights = torch.softmax(near.similarities / TEMPERATURE, dim=1) * count * labelled[near.indices]
    found = torch.zeros(len(labels), classes)
    found.scatter_add_(1, labels.clamp_min(0)[near.indices], weights)
    found += mix / mix.sum()
    return found / found.sum(dim=1, keepdim=True)


def fitted(logits: Tensor, labels: Tensor) -> Tensor:
    """Return log-probabilities ``(N, C)`` at the scale of the logits that fits the labels best."""
    scales = torch.logspace(-0.7, 0.7, 29)
    known = labels >= 0
    losses = [float(F.cross_entropy(logits[known] * scale, labels[known])) for scale in scales]
    return torch.log_softmax(logits * scales[int(np.argmin(losses))], dim=1)


def best_other(log_chances: Tensor, label: Tensor) -> Tensor:
    """Return the likeliest class other than the label, ``(N,)``."""
    return log_chances.scatter(1, label[:, None], -torch.inf).argmax(dim=1)


def energy(logits: Tensor) -> Tensor:
    """Return the energy of centred logits ``(N, C)``; larger = more foreign."""
    return -torch.logsumexp(logits - logits.mean(dim=1, keepdim=True), dim=1)


def normal_ranks(values: Tensor) -> Tensor:
    """Return the ranks of values ``(N,)`` as quantiles of the normal distribution, which do not depend on N.

    Equal values share the mean of their ranks.
    """
    _, places, counts = values.unique(return_inverse=True, return_counts=True)
    ranks = (counts.cumsum(dim=0) - (counts + 1) / 2)[places].double()
    quantiles: Tensor = torch.special.ndtri((ranks + 0.5) / len(values))
    return quantiles.float()


def from_median(values: Tensor) -> Tensor:
    """Return how many standard deviations values ``(N,)`` lie above the median, by the median deviation, at most 8."""
    away = values - values.median()
    return (away / (1.4826 * away.abs().median()).clamp_min(1e-6)).clamp(-8, 8)


def class_ranks(values: Tensor, label: Tensor) -> Tensor:
    """Return the ranks among the images of the same label in the same way."""
    found = torch.zeros_like(values)
    for own in label.unique():
        found[label == own] = normal_ranks(values[label == own])
    return found
