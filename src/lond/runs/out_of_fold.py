"""A threshold for small sets: from scores of all samples by runs that did not learn from them.

A tenth of a small set is too few images for a threshold: at 5 % false alarms it is the highest of twenty scores.
"""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

from lond.config import RunConfig
from lond.data.feature_views import is_features
from lond.data.split import even_folds, hold_out, take
from lond.errors import DataError
from lond.methods import ALL_METHODS
from lond.presets.changes import without_hold_out
from lond.progress.work import work_here
from lond.runs.calibration import Calibration, calibrate_scores
from lond.runs.run_detector import OWN
from lond.runs.trained import LoadedRun
from lond.train.runtime import RuntimeSettings
from lond.types import Samples

OUT_OF_FOLD = "samples that a run trained without them agrees with"
"""Where such a threshold comes from."""

FOLDS = 5
"""Runs that are trained, each without a part of the samples."""

FEW_KNOWN = 200
"""Known images below which a threshold is coarse: of 200, 5 % false alarms may as well be 2 or 8 %."""

FEWEST, MOST = 50, 2_000
"""Labelled samples from which on, and below which, runs on parts of them are trained."""

TrainRun = Callable[[RunConfig, Samples], LoadedRun]
"""Trains a run on samples, keeping nothing."""


def needs_folds(config: RunConfig, samples: Samples, runtime: RuntimeSettings | None, detector: str = OWN) -> bool:
    """Tell whether a run holds out too few samples, or none, for a threshold, and is trained within seconds.

    The samples may be images still, if the run learns from features of them.
    """
    runtime = runtime or RuntimeSettings()
    alone = runtime.devices == runtime.num_nodes == 1
    on_features = bool(config.data.frozen.backbone) or is_features(samples.pixels)
    quick = ALL_METHODS[config.method].quick_on_features and on_features
    if not (alone and quick and detector == OWN):
        return False
    held = len(hold_out(samples.labels, config.data.hold_out, config.data.split_seed)[1])
    return held < FEW_KNOWN and FEWEST <= int((samples.labels >= 0).sum()) < MOST


def out_of_fold_calibration(
    config: RunConfig,
    samples: Samples,
    false_alarm_rate: float,
    train: TrainRun,
    *,
    show_progress: bool | None = None,
) -> Calibration | None:
    """Return the calibration by all N samples, each scored by a run that did not learn from it.

    Only samples count whose label that run agrees with: most of the others are mislabelled or foreign. None if they are
    too few for the rate, or a part of them too small to learn from.
    """
    whole = without_hold_out(config)
    division = even_folds(samples.labels, FOLDS, config.data.split_seed)
    scores, agrees = torch.empty(len(samples)), torch.zeros(len(samples), dtype=torch.bool)
    try:
        with work_here("threshold", show=show_progress) as work:
            progress = work.part("setting the threshold")
            for fold in range(FOLDS):
                own = _places(division == fold)
                said = train(whole, take(samples, _places(division != fold))).predict(take(samples, own))
                scores[own] = said.scores.cpu()
                agrees[own] = said.probabilities.argmax(dim=1).cpu() == samples.labels[own]
                progress(fold + 1, FOLDS)
        return calibrate_scores(scores[agrees], false_alarm_rate, OUT_OF_FOLD)
    except DataError:
        return None


def _places(chosen: Tensor) -> Tensor:
    return chosen.nonzero().squeeze(1)
