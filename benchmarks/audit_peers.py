"""What other tools say about the same images: cleanlab's label issues and Datalab's outliers, and plain neighbours."""

from __future__ import annotations

import contextlib
import io
from dataclasses import dataclass

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

from lond.evaluate import auroc
from lond.identify import nearest_neighbours

NEIGHBOURS = 50
EPOCHS, BATCH, RATE, DECAY = 6, 256, 0.02, 5e-4


@dataclass(frozen=True)
class Opinion:
    """What a tool says of N images: how doubtful the label is, how foreign the image, and what it would flag."""

    wrong_score: Tensor
    foreign_score: Tensor
    wrong: Tensor
    foreign: Tensor


def figures(opinion: Opinion, given: Tensor, true: Tensor) -> dict[str, float]:
    """Return AUROC and F1 for wrong labels (among images of known classes), foreign images, and either of them."""
    foreign, wrong = true < 0, (true >= 0) & (true != given)
    known = ~foreign
    either = torch.maximum(ranks(opinion.wrong_score), ranks(opinion.foreign_score))
    return {
        "wrong_label_auroc": auroc(opinion.wrong_score[known], wrong[known]),
        "wrong_label_f1": f1(opinion.wrong & ~opinion.foreign, wrong),
        "foreign_auroc": auroc(opinion.foreign_score, foreign),
        "foreign_f1": f1(opinion.foreign, foreign),
        "either_auroc": auroc(opinion.wrong_score, wrong | foreign),
        "either_by_both_scores_auroc": auroc(either, wrong | foreign),
        "either_f1": f1(opinion.wrong | opinion.foreign, wrong | foreign),
        "flagged_wrong": float(opinion.wrong.float().mean()),
        "flagged_foreign": float(opinion.foreign.float().mean()),
    }


def ranks(scores: Tensor) -> Tensor:
    """Return the rank of each score, in [0, 1)."""
    return scores.argsort().argsort().double() / len(scores)


def f1(said: Tensor, really: Tensor) -> float:
    """Return the F1 of a flag."""
    return 2 * int((said & really).sum()) / max(1, int(said.sum() + really.sum()))


def linear_probe(features: Tensor, labels: Tensor, division: Tensor, classes: int, seed: int) -> Tensor:
    """Return out-of-fold probabilities ``(N, C)`` of a softmax regression on standardised features ``(N, D)``."""
    out = torch.empty(len(labels), classes)
    for fold in range(int(division.max()) + 1):
        rows, held = (division != fold).nonzero().squeeze(1), division == fold
        mean, deviation = features[rows].mean(dim=0), features[rows].std(dim=0) + 1e-6
        scaled = (features - mean) / deviation
        random = torch.Generator().manual_seed(seed)
        layer = torch.nn.Linear(features.shape[1], classes)
        torch.nn.init.zeros_(layer.weight)
        torch.nn.init.zeros_(layer.bias)
        optimiser = torch.optim.SGD(layer.parameters(), RATE, 0.9, weight_decay=DECAY, nesterov=True)
        schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimiser, EPOCHS * -(-len(rows) // BATCH))
        for _ in range(EPOCHS):
            for batch in rows[torch.randperm(len(rows), generator=random)].split(BATCH):
                optimiser.zero_grad()
                F.cross_entropy(layer(scaled[batch]), labels[batch]).backward()
                optimiser.step()
                schedule.step()
        with torch.no_grad():
            out[held] = F.softmax(layer(scaled[held]), dim=1)
    return out


def cleanlab_opinion(labels: Tensor, probabilities: Tensor, unit_features: Tensor) -> Opinion:
    """Return cleanlab's view: ``find_label_issues`` on out-of-sample probabilities, Datalab's outliers on features."""
    from cleanlab import Datalab
    from cleanlab.filter import find_label_issues
    from cleanlab.rank import get_label_quality_scores

    given, told = labels.numpy(), probabilities.double().numpy()
    told = told / told.sum(axis=1, keepdims=True)
    wrong = find_label_issues(given, told, n_jobs=1)
    quality = get_label_quality_scores(given, told)
    with contextlib.redirect_stdout(io.StringIO()):
        lab = Datalab({"y": given}, label_name="y")
        lab.find_issues(features=unit_features.numpy(), issue_types={"outlier": {}})
    outliers = lab.get_issues("outlier")
    return Opinion(
        torch.from_numpy(1 - quality),
        torch.from_numpy(1 - outliers["outlier_score"].to_numpy(dtype=np.float64)),
        torch.from_numpy(np.asarray(wrong)),
        torch.from_numpy(outliers["is_outlier_issue"].to_numpy(dtype=bool).copy()),
    )


def neighbour_opinion(labels: Tensor, unit_features: Tensor, false_alarm_rate: float) -> Opinion:
    """Return plain disagreement: the share of the 50 nearest images with another label, and their mean distance.

    Flagged are a label that is not the neighbours' most frequent one, and the given share of the farthest images.
    """
    found = nearest_neighbours(unit_features, NEIGHBOURS, include_self=False)
    votes = F.one_hot(labels[found.indices], int(labels.max()) + 1).float().mean(dim=1)
    distance = 1 - found.similarities.mean(dim=1)
    agreement = votes.gather(1, labels[:, None]).squeeze(1)
    return Opinion(
        1 - agreement, distance, votes.argmax(dim=1) != labels, distance > distance.quantile(1 - false_alarm_rate)
    )
