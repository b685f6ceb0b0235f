"""What an audit learns: a judgement of every label by models that never saw it, and a model for new images."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property, partial
from pathlib import Path

import torch
import torch.nn.functional as F
from torch import Tensor

from lond.audit.judge.rates import known_scores
from lond.config import RunConfig
from lond.crossfit.beside import Beside, with_probabilities
from lond.crossfit.decided import taught_labels
from lond.crossfit.evidence import spread_over_classes
from lond.crossfit.folds import count_folds, fold_of
from lond.crossfit.judgement import Judgement, judge_labels
from lond.crossfit.stages import Stages
from lond.data.split import take
from lond.errors import DataError
from lond.identify import nearest_neighbours, negative_margin, neighbour_margin
from lond.methods import Method
from lond.methods.cross_fit import CrossFit, CrossFitSettings, Opinion, opinion_of
from lond.runs import LoadedRun, train_samples
from lond.runs.calibration import FALSE_ALARM_RATE, Calibration, calibrate_scores
from lond.runs.out_of_fold import FEW_KNOWN, MOST
from lond.train.runtime import RuntimeSettings
from lond.types import Samples

MODEL = "model"
"""Folder of the model for new images, within that of the audit's runs."""

OUT_OF_FOLD = "images judged by a model trained without them, as far as they are likely to be clean"
"""Where the threshold of an audit's model comes from."""

MODEL_IMAGES = 50_000
"""Images that the model for new images is trained on, of every class as many as that allows."""

ROWS = 4096
"""Images whose margins are computed at a time."""

NETWORK_FOLDS = ((5_000, 5), (20_000, 3))
"""Number of images up to which whole networks are trained in so many folds; two beyond."""


@dataclass(frozen=True)
class Learned:
    """What was learned about N images.

    ``neighbours`` ``(N, k)`` are the places of the nearest other images, ``run`` is trained on all images for new ones;
    None where none was asked for.
    """

    judgement: Judgement
    neighbours: Tensor
    run: LoadedRun | None = None
    beside: Beside | None = None
    """What became of probabilities that the user gave."""

    def margins(self, rows: Tensor, labels: Tensor) -> tuple[Tensor, Tensor]:
        """Return the neighbour and the negative margin of the images at ``rows`` ``(M,)`` under labels ``(M,)``.

        The negative margin of an unlabelled image is that of the class its neighbours vote for.
        """
        opinions, near, negative = self.judgement.evidence.opinions, torch.empty(len(rows)), torch.empty(len(rows))
        for start in range(0, len(rows), ROWS):
            part = slice(start, start + ROWS)
            given, votes, denials = labels[part], opinions.shares(rows[part]), 1 - opinions.members(rows[part])
            own = torch.where(given >= 0, given, votes.argmax(dim=1))
            near[part] = neighbour_margin(votes, given, 1)
            negative[part] = negative_margin(denials.clamp(0, 1).double(), own).float()
        return near, negative


@dataclass(frozen=True)
class Learning:
    """How an audit learns.

    ``folds`` are the parts in which images are judged (0 = by what is trained), ``together`` ``(N,)`` says for each
    image which one it nearly repeats, or itself; ``model`` whether one is trained for new images.
    """

    folds: int = 0
    together: Tensor | None = None
    shown_neighbours: int = 8
    false_alarm_rate: float = FALSE_ALARM_RATE
    networks: bool = False
    """Whether images are judged by networks trained as ``config`` says, in place of linear heads on the features."""
    model: bool = True
    decided: Tensor | None = None
    """What a person decided of each image, ``(N,)``; see ``lond.crossfit.decided``."""
    confirmed: Tensor | None = None
    """Which decided images say nothing of the others, ``(N,)``; see ``judge_labels``."""
    stages: Stages | None = None
    """Keeps what took long in judging."""
    probabilities: Tensor | None = None
    """Of the user's own models, ``(N, C)``; see ``lond.crossfit.beside``."""


def learn(
    samples: Samples,
    features: Tensor,
    config: RunConfig,
    folder: Path | None,
    runtime: RuntimeSettings,
    how: Learning,
    *,
    show_progress: bool | None = None,
) -> Learned:
    """Judge N samples by cross-fitting, and train a run on all of them.

    Args:
        samples: N images, or features of them as ``FeaturePixels``.
        features: ``(N, D)`` of a frozen network.
        config: of the run, and of those that judge in place of linear heads.
        folder: where the runs are kept and resumed from; None keeps nothing.
        runtime: device and threads.
        how: folds, neighbours and what to train.
        show_progress: as for training.

    Raises:
        DataError: nothing can be learned from the samples.
    """
    labels, seed = samples.labels, config.train.seed
    division = fold_of(labels, how.folds or usual_folds(labels, how.networks), seed, how.together)
    taught = samples.with_labels(taught_labels(labels, how.decided), samples.true_labels)
    trainings = _Trainings(taught, division, config, folder, runtime, show_progress)
    if not how.networks and len(samples) > MODEL_IMAGES:
        chosen = spread_over_classes(labels, samples.num_classes, MODEL_IMAGES)
        trainings = replace(trainings, samples=take(taught, chosen), division=division[chosen])
    else:
        chosen = torch.arange(len(samples))
    logits, scores = trainings.unseen() if how.networks else (None, torch.empty(0))
    judgement = judge_labels(
        features,
        labels,
        samples.num_classes,
        folds=division,
        unseen_logits=logits,
        decided=how.decided,
        confirmed=how.confirmed,
        stages=how.stages,
    )
    near = judgement.evidence.near.indices
    if how.shown_neighbours > near.shape[1]:
        unit = F.normalize(judgement.features, dim=1)
        near = nearest_neighbours(unit, how.shown_neighbours, include_self=False).indices
    beside = None if how.probabilities is None else with_probabilities(judgement, how.probabilities)
    judgement = judgement if beside is None else beside.judgement
    run = None
    if how.model:
        if not how.networks:
            if isinstance(config.settings, CrossFitSettings):
                judged = Judged(judgement, chosen, config.settings)
                trainings = replace(trainings, judged=judged, keeps_folds=how.stages is not None and how.stages.kept)
            calibration = by_unseen_images(trainings, judgement, chosen, how.false_alarm_rate)
        else:
            calibration = calibrated(judgement, scores, torch.arange(len(samples)), how.false_alarm_rate)
        run = trainings.final(calibration)
    return Learned(judgement, near[:, : how.shown_neighbours], run, beside)


def by_unseen_images(
    trainings: _Trainings, judgement: Judgement, chosen: Tensor, false_alarm_rate: float
) -> Calibration | None:
    """Return the calibration by images that a run on the others scores: one fold of them, or all of a small set.

    ``chosen`` ``(M,)`` are the places of the trainings' samples in the judgement. One fold of a small set makes a
    coarse threshold, and the runs that all of them need take seconds there.
    """
    held = trainings.held_out(0)
    scores = trainings.predict(0, held, "setting the threshold")[1]
    found = calibrated(judgement, scores, chosen[held], false_alarm_rate)
    few = found is None or (len(found.known_scores) < FEW_KNOWN and len(chosen) < MOST)
    if not few or len(held) == len(chosen):
        return found
    quiet = replace(trainings, show_progress=False)
    parts = [(held, scores)]
    for fold in range(1, trainings.folds):
        rows = trainings.held_out(fold)
        parts.append((rows, quiet.predict(fold, rows, "setting the threshold")[1]))
    rows, scores = (torch.cat(each) for each in zip(*parts, strict=True))
    return calibrated(judgement, scores, chosen[rows], false_alarm_rate)


def calibrated(judgement: Judgement, scores: Tensor, rows: Tensor, false_alarm_rate: float) -> Calibration | None:
    """Return the calibration by scores ``(M,)`` of images at ``rows``, unseen in training; None if they are too few."""
    try:
        return calibrate_scores(known_scores(judgement, scores, rows), false_alarm_rate, OUT_OF_FOLD)
    except DataError:
        return None


def usual_folds(labels: Tensor, networks: bool) -> int:
    """Return in how many parts images are judged: by networks in fewer, the more images there are."""
    if not networks:
        return count_folds(labels)
    return min(count_folds(labels), next((folds for most, folds in NETWORK_FOLDS if len(labels) <= most), 2))


@dataclass(frozen=True)
class Judged:
    """What was judged of the images at ``rows`` ``(M,)``, for the runs that learn from them."""

    judgement: Judgement
    rows: Tensor
    settings: CrossFitSettings

    @cached_property
    def opinion(self) -> Opinion:
        """The opinion of all of them, the same for every run."""
        return opinion_of(self.judgement, self.settings, self.rows)

    def tell(self, method: Method, places: Tensor) -> None:
        """Spare a method that judges labels the judging: tell it the opinion of the samples at ``places``."""
        assert isinstance(method, CrossFit)
        method.told(replace(self.opinion, targets=self.opinion.targets[places]))


@dataclass(frozen=True)
class _Trainings:
    """The runs of an audit: one without each fold, and one on all samples."""

    samples: Samples
    division: Tensor
    config: RunConfig
    folder: Path | None
    runtime: RuntimeSettings
    show_progress: bool | None
    judged: Judged | None = None
    keeps_folds: bool = True
    """Whether runs without a fold are kept; those on features of a small set take seconds, and nobody reads them."""

    @property
    def folds(self) -> int:
        """Number of folds."""
        return int(self.division.max()) + 1

    def held_out(self, fold: int) -> Tensor:
        """Return the places of the samples of a fold."""
        return (self.division == fold).nonzero().squeeze(1)

    def predict(self, fold: int, rows: Tensor, step: str) -> tuple[Tensor, Tensor]:
        """Return log-probabilities and foreign scores of samples at ``rows`` by the run without a fold.

        ``step`` is what its training is called while it goes on.
        """
        seen = (self.division != fold).nonzero().squeeze(1)
        run = self._train(seen, f"fold{fold}" if self.keeps_folds else None, step)
        said = run.predict(take(self.samples, rows))
        return said.probabilities.clamp_min(torch.finfo(torch.float32).tiny).log(), said.scores

    def unseen(self) -> tuple[Tensor, Tensor]:
        """Return log-probabilities ``(N, C)`` and foreign scores ``(N,)`` by runs that did not see the sample."""
        rows = [self.held_out(fold) for fold in range(self.folds)]
        steps = [f"training, fold {fold} of {len(rows)}" for fold in range(1, len(rows) + 1)]
        found = [self.predict(fold, own, step) for fold, (own, step) in enumerate(zip(rows, steps, strict=True))]
        order = torch.cat(rows).argsort()
        logits, scores = (torch.cat(parts)[order] for parts in zip(*found, strict=True))
        return logits, scores

    def final(self, calibration: Calibration | None) -> LoadedRun:
        """Return the run on all samples, which calls images foreign by the calibration."""
        return self._train(torch.arange(len(self.samples)), MODEL, "training the model", calibration)

    def _train(self, places: Tensor, name: str | None, step: str, calibration: Calibration | None = None) -> LoadedRun:
        trained = train_samples(
            self.config,
            self.samples if len(places) == len(self.samples) else take(self.samples, places),
            None,
            None if self.folder is None or name is None else self.folder / name,
            self.runtime,
            prepare=None if self.judged is None else partial(self.judged.tell, places=places),
            calibration=calibration,
            step=step,
            show_progress=self.show_progress,
        )
        return trained.run
