"""Cross-fitting for an audit: train heads, and judge every image by heads that were not trained on it.

A network soon agrees with the labels it was trained on, wrong ones included. Every image is therefore judged by a model
that was trained without it (cross-fitting), and the threshold and p-values of the foreign score come from such scores.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

import torch
import torch.nn.functional as F
from torch import Tensor

from lond.audit.judge.folds import fold_of
from lond.audit.judge.out_of_fold import (
    AUDIT_FALSE_ALARM_RATE,
    calibrate_out_of_fold,
    known_agreement,
    known_scores,
    sharpened,
    true_classes,
)
from lond.audit.judge.voters import MOST_VOTERS, foreign_scores
from lond.config import RunConfig
from lond.data.batches import ordered_views
from lond.data.split import take
from lond.detect.conformal import p_values
from lond.frozen.cache import Features
from lond.identify import (
    Neighbours,
    nearest_neighbours,
    negative_margin,
    neighbour_labels,
    neighbour_margin,
)
from lond.losses import negative_probabilities
from lond.methods import LondDrs
from lond.runs import LoadedRun, train_samples
from lond.runs.calibration import Calibration
from lond.train.runtime import RuntimeSettings
from lond.types import Prediction, Samples

FEWEST_KNOWN = 20
"""Fewest known images of a class for p-values within the class."""


@dataclass(frozen=True)
class Learned:
    """What was learned about N images.

    ``prediction`` and ``denials`` ``(N, C)``, the one-vs-all negatives, are of models that did not see the image: its
    probabilities are sharpened to fit the labels, its scores are ``foreign_scores``. ``votes`` ``(N, C)`` are what such
    models predict for the image's neighbours. ``run`` is trained on all images, for new ones; ``embeddings``
    ``(N, E)`` are its unit vectors. ``neighbours`` ``(N, k)`` are the places of the nearest other images among the
    frozen features. ``truths`` ``(N, C)`` are the probabilities of the classes by picture and label.
    ``calibration`` is None where there are too few images for one.
    """

    run: LoadedRun
    prediction: Prediction
    votes: Tensor
    denials: Tensor
    embeddings: Tensor
    neighbours: Tensor
    truths: Tensor
    calibration: Calibration | None

    def margins(self, rows: Tensor, labels: Tensor) -> tuple[Tensor, Tensor]:
        """Return the neighbour and the negative margin of the images at ``rows`` ``(M,)`` under labels ``(M,)``.

        The negative margin of an unlabelled image is that of the class its neighbours vote for.
        """
        votes = self.votes[rows]
        own = torch.where(labels >= 0, labels, votes.argmax(dim=1))
        top = self.run.config.settings.identify.top
        return neighbour_margin(votes, labels, top), negative_margin(self.denials[rows].double(), own).float()

    def p_values(self) -> Tensor:
        """Return how likely a known image scores at least as high, ``(N,)``; NaN without a calibration."""
        scores = self.prediction.scores
        return torch.full_like(scores, torch.nan) if self.calibration is None else self.calibration.p_values(scores)

    def class_p_values(self, labels: Tensor) -> Tensor:
        """Return the same among known images of the class that each image is taken for, ``(N,)``.

        Classes differ in how scattered the labels around their images are; shares within a class need their own
        yardstick. A class of too few images that agree with their labels ``(N,)`` takes that of all.
        """
        found, scores = self.p_values(), self.prediction.scores
        predicted = self.prediction.probabilities.argmax(dim=1)
        for own in predicted.unique().tolist():
            members = predicted == own
            part = Prediction(*(getattr(self.prediction, name)[members] for name in Prediction.__dataclass_fields__))
            known = known_scores(labels[members], part)
            if self.calibration is not None and len(known) >= FEWEST_KNOWN:
                found[members] = p_values(scores[members], known)
        return found


def learn(
    samples: Samples,
    features: Tensor,
    config: RunConfig,
    folder: Path | None,
    runtime: RuntimeSettings,
    *,
    folds: int,
    together: Tensor | None = None,
    shown_neighbours: int = 8,
    false_alarm_rate: float = AUDIT_FALSE_ALARM_RATE,
    show_progress: bool | None = None,
) -> Learned:
    """Judge N samples by cross-fitting, and train a run on all of them.

    Args:
        samples: N images, or features of them as ``FeaturePixels``.
        features: ``(N, D)`` unit vectors in which neighbours are looked for.
        config: of LOND-DRS on such samples.
        folder: where the runs are kept and resumed from; None keeps nothing.
        runtime: device and threads.
        folds: in how many parts the images are judged.
        together: ``(N,)``, for each image the one that it nearly repeats, or itself; they are judged in one part.
        shown_neighbours: nearest images to name.
        false_alarm_rate: share of known images that may be called foreign.
        show_progress: as for training.

    Raises:
        DataError: nothing can be learned from the samples.
    """

    def train(part: Samples, name: str) -> LoadedRun:
        place = None if folder is None else folder / name
        return train_samples(config, part, None, place, runtime, show_progress=show_progress).run

    settings = config.settings.identify
    parts, rows, negatives = [], [], []
    division = fold_of(samples.labels, folds, config.train.seed, together)
    for fold in range(folds):
        held = (division == fold).nonzero().squeeze(1)
        run = train(take(samples, (division != fold).nonzero().squeeze(1)), f"fold{fold}")
        unseen = take(samples, held)
        parts.append(run.predict(unseen))
        negatives.append(describe(run, unseen)[1])
        rows.append(held)
    order = torch.cat(rows).argsort()
    denials = torch.cat(negatives)[order]
    prediction = Prediction(
        *(torch.cat([getattr(part, name) for part in parts])[order] for name in Prediction.__dataclass_fields__)
    )
    near = nearest_neighbours(features, max(shown_neighbours, settings.neighbours, MOST_VOTERS), include_self=False)
    prediction = judged(prediction, samples.labels, near)
    votes = neighbour_labels(near.first(settings.neighbours), 1 - denials, settings.temperature)
    calibration = calibrate_out_of_fold(samples.labels, prediction, false_alarm_rate)
    run = train(samples, "model")
    return Learned(
        run,
        prediction,
        votes,
        denials,
        describe(run, samples)[0],
        near.indices[:, :shown_neighbours],
        true_classes(samples.labels, prediction, calibration),
        calibration,
    )


def judged(prediction: Prediction, labels: Tensor, near: Neighbours) -> Prediction:
    """Return the prediction with probabilities that fit the labels and with foreign scores.

    How many neighbours must vote depends on how many labels are wrong, which is estimated with few of them first.
    """
    probabilities, classes = prediction.probabilities, prediction.probabilities.shape[1]
    scores = foreign_scores(labels, near, classes, 0.0)
    fit = known_agreement(probabilities, labels, scores)
    if fit is not None:
        scores = foreign_scores(labels, near, classes, fit.wrong_labels)
    return replace(prediction, probabilities=sharpened(probabilities, labels, scores), scores=scores)


def unit_features(values: Features) -> Tensor:
    """Return the unit mean of the views ``(N, V, D)`` of every image, ``(N, D)``."""
    return F.normalize(torch.from_numpy(values).float().mean(dim=1), dim=1)


@torch.no_grad()
def describe(run: LoadedRun, samples: Samples, batch: int = 1024) -> tuple[Tensor, Tensor]:
    """Return unit embeddings ``(N, E)`` and one-vs-all negatives ``(N, C)`` of all samples."""
    method = run.method
    assert isinstance(method, LondDrs)
    device = next(method.eval().parameters()).device
    parts = []
    for images in ordered_views(samples.pixels, run.views, batch, device):
        out = method.net(images)
        parts.append((out.embedding.float().cpu(), negative_probabilities(out.ova_logits).float().cpu()))
    embeddings, negatives = (torch.cat(column) for column in zip(*parts, strict=True))
    return embeddings, negatives
