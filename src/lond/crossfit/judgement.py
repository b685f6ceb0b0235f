"""Judge labels by their images: the whole way from features and labels to probabilities, suggestions and rates."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import torch
import torch.nn.functional as F
from torch import Tensor

from lond.crossfit.chances import (
    CLEAN,
    ENOUGH_DECISIONS,
    FOREIGN_FROM,
    FOREIGN_FROM_DECIDED,
    MOST_DISAGREEMENT,
    OUTSIDE,
    WRONG,
    ChanceTable,
    called_foreign,
    called_wrong,
    chances,
    confidence,
    load_table,
)
from lond.crossfit.decided import UNDECIDED, teaching
from lond.crossfit.evidence import LabelEvidence, gather
from lond.crossfit.features import ROWS, Preparation, learn_preparation
from lond.crossfit.folds import count_folds, fold_of
from lond.crossfit.heads import Heads, fit_one_vs_all, fit_softmax
from lond.crossfit.rates import EstimatedRate, rate_of
from lond.crossfit.recalibration import recalibrated
from lond.crossfit.stages import Stages
from lond.errors import DataError


@dataclass(frozen=True)
class Judgement:
    """What is said about N images with doubtful labels.

    ``chances`` ``(N, 3)`` are P(clean), P(wrong) and P(foreign). ``confidence`` ``(N,)`` is how likely the class
    ``evidence.suggested`` is the true one. ``features`` ``(N, E)`` are as ``preparation`` made them, ``folds`` ``(N,)``
    the parts in which the images were judged, ``decided`` ``(N,)`` what a person decided (``lond.crossfit.decided``).
    """

    labels: Tensor
    evidence: LabelEvidence
    chances: Tensor
    confidence: Tensor
    features: Tensor
    preparation: Preparation
    folds: Tensor
    table: ChanceTable
    decided: Tensor | None = None
    confirmed: Tensor | None = None
    """Which of the decided images say nothing of the others, ``(N,)``; see ``judge_labels``."""

    @property
    def beyond_table(self) -> bool:
        """Whether models contradict more labels than in the sets that the table was fitted on, but for one."""
        return self.evidence.whole["disagreement"] > MOST_DISAGREEMENT

    @property
    def foreign_from(self) -> float:
        """P(foreign) beyond which an image is called so."""
        if self.decided is None:
            return FOREIGN_FROM
        taught = int(teaching(self.labels, self.decided, self.confirmed).sum())
        return FOREIGN_FROM + min(1.0, taught / ENOUGH_DECISIONS) * (FOREIGN_FROM_DECIDED - FOREIGN_FROM)

    @property
    def foreign(self) -> Tensor:
        """Which images ``(N,)`` are called foreign; beyond the table only those that a person called so."""
        called = called_foreign(self.chances, self.foreign_from)
        return called & (self.chances[:, OUTSIDE] == 1) if self.beyond_table else called

    @property
    def wrong(self) -> Tensor:
        """Which labels ``(N,)`` are called wrong; none where there is no label."""
        return called_wrong(self.chances, self.foreign) & (self.labels >= 0)

    @cached_property
    def targets(self) -> Tensor:
        """What a classifier should learn of all images, ``(N, C)``; see ``targets_of``."""
        return self.targets_of(torch.arange(len(self.labels)), self.evidence.log_chances)

    def targets_of(self, rows: Tensor, log_chances: Tensor) -> Tensor:
        """Return what a classifier should learn of the images at ``rows`` ``(M,)``, ``(M, C)``.

        That is the given label as far as clean, others as far as wrong. The targets of an image sum to less than one as
        far as it is foreign.

        Args:
            rows: places of the images.
            log_chances: ``(M, C)`` of them, as ``evidence.opinions`` has them.
        """
        chances, other = self.chances[rows], log_chances.exp()
        labelled = (self.labels[rows] >= 0).float()[:, None]
        own = F.one_hot(self.evidence.label[rows], other.shape[1]) * labelled
        other = other * (1 - own)
        other = other / other.sum(dim=1, keepdim=True).clamp_min(1e-9)
        # Without a label nothing is wrong: the predicted classes count as far as the image is known.
        clean, wrong = chances[:, CLEAN, None] * labelled, chances[:, WRONG, None]
        wrong = torch.where(labelled > 0, wrong, 1 - chances[:, OUTSIDE, None])
        found = clean * own + wrong * other
        if self.decided is None:
            return found
        decided = self.decided[rows]
        told = F.one_hot(decided.clamp_min(0), other.shape[1]).to(found)
        return torch.where((decided >= 0)[:, None], told, found)

    def rates(self, rows: Tensor | None = None) -> dict[str, EstimatedRate]:
        """Return the rates of "wrong", "foreign" and "either" among all labelled images, or some ``(N,)`` of them."""
        chosen = self.labels >= 0 if rows is None else rows & (self.labels >= 0)
        if not chosen.any():
            return {}
        part = self.chances[chosen]
        kinds = {"wrong": part[:, WRONG], "foreign": part[:, OUTSIDE], "either": 1 - part[:, CLEAN]}
        open_ones = torch.ones(len(part), dtype=torch.bool)
        if self.decided is not None:
            open_ones = self.decided[chosen] == UNDECIDED
        return {kind: rate_of(values, self.table.spread[kind], open_ones) for kind, values in kinds.items()}


def judge_labels(
    features: Tensor,
    labels: Tensor,
    classes: int,
    *,
    seed: int = 0,
    folds: Tensor | None = None,
    unseen_logits: Tensor | None = None,
    table: ChanceTable | None = None,
    decided: Tensor | None = None,
    confirmed: Tensor | None = None,
    stages: Stages | None = None,
) -> Judgement:
    """Return how likely every image is clean, wrongly labelled or foreign.

    Examples:
        >>> generator = torch.Generator().manual_seed(0)
        >>> centres = 4 * torch.randn(3, 8, generator=generator)
        >>> true = torch.arange(120) % 3
        >>> features = centres[true] + torch.randn(120, 8, generator=generator)
        >>> given = true.clone()
        >>> given[:5] = (true[:5] + 1) % 3
        >>> judge_labels(features, given, 3).wrong.nonzero().squeeze(1).tolist()
        [0, 1, 2, 3, 4]

    Args:
        features: ``(N, D)`` of any network that was not trained on these labels.
        labels: ``(N,)`` given labels from 0 to C - 1; negative = none.
        classes: C.
        seed: of the division into folds, if none is given.
        folds: ``(N,)`` part in which each image is judged, by heads trained on the others; see ``fold_of``.
        unseen_logits: ``(N, C)`` of networks that did not see the image, in place of linear heads'.
        table: the network that turns evidence into probabilities; the package's own if None.
        decided: ``(N,)`` what a person decided: a class from 0 on, -1 for "foreign", -2 for nothing. It is taken as
            truth, heads and neighbours learn from it, and the chances of the other images are recalibrated by it.
        confirmed: ``(N,)`` bool, decided images whose given label follows the decision already, as in a corrected set,
            or whose features say little of them. They say nothing about how often labels of the set are wrong, so
            nothing is recalibrated by them.
        stages: keeps what took long, so that a killed judgement of the same features goes on where it was.

    Raises:
        DataError: there are too few labelled images or classes, or a feature is not a number.
    """
    if features.ndim != 2 or len(features) != len(labels):
        raise DataError(f"features of shape {tuple(features.shape)} do not fit {len(labels)} labels: one row an image")
    if classes < 2 or (len(labels) and int(labels.max()) >= classes):
        raise DataError(f"labels must lie below the number of classes, which must be at least 2, not {classes}")
    if not all(part.isfinite().all() for part in features.split(ROWS)):
        raise DataError("a feature is not a finite number; compute the features again")
    table = table or load_table()
    preparation = learn_preparation(features)
    prepared = preparation(features)
    if folds is None:
        folds = fold_of(labels, count_folds(labels), seed)
    found = gather(prepared, labels, classes, folds, unseen_logits, stages, decided)
    if decided is None:
        likely = chances(found, table)
        sure = confidence(found, likely[:, WRONG], table)
    else:
        before = None
        if teaching(labels, decided, confirmed).any():
            before = gather(prepared, labels, classes, folds, unseen_logits, near=found.near)
        found, likely, sure = recalibrated(prepared, found, labels, decided, folds, table, confirmed, before)
    return Judgement(labels, found, likely, sure, prepared, preparation, folds, table, decided, confirmed)


@dataclass(frozen=True)
class LinearModel:
    """Classifier and detector for new images, trained on judged labels."""

    preparation: Preparation
    softmax: Heads
    members: Heads

    def classes(self, features: Tensor) -> Tensor:
        """Return log-probabilities ``(N, C)`` of features ``(N, D)``."""
        return torch.log_softmax(self.softmax.last(self.preparation(features)), dim=1)

    def scores(self, features: Tensor) -> Tensor:
        """Return how foreign images are, ``(N,)``; larger = more foreign."""
        return -self.members.last(self.preparation(features)).amax(dim=1)

    def threshold(self, judgement: Judgement, false_alarm_rate: float) -> float:
        """Return the score that so large a share of known images exceeds, by images judged out of fold."""
        seen = -self.members.unseen(judgement.features, judgement.folds).amax(dim=1)
        return weighted_quantile(seen, 1 - judgement.chances[:, OUTSIDE], 1 - false_alarm_rate)


def fit_linear(judgement: Judgement) -> LinearModel:
    """Return a classifier and detector trained on the judged images, foreign ones taught to be of no class."""
    features, targets, folds = judgement.features, judgement.targets, judgement.folds
    evenly = torch.ones(len(features))
    return LinearModel(
        judgement.preparation,
        fit_softmax(features, targets, folds),
        fit_one_vs_all(features, targets, evenly, folds),
    )


def weighted_quantile(values: Tensor, weights: Tensor, level: float) -> float:
    """Return the value ``(N,)`` below which a share ``level`` of the weight lies, one more image counted above."""
    order = values.argsort()
    total = weights[order].cumsum(dim=0)
    place = int(torch.searchsorted(total, level * (total[-1] + weights.max())))
    return float(values[order][min(place, len(values) - 1)])
