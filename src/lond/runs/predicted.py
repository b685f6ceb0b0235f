"""What a trained run says about its own samples, and the threshold that follows from it."""

from __future__ import annotations

from dataclasses import dataclass, replace

from torch import Tensor

from lond.data.split import take
from lond.errors import DataError
from lond.runs.calibration import Calibration, calibrate_scores
from lond.runs.fit_detector import fit_detector
from lond.runs.run_detector import OWN_SCORE, RunDetector
from lond.runs.trained import LoadedRun
from lond.train.runtime import Runtime
from lond.types import Partition, Prediction, Samples

HELD_OUT, IN_TRAINING = "held-out samples the model agrees with", "training samples judged clean"
"""Where a threshold comes from."""


@dataclass(frozen=True)
class PredictedSamples:
    """What a trained method says about all samples, of which it learned from those at ``kept``, not from ``held``."""

    samples: Samples
    prediction: Prediction
    kept: Tensor
    held: Tensor
    detector: RunDetector = OWN_SCORE
    """What gave the scores."""


def scored_by(name: str, run: LoadedRun, predicted: PredictedSamples, runtime: Runtime) -> PredictedSamples:
    """Return the same samples with the scores of a detector that is fitted to the run."""
    samples, held = predicted.samples, predicted.held
    learned_from, held_out = take(samples, predicted.kept), take(samples, held) if len(held) else None
    fitted = fit_detector(run, name, learned_from, held_out, runtime)
    return replace(predicted, prediction=run.predict(samples, runtime, fitted), detector=fitted)


def calibrate_on_samples(
    predicted: PredictedSamples, partition: Partition | None, false_alarm_rate: float
) -> Calibration | None:
    """Return the calibration from held-out samples whose label the model agrees with, else from such training samples.

    A model knows its training samples better than new ones, so the second kind of threshold gives more false alarms
    on new images than asked for. None where there are too few samples for the rate.
    """
    agrees = predicted.prediction.probabilities.argmax(dim=1) == predicted.samples.labels
    clean = predicted.kept if partition is None else predicted.kept[partition.clean.cpu()]
    rows = {HELD_OUT: predicted.held[agrees[predicted.held]], IN_TRAINING: clean[agrees[clean]]}
    for source, indices in rows.items():
        try:
            return calibrate_scores(predicted.prediction.scores[indices], false_alarm_rate, source, predicted.detector)
        except DataError:
            continue
    return None
