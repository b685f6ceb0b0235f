"""Evidence for and against every given label, from out-of-fold heads and neighbours."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

from lond.crossfit.decided import taught_labels, taught_weights
from lond.crossfit.heads import Heads, LabelTargets, fit_one_vs_all, fit_softmax
from lond.crossfit.opinions import UnseenOpinions, fit_scales
from lond.crossfit.stages import Stages
from lond.identify.neighbours import Neighbours, nearest_neighbours

NEIGHBOURS = 20
"""Nearest images that vote on a label."""

NEAREST = 10
"""Nearest images whose distance counts."""

FLOOR = -8.0
"""Least log-probability that counts."""

ROWS = 65_536
"""Images whose features are looked at at a time."""

ROUNDING = 1e-5
"""Most that rounding takes from the squared length of a unit vector."""

HEAD_IMAGES = 200_000
"""Images that heads are trained on; larger sets are represented by as many of each class as that allows."""


@dataclass(frozen=True)
class LabelEvidence:
    """What is known of N images and of the set, out of fold.

    ``image`` holds named columns ``(N,)``, ``whole`` named numbers. ``label`` ``(N,)`` is the given label or, where
    there is none, the likeliest class, ``suggested`` ``(N,)`` the likeliest class other than that, ``best`` ``(N,)``
    the likeliest of all and ``best_chance`` ``(N,)`` its probability. ``share`` ``(N,)`` is how much of what is left
    for other classes than the given one the suggested class has. ``near`` are the nearest other images.
    """

    image: dict[str, Tensor]
    whole: dict[str, float]
    label: Tensor
    suggested: Tensor
    best: Tensor
    best_chance: Tensor
    share: Tensor
    opinions: UnseenOpinions

    @property
    def near(self) -> Neighbours:
        """The nearest other images."""
        return self.opinions.near

    @cached_property
    def log_chances(self) -> Tensor:
        """Log-probabilities of the given label ``(N, C)``, of all images at once."""
        return self._all(self.opinions.log_chances)

    def log_chances_of(self, rows: Tensor) -> Tensor:
        """Return log-probabilities of the given label of the images at ``rows`` ``(M,)``, ``(M, C)``."""
        return torch.cat([self.opinions.log_chances(part) for part in rows.split(self.opinions.at_once)])

    @cached_property
    def shares(self) -> Tensor:
        """Shares of labels among the neighbours ``(N, C)``, of all images at once."""
        return self._all(self.opinions.shares)

    @cached_property
    def members(self) -> Tensor:
        """What one-vs-all heads say ``(N, C)``, about 1 for the class of an image and 0 for others."""
        return self._all(self.opinions.members)

    def _all(self, of: Callable[[Tensor], Tensor]) -> Tensor:
        return torch.cat([of(rows) for rows in self.opinions.parts()])


def gather(
    features: Tensor,
    labels: Tensor,
    classes: int,
    folds: Tensor,
    unseen_logits: Tensor | None = None,
    stages: Stages | None = None,
    decided: Tensor | None = None,
    near: Neighbours | None = None,
) -> LabelEvidence:
    """Return the evidence on labels ``(N,)``, negative where there is none.

    Args:
        features: ``(N, D)`` as ``Preparation`` returns them.
        labels: given labels.
        classes: C, at least 2.
        folds: ``(N,)`` in which part an image is judged, by heads trained on the other parts.
        unseen_logits: ``(N, C)`` of networks that did not see the image, in place of linear heads'.
        stages: keeps what took long, and has it from an earlier time; nothing is kept if None.
        decided: ``(N,)`` what a person decided (``lond.crossfit.decided``): heads and neighbours learn from it, while
            the evidence stays that on the given labels.
        near: the nearest other images, if they are known.
    """
    stages = stages or Stages()
    taught, given = taught_labels(labels, decided), labels >= 0
    labelled = taught >= 0
    is_large = len(labels) > HEAD_IMAGES
    learned = spread_over_classes(taught, classes, HEAD_IMAGES) if is_large else torch.arange(len(labels))

    def trained(name: str, amounts: Tensor) -> Heads:
        # Images that a person called foreign count in the one-vs-all heads only: here they have no class to teach.
        targets = LabelTargets(taught[learned], (amounts * labelled)[learned], classes)
        return stages.heads(name, lambda: fit_softmax(features[learned], targets, folds[learned], with_last=False))

    def nearest() -> Neighbours:
        return nearest_neighbours(F.normalize(features, dim=1), NEIGHBOURS, include_self=False)

    near = near or stages.neighbours(nearest)
    said = trained("heads", labelled.float()) if unseen_logits is None else unseen_logits
    first = UnseenOpinions(features, taught, folds, near, classes, said)
    first = replace(first, scales=fit_scales(first))
    image = _columns(first, lambda rows: _first_look(first, rows, labels[rows], decided))
    label, own = image.pop("label"), image.pop("own")
    best, best_chance, suggested, share = (image.pop(name) for name in ("best", "best_chance", "suggested", "share"))
    # The kind and amount of noise are those of the given labels, however many of them were decided on.
    whole = _of_set(best_chance[given], (best != labels)[given], "") | {
        "split": float(image.pop("split").mean()),
        "classes": math.log(classes),
        "per_class": math.log(int(given.sum()) / classes),
        "mean_scatter": float(image["scatter"].mean()),
    }
    # A second training, in which images whose label is doubted count for less.
    weights = image.pop("trust")
    second = replace(first, said=trained("second heads", weights), one_vs_all=None)
    second = replace(second, scales=fit_scales(second))
    members = fit_one_vs_all(features, LabelTargets(taught, labelled.float(), classes), weights, folds)
    first = replace(first, one_vs_all=members)
    image |= _columns(first, lambda rows: _second_look(replace(second, one_vs_all=members), rows, label[rows]))
    best2, chance2 = image.pop("best2"), image.pop("best_chance2")
    whole |= _of_set(chance2[given], (best2 != labels)[given], "2")
    image |= _among_all(image, features, near, own, label)
    return LabelEvidence(image, whole, label, suggested, best, best_chance, share, first)


def spread_over_classes(labels: Tensor, classes: int, most: int) -> Tensor:
    """Return the places of about ``most`` labelled images, sorted: of every class as many, or all where it has fewer.

    Of a larger class every other image, or one in three and so on, is taken.
    """
    order = labels.argsort(stable=True)
    order = order[labels[order] >= 0]
    counts = torch.bincount(labels[order], minlength=classes)
    ranks = torch.arange(len(order)) - (counts.cumsum(dim=0) - counts)[labels[order]]
    each = max(1, most // classes)
    steps = counts.clamp_min(each)[labels[order]]
    chosen = (ranks + 1) * each // steps > ranks * each // steps
    return order[chosen].sort().values


ImageColumns = dict[str, Tensor]
"""Named columns ``(N,)``, one value per image."""


def _columns(opinions: UnseenOpinions, of: Callable[[Tensor], ImageColumns]) -> ImageColumns:
    """Return columns ``(N,)`` of all images from those of some at a time.

    They are written into columns made beforehand: small tensors kept from every part would lie where large ones were,
    which then fit nowhere, and memory would grow with images times classes after all.
    """
    columns: ImageColumns = {}
    for rows in opinions.parts():
        part = of(rows)
        columns = columns or {name: values.new_empty(len(opinions.labels)) for name, values in part.items()}
        for name, values in part.items():
            columns[name][rows] = values
    return columns


def _first_look(opinions: UnseenOpinions, rows: Tensor, given: Tensor, decided: Tensor | None) -> ImageColumns:
    logits, shares = opinions.logits(rows), opinions.shares(rows)
    chances = opinions.log_chances(rows, logits, shares)
    label = torch.where(given >= 0, given, chances.argmax(dim=1))
    suggested = best_other(chances, label)
    own, other = _at(chances, label), _at(chances, suggested)
    likely = chances.exp()
    best = likely.max(dim=1)
    return {
        "label": label,
        "own": own,
        "suggested": suggested,
        "best": best.indices,
        "best_chance": best.values,
        "share": other.exp() / (1 - own.exp()).clamp_min(1e-6),
        "trust": taught_weights(chances, opinions.labels[rows], None if decided is None else decided[rows]),
        "split": (logits.argmax(dim=1) != shares.argmax(dim=1)).float(),
        "log_given": own.clamp_min(FLOOR),
        "log_other": other.clamp_min(FLOOR),
        "differs": (other > own).float(),
        "entropy": -(likely * chances).sum(dim=1) / math.log(opinions.classes),
        "near_given": _at(shares, label).log(),
        "near_other": _at(shares, suggested).log(),
        "scatter": 1 - shares.square().sum(dim=1),
        "energy": energy(logits),
    }


def _second_look(opinions: UnseenOpinions, rows: Tensor, label: Tensor) -> ImageColumns:
    logits, members = opinions.logits(rows), opinions.members(rows)
    chances = opinions.log_chances(rows, logits)
    other = best_other(chances, label)
    best = chances.exp().max(dim=1)
    return {
        "best2": best.indices,
        "best_chance2": best.values,
        "log_given2": _at(chances, label).clamp_min(FLOOR),
        "log_other2": _at(chances, other).clamp_min(FLOOR),
        "energy2": energy(logits),
        "member": members.amax(dim=1),
        "member_given": _at(members, label),
        "member_other": _at(members, other),
    }


def _among_all(image: ImageColumns, features: Tensor, near: Neighbours, own: Tensor, label: Tensor) -> ImageColumns:
    """Return what compares an image with its neighbours and with the whole set; takes what only this needs."""
    scatter, member = image["scatter"], image.pop("member")
    near_doubt = _mean_of(near, 1 - own.exp())
    distance = 1 - near.similarities[:, :NEAREST].mean(dim=1)
    # Features of unit length lost this in the directions that were left out; 0 where all were kept.
    lengths = torch.cat([part.square().sum(dim=1) for part in features.split(ROWS)])
    residual = F.threshold(1 - lengths, ROUNDING, 0.0)
    return {
        "scatter_rank": normal_ranks(scatter),
        "near_scatter": _mean_of(near, scatter),
        "distance_rank": normal_ranks(distance),
        "distance_far": from_median(distance),
        "residual_rank": normal_ranks(residual),
        "residual_far": from_median(residual),
        "class_rank": class_ranks(own, label),
        "energy_rank": normal_ranks(image.pop("energy")),
        "near_doubt": near_doubt,
        "near_doubt_rank": normal_ranks(near_doubt),
        "energy2_rank": normal_ranks(image.pop("energy2")),
        "member_rank": normal_ranks(-member),
        "member_far": from_median(-member),
        "near_member": _mean_of(near, member),
    }


def _mean_of(near: Neighbours, values: Tensor) -> Tensor:
    """Return the mean of values ``(N,)`` over the neighbours of each image."""
    return values[near.indices].mean(dim=1)


def _at(table: Tensor, classes: Tensor) -> Tensor:
    """Return the entries ``(B,)`` of a table ``(B, C)`` at one class an image."""
    return table.gather(1, classes[:, None]).squeeze(1)


def _of_set(best: Tensor, differs: Tensor, mark: str) -> dict[str, float]:
    """Return how often the likeliest class is another, how sure it is then, and how sure the surest tenth is."""
    strength = best[differs].mean() if differs.any() else best.min()
    return {
        f"disagreement{mark}": float(differs.float().mean()),
        f"contradiction{mark}": float(strength),
        f"sure{mark}": float(np.quantile(best.numpy(), 0.9)),
    }


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
