"""What is learned about the images of an audit, and what it says of images that it was not learned from.

A network soon agrees with the labels it was trained on, wrong ones included. Every image is therefore judged by a model
that was trained without it (cross-fitting), and the threshold and p-values of the foreign score come from such scores.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

import torch
import torch.nn.functional as F
from torch import Tensor

from lond.audit.features import Features
from lond.config import RunConfig
from lond.data.batches import ordered_views
from lond.data.split import take
from lond.errors import DataError
from lond.identify import identify, nearest_neighbours
from lond.losses import positive_probabilities
from lond.methods import LondDrs
from lond.runs import LoadedRun, train_samples
from lond.runs.decision import FALSE_ALARM_RATE, Decision, decide
from lond.seeds import generator
from lond.train.runtime import RuntimeSettings
from lond.types import Partition, Prediction, Samples

OUT_OF_FOLD = "images judged by heads trained without them, which agree with the label"
"""Where the threshold of an audit comes from."""

FOLDS = ((5_000, 5), (20_000, 3))
"""Number of images up to which so many folds are made; two beyond."""


@dataclass(frozen=True)
class Learned:
    """What was learned about N images.

    ``prediction`` and ``partition`` (with both margins) are of heads that did not see the image. ``run`` is trained on
    all images, for new ones; ``embeddings`` ``(N, E)`` are its unit vectors. ``neighbours`` ``(N, k)`` are the places
    of the nearest other images among the frozen features. ``decision`` is None where too few images speak for it.
    """

    run: LoadedRun
    prediction: Prediction
    partition: Partition
    embeddings: Tensor
    neighbours: Tensor
    decision: Decision | None

    def p_values(self) -> Tensor:
        """Return how likely a known image scores at least as high, ``(N,)``; NaN without a decision."""
        scores = self.prediction.scores
        return torch.full_like(scores, torch.nan) if self.decision is None else self.decision.p_values(scores)


def default_folds(images: int) -> int:
    """Return how many parts so many images are judged in."""
    return next((folds for most, folds in FOLDS if images <= most), 2)


def learn(
    samples: Samples,
    features: Tensor,
    config: RunConfig,
    folder: Path | None,
    runtime: RuntimeSettings,
    *,
    folds: int,
    shown_neighbours: int = 8,
    false_alarm_rate: float = FALSE_ALARM_RATE,
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
        shown_neighbours: nearest images to name.
        false_alarm_rate: share of known images that may be called foreign.
        show_progress: as for training.

    Raises:
        DataError: nothing can be learned from the samples.
    """

    def train(part: Samples, name: str) -> LoadedRun:
        place = None if folder is None else folder / name
        return train_samples(config, part, None, place, runtime, show_progress=show_progress).run

    parts, rows, positives = [], [], []
    division = fold_of(samples.labels, folds, config.train.seed)
    for fold in range(folds):
        held = (division == fold).nonzero().squeeze(1)
        run = train(take(samples, (division != fold).nonzero().squeeze(1)), f"fold{fold}")
        unseen = take(samples, held)
        parts.append(run.predict(unseen))
        positives.append(describe(run, unseen)[1])
        rows.append(held)
    order = torch.cat(rows).argsort()
    prediction = Prediction(
        *(torch.cat([getattr(part, name) for part in parts])[order] for name in Prediction.__dataclass_fields__)
    )
    # Among frozen features an image is so much nearer to itself than to others that its own label would win every vote.
    settings = replace(config.settings.identify, include_self=False)
    partition = identify(samples.labels, torch.cat(positives)[order], features, settings)
    run = train(samples, "model")
    near = nearest_neighbours(features, shown_neighbours, include_self=False).indices
    decision = make_decision(samples.labels, prediction, false_alarm_rate)
    return Learned(run, prediction, partition, describe(run, samples)[0], near, decision)


def fold_of(labels: Tensor, folds: int, seed: int) -> Tensor:
    """Return the fold ``(N,)`` of each sample: random, and every class spread evenly.

    Raises:
        DataError: there are fewer labelled samples than folds.
    """
    if int((labels >= 0).sum()) < 2 * folds:
        raise DataError(f"{int((labels >= 0).sum())} labelled images are too few for {folds} folds")
    order = torch.randperm(len(labels), generator=generator(seed, "folds"))
    by_class = order[labels[order].argsort(stable=True)]
    division = torch.empty(len(labels), dtype=torch.long)
    division[by_class] = torch.arange(len(labels)) % folds
    return division


def make_decision(labels: Tensor, prediction: Prediction, false_alarm_rate: float) -> Decision | None:
    """Return the decision from images whose label their unseeing judges agree with; None if they are too few."""
    agrees = prediction.probabilities.argmax(dim=1) == labels
    try:
        return decide(prediction.scores[agrees], false_alarm_rate, OUT_OF_FOLD)
    except DataError:
        return None


def unit_features(values: Features) -> Tensor:
    """Return the unit mean of the views ``(N, V, D)`` of every image, ``(N, D)``."""
    return F.normalize(torch.from_numpy(values).float().mean(dim=1), dim=1)


@torch.no_grad()
def describe(run: LoadedRun, samples: Samples, batch: int = 1024) -> tuple[Tensor, Tensor]:
    """Return unit embeddings ``(N, E)`` and one-vs-all positives ``(N, C)`` of all samples."""
    method = run.method
    assert isinstance(method, LondDrs)
    device = next(method.eval().parameters()).device
    parts = []
    for images in ordered_views(samples.pixels, run.views, batch, device):
        out = method.net(images)
        parts.append((out.embedding.float().cpu(), positive_probabilities(out.ova_logits).float().cpu()))
    embeddings, positives = (torch.cat(column) for column in zip(*parts, strict=True))
    return embeddings, positives
