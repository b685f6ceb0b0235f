"""Thresholds and weights that adapt themselves, for all samples and for each class (SED).

The caller keeps the state from epoch to epoch: the global threshold and the mass of each class, the moments of the
teacher's confidence in each class. ``C`` classes, ``N`` samples.
"""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor

SMALLEST_VARIANCE = 1e-6
"""Added to variances: in a class of equal confidences the slightest doubt would otherwise cost all weight."""


class Thresholds(NamedTuple):
    """``level`` () is T, the global threshold; ``mass`` (C,) is l, the mean predicted probability of each class.

    Examples:
        >>> Thresholds(torch.tensor(0.8), torch.tensor([0.5, 0.25])).by_class().tolist()
        [0.800000011920929, 0.4000000059604645]
    """

    level: Tensor
    mass: Tensor

    def by_class(self) -> Tensor:
        """Return ``t_c = T l_c / max_k l_k``: classes that attract less are asked for less."""
        return self.level * self.mass / self.mass.max().clamp_min(torch.finfo(self.mass.dtype).tiny)


class Moments(NamedTuple):
    """Mean and variance ``(C,)`` of the teacher's confidence, by the class it predicts.

    Examples:
        >>> class_moments(torch.tensor([0.6, 0.8]), torch.tensor([0, 0]), 1).variance.shape
        torch.Size([1])
    """

    mean: Tensor
    variance: Tensor


def moved(old: Tensor, new: Tensor, memory: float) -> Tensor:
    """Return ``m old + (1 - m) new``."""
    return memory * old + (1 - memory) * new


def given_probability(probabilities: Tensor, labels: Tensor) -> Tensor:
    """Return the probability ``(N,)`` of the given label; 0 where there is none.

    Examples:
        >>> given_probability(torch.tensor([[0.75, 0.25], [0.5, 0.5]]), torch.tensor([1, -1])).tolist()
        [0.25, 0.0]
    """
    chosen = probabilities.gather(1, labels.clamp_min(0)[:, None]).squeeze(1)
    return torch.where(labels >= 0, chosen, 0.0)


def move_thresholds(
    old: Thresholds, probabilities: Tensor, labels: Tensor, memory: float, quantile: float, limit: float
) -> Thresholds:
    """Return the thresholds of this epoch.

    ``T <- m T + (1 - m) Q(u)``, at most ``limit``, Q(u) the quantile of the labelled samples' given-label probability;
    ``l <- m l + (1 - m) mean_i p_i``.

    Args:
        old: those of the epoch before.
        probabilities: ``(N, C)`` the student's predictions.
        labels: ``(N,)`` given labels; negative = unlabelled.
        memory: m.
        quantile: which quantile Q is, in [0, 1].
        limit: the largest global threshold.

    Examples:
        >>> old = Thresholds(torch.tensor(0.0), torch.tensor([0.5, 0.5]))
        >>> sure = torch.tensor([[0.75, 0.25]])
        >>> move_thresholds(old, sure, torch.tensor([0]), memory=0.5, quantile=0.5, limit=0.9).level.item()
        0.375
    """
    labelled = labels >= 0
    level = old.level
    if labelled.any():
        level = moved(level, given_probability(probabilities, labels)[labelled].quantile(quantile), memory)
    return Thresholds(level.clamp(0, limit), moved(old.mass, probabilities.mean(dim=0), memory))


def select_adaptively(probabilities: Tensor, labels: Tensor, thresholds: Thresholds) -> Tensor:
    """Return the mask ``(N,)`` of clean samples: ``p_i[y_i] >= t_{y_i}``; unlabelled ones are never clean.

    Examples:
        >>> thresholds = Thresholds(torch.tensor(0.8), torch.tensor([0.5, 0.5]))
        >>> select_adaptively(torch.tensor([[0.9, 0.1], [0.6, 0.4]]), torch.tensor([0, 0]), thresholds).tolist()
        [True, False]
    """
    asked = thresholds.by_class()[labels.clamp_min(0)]
    return (given_probability(probabilities, labels) >= asked) & (labels >= 0)


def class_moments(confidence: Tensor, classes: Tensor, num_classes: int) -> Moments:
    """Return mean and unbiased variance of the confidence by class; 0 and 1 for a class of fewer than two samples.

    Args:
        confidence: ``(N,)`` the teacher's largest probability.
        classes: ``(N,)`` the class it belongs to.
        num_classes: C.

    Examples:
        >>> class_moments(torch.tensor([0.5, 1.0, 0.9]), torch.tensor([0, 0, 1]), 2)
        Moments(mean=tensor([0.7500, 0.0000]), variance=tensor([0.1250, 1.0000]))
    """
    values = confidence.double()
    empty = values.new_zeros(num_classes)
    counts = torch.bincount(classes, minlength=num_classes)
    means = empty.index_add(0, classes, values) / counts.clamp_min(1)
    squares = empty.index_add(0, classes, (values - means[classes]).square())
    enough = counts >= 2
    means = torch.where(enough, means, 0.0)
    variances = torch.where(enough, squares / (counts - 1).clamp_min(1), 1.0)
    return Moments(means.to(confidence.dtype), variances.to(confidence.dtype))


def move_moments(old: Moments, confidence: Tensor, classes: Tensor, memory: float) -> Moments:
    """Return the moments of this epoch: ``m old + (1 - m) new``; see ``class_moments``.

    Examples:
        >>> old = Moments(torch.tensor([0.0]), torch.tensor([1.0]))
        >>> move_moments(old, torch.tensor([1.0, 1.0]), torch.tensor([0, 0]), memory=0.5).mean.tolist()
        [0.5]
    """
    new = class_moments(confidence, classes, len(old.mean))
    return Moments(moved(old.mean, new.mean, memory), moved(old.variance, new.variance, memory))


def truncated_gaussian_weights(confidence: Tensor, classes: Tensor, moments: Moments, sharpness: float) -> Tensor:
    """Return the weights ``(N,)`` of the teacher's classes: 1 at or above the class's mean confidence, less below.

    ``w_i = exp(-min(v_i - mu_c, 0)^2 / (2 var_c / n^2))``, c the class of sample i.

    Args:
        confidence: ``(N,)`` v.
        classes: ``(N,)`` c.
        moments: mu and var.
        sharpness: n; larger = faster fall.

    Examples:
        >>> moments = Moments(torch.tensor([0.8]), torch.tensor([0.01]))
        >>> confidence, classes = torch.tensor([0.9, 0.7]), torch.tensor([0, 0])
        >>> weights = truncated_gaussian_weights(confidence, classes, moments, sharpness=1.0)
        >>> [round(weight, 2) for weight in weights.tolist()]
        [1.0, 0.61]
    """
    below = (confidence - moments.mean[classes]).clamp_max(0)
    variance = moments.variance[classes] + SMALLEST_VARIANCE
    return torch.exp(-((sharpness * below).square()) / (2 * variance))
