"""A verdict layer under trial: P(clean), P(wrong), P(foreign) per image from frozen features.

Softmax heads in five folds and nearest neighbours say how likely each given label is, never having seen it. A few
numbers per image and per set are drawn from that (``evidence``). A table of coefficients (``candidate.json``), fitted
once on TUNE cells, turns them into probabilities; rates are means of these.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from benchmarks.noise_bench.heads import (
    calibrated,
    energy,
    fit_head,
    fit_one_vs_all,
    make_folds,
    neighbours,
    one_vs_all_out_of_fold,
    out_of_fold,
    preparation,
)
from benchmarks.noise_bench.opinion import FALSE_ALARMS, Opinion, Rate, Task, Tested
from torch import Tensor

TABLE = Path(__file__).with_name("candidate.json")

FOREIGN_FROM = 0.6
"""P(foreign) from which on an image is called so; chosen on TUNE cells."""

SUGGEST_FROM = 0.5
"""Confidence from which on the corrected set takes a suggestion."""

FLOOR = -8.0
"""Least log-probability that the table sees."""


@dataclass(frozen=True)
class Evidence:
    """What is known of each image and of the set, out of fold: named columns ``(N,)`` and named numbers."""

    image: dict[str, Tensor]
    whole: dict[str, float]
    log_chances: Tensor
    suggested: Tensor


def evidence(features: Tensor, given: Tensor, classes: int, folds: Tensor) -> Evidence:
    """Return the inputs of the verdict for prepared features ``(N, D)`` and given labels ``(N,)``."""
    rows, targets = torch.arange(len(given)), torch.eye(classes)[given]
    logits = out_of_fold(features, targets, folds)
    head = calibrated(logits, given)
    similarities, places = neighbours(features)
    shares = label_shares(given, places, similarities, classes)
    near = calibrated(shares.log(), given)
    both = calibrated(head + 0.5 * near, given)
    own = both[rows, given]
    other, suggested = best_other(both, given)
    # A second training in which images whose label is doubted count for less.
    weights = (own - both.amax(dim=1)).exp()
    logits2 = out_of_fold(features, targets, folds, weights)
    both2 = calibrated(calibrated(logits2, given) + 0.5 * near, given)
    other2, suggested2 = best_other(both2, given)
    denials = one_vs_all_out_of_fold(features, targets, folds, weights)
    scatter = 1 - shares.square().sum(dim=1)
    near_doubt = (1 - own.exp())[places].mean(dim=1)
    image = {
        "log_given": own.clamp_min(FLOOR),
        "log_other": other.clamp_min(FLOOR),
        "differs": (other > own).float(),
        "entropy": -(both.exp() * both).sum(dim=1) / np.log(max(2, classes)),
        "near_given": shares[rows, given].log(),
        "near_other": shares[rows, suggested].log(),
        "scatter": scatter,
        "scatter_rank": normal_ranks(scatter),
        "distance_rank": normal_ranks(1 - similarities[:, :10].mean(dim=1)),
        "class_rank": class_ranks(own, given),
        "energy_rank": normal_ranks(energy(logits)),
        "near_doubt": near_doubt,
        "near_doubt_rank": normal_ranks(near_doubt),
        "log_given2": both2[rows, given].clamp_min(FLOOR),
        "log_other2": other2.clamp_min(FLOOR),
        "energy2_rank": normal_ranks(energy(logits2)),
        "ova_rank": normal_ranks(-denials.amax(dim=1)),
        "ova_given": denials[rows, given],
        "ova_other": denials[rows, suggested2],
    }
    whole = {
        **_shape_of(both, given, ""),
        "split": float((head.argmax(dim=1) != shares.argmax(dim=1)).float().mean()),
        "classes": float(np.log(classes)),
        "per_class": float(np.log(len(given) / classes)),
        "mean_scatter": float(scatter.mean()),
        **_shape_of(both2, given, "2"),
    }
    return Evidence(image, whole, both, suggested)


def _shape_of(log_chances: Tensor, given: Tensor, mark: str) -> dict[str, float]:
    """Return how often the likeliest class is another, how sure it is then, and how sure the surest tenth is."""
    best = log_chances.exp().max(dim=1)
    differs = best.indices != given
    strength = best.values[differs].mean() if differs.any() else best.values.min()
    return {
        f"disagreement{mark}": float(differs.float().mean()),
        f"contradiction{mark}": float(strength),
        f"sure{mark}": float(best.values.quantile(0.9)),
    }


def label_shares(given: Tensor, places: Tensor, similarities: Tensor, classes: int) -> Tensor:
    """Return the shares of labels among neighbours ``(N, C)``, with one more neighbour of the set's own mix."""
    count = places.shape[1]
    mix = (torch.bincount(given, minlength=classes).float() + 0.5) / (len(given) + 0.5 * classes)
    weights = torch.softmax(similarities / 0.1, dim=1) * count
    found = torch.zeros(len(given), classes).scatter_add_(1, given[places], weights)
    return (found + mix) / (count + 1)


def best_other(log_chances: Tensor, given: Tensor) -> tuple[Tensor, Tensor]:
    """Return the log-probability and the class of the likeliest class other than the given one."""
    best = log_chances.scatter(1, given[:, None], -torch.inf).max(dim=1)
    return best.values, best.indices


def normal_ranks(values: Tensor) -> Tensor:
    """Return ranks as scores of a normal distribution."""
    ranks = values.argsort().argsort().double()
    return torch.special.ndtri((ranks + 0.5) / len(values)).float()


def class_ranks(values: Tensor, given: Tensor) -> Tensor:
    """Return ranks among the images of the same given label as scores of a normal distribution."""
    found = torch.zeros_like(values)
    for own in given.unique():
        found[given == own] = normal_ranks(values[given == own])
    return found


def chances(found: Evidence, table: dict[str, Any]) -> Tensor:
    """Return P(clean), P(wrong) and P(foreign) ``(N, 3)``."""
    count = len(found.suggested)
    columns = [found.image[name] for name in table["image"]]
    columns += [torch.full((count,), found.whole[name]) for name in table["whole"]]
    columns += [found.image[a] * found.whole[b] for a in table["crossed_image"] for b in table["crossed_whole"]]
    logits = torch.stack(columns, dim=1) @ torch.tensor(table["weights"]) + torch.tensor(table["offsets"])
    return torch.softmax(logits, dim=1)


def confidence(found: Evidence, given: Tensor, wrong: Tensor, table: dict[str, Any]) -> Tensor:
    """Return how likely the suggested class is the true one."""
    rows = torch.arange(len(given))
    own, other = found.log_chances[rows, given].exp(), found.log_chances[rows, found.suggested].exp()
    share = torch.logit((other / (1 - own).clamp_min(1e-6)).clamp(0.01, 0.99))
    offset, slope, *others = table["suggestion"]
    of_set = sum(a * found.whole[name] for a, name in zip(others, table["whole"], strict=True))
    return wrong * torch.sigmoid(offset + slope * share + of_set)


def interval(chance: Tensor, spread: tuple[float, float]) -> Rate:
    """Return the mean chance with an interval.

    It holds what chance leaves open, and how far rates were off on TUNE cells left out (``spread``: below and above,
    on the scale asin(sqrt(rate))).
    """
    mean = float(chance.mean())
    luck = 1.96 * float((chance * (1 - chance)).sum().sqrt()) / len(chance)
    centre = np.arcsin(np.sqrt(mean))
    low, high = (float(np.sin(np.clip(centre + by, 0, np.pi / 2)) ** 2) for by in (-spread[0], spread[1]))
    return mean, max(0.0, mean - float(np.hypot(mean - low, luck))), min(1.0, mean + float(np.hypot(high - mean, luck)))


def weighted_quantile(values: Tensor, weights: Tensor, level: float) -> float:
    """Return the value below which a share ``level`` of the weight lies, one more image counted above."""
    order = values.argsort()
    total = weights[order].cumsum(dim=0)
    place = int(torch.searchsorted(total, level * (total[-1] + weights.max())))
    return float(values[order][min(place, len(values) - 1)])


def candidate(task: Task) -> Opinion:
    """Return verdicts, suggestions, rates, the corrected set and a classifier on soft targets."""
    table = json.loads(TABLE.read_text())
    prepare = preparation(torch.from_numpy(task.features))
    features, given = prepare(torch.from_numpy(task.features)), torch.from_numpy(task.given)
    folds = make_folds(given, task.seed)
    found = evidence(features, given, task.classes, folds)
    clean, wrong, foreign = chances(found, table).unbind(dim=1)
    called = foreign > FOREIGN_FROM
    sure = confidence(found, given, wrong, table)
    kinds = zip(("wrong", "foreign", "either"), (wrong, foreign, 1 - clean), table["spread"], strict=True)
    targets = soft_targets(given, found, clean, wrong)
    return Opinion(
        wrong_score=wrong.numpy(),
        wrong=(~called & (wrong > clean)).numpy(),
        known_score=(wrong / (wrong + clean).clamp_min(1e-9)).numpy(),
        known_doubt=(called | (wrong > clean)).numpy(),
        foreign_score=foreign.numpy(),
        foreign=called.numpy(),
        suggested=found.suggested.numpy(),
        confidence=sure.numpy(),
        labels=torch.where(sure > SUGGEST_FROM, found.suggested, given).numpy(),
        kept=(~called).numpy(),
        rates={name: interval(chance, spread) for name, chance, spread in kinds},
        tested=_tested(features, targets, clean, folds, prepare(torch.from_numpy(task.test_features))),
    )


def soft_targets(given: Tensor, found: Evidence, clean: Tensor, wrong: Tensor) -> Tensor:
    """Return targets ``(N, C)``: the given label as far as clean, others as far as wrong; foreign ones sum to less."""
    other = found.log_chances.exp().scatter(1, given[:, None], 0.0)
    other = other / other.sum(dim=1, keepdim=True).clamp_min(1e-9)
    return clean[:, None] * torch.eye(other.shape[1])[given] + wrong[:, None] * other


def _tested(features: Tensor, targets: Tensor, clean: Tensor, folds: Tensor, test: Tensor) -> Tested:
    """Return classes by softmax, foreign scores by one-vs-all, and a threshold from out-of-fold training scores."""
    evenly = torch.ones(len(features))
    seen = -one_vs_all_out_of_fold(features, targets, folds, evenly).amax(dim=1)
    score = -(test @ fit_one_vs_all(features, targets, evenly)).amax(dim=1)
    flagged = score > weighted_quantile(seen, clean, 1 - FALSE_ALARMS)
    return Tested(fit_head(features, targets)(test).argmax(dim=1).numpy(), score.numpy(), flagged.numpy())
