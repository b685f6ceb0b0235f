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


def cleanlab_opinions(labels: Tensor, probabilities: Tensor, unit_features: Tensor) -> dict[str, Opinion]:
    """Return cleanlab's views from out-of-sample probabilities and features.

    The first has its defaults: ``find_label_issues``, self-confidence, and Datalab's outliers on the features. The
    second has normalised margins, and as foreign score that of ``OutOfDistribution`` on the predictions, of which a
    tenth is flagged.
    """
    from cleanlab import Datalab
    from cleanlab.filter import find_label_issues
    from cleanlab.outlier import OutOfDistribution
    from cleanlab.rank import get_label_quality_scores

    given, told = labels.numpy(), probabilities.double().numpy()
    told = told / told.sum(axis=1, keepdims=True)
    wrong = torch.from_numpy(np.asarray(find_label_issues(given, told, n_jobs=1)))
    with contextlib.redirect_stdout(io.StringIO()):
        lab = Datalab({"y": given}, label_name="y")
        lab.find_issues(features=unit_features.numpy(), issue_types={"outlier": {}})
        foreign = OutOfDistribution().fit_score(pred_probs=told, labels=given, verbose=False)
    outliers = lab.get_issues("outlier")
    far = torch.from_numpy(1 - outliers["outlier_score"].to_numpy(dtype=np.float64))
    flagged = torch.from_numpy(outliers["is_outlier_issue"].to_numpy(dtype=bool).copy())
    unsure = torch.from_numpy(1 - np.asarray(foreign, dtype=np.float64))
    doubts = {
        method: torch.from_numpy(1 - get_label_quality_scores(given, told, method=method))
        for method in ("self_confidence", "normalized_margin")
    }
    return {
        "cleanlab": Opinion(doubts["self_confidence"], far, wrong, flagged),
        "cleanlab_by_predictions": Opinion(doubts["normalized_margin"], unsure, wrong, _most(unsure)),
    }


def neighbour_opinions(labels: Tensor, unit_features: Tensor) -> dict[str, Opinion]:
    """Return plain disagreement with the 50 nearest images, by distance and by labels.

    The first doubts a label by the share of other labels, and takes distant images for foreign. The second doubts by
    the margin between the largest other share and the own one, and takes images amid scattered labels for foreign.
    Flagged are a label that is not the most frequent one, and a tenth of the images.
    """
    found = nearest_neighbours(unit_features, NEIGHBOURS, include_self=False)
    votes = torch.zeros(len(labels), int(labels.max()) + 1)
    votes.scatter_add_(1, labels[found.indices], torch.full(found.indices.shape, 1 / NEIGHBOURS))
    distance = 1 - found.similarities.mean(dim=1)
    own = votes.gather(1, labels[:, None]).squeeze(1)
    other = votes.scatter(1, labels[:, None], -1.0).amax(dim=1)
    scatter = 1 - votes.amax(dim=1)
    wrong = votes.argmax(dim=1) != labels
    return {
        "neighbours": Opinion(1 - own, distance, wrong, _most(distance)),
        "neighbours_by_labels": Opinion(other - own, scatter, wrong, _most(scatter)),
    }


def _most(scores: Tensor, share: float = 0.1) -> Tensor:
    """Return a mask of the highest scores."""
    return scores > scores.double().quantile(1 - share)
