"""Where the threshold of a run comes from: samples held out, or trained on."""

from __future__ import annotations

import pytest
import torch
from methods.tiny import tiny_samples

from lond.runs.predicted import HELD_OUT, IN_TRAINING, PredictedSamples, calibrate_on_samples
from lond.types import Partition, Prediction


def synthetic(held: int, clean: int, *, agree: bool = True) -> tuple[PredictedSamples, Partition]:
    """Return 100 samples: ``held`` are held out, ``clean`` of the others clean; the model agrees with every label."""
    samples = tiny_samples(100)
    right = samples.labels if agree else (samples.labels + 1) % 3
    scores = torch.linspace(0, 1, 100)
    prediction = Prediction(torch.eye(3)[right], scores, torch.zeros(100, 1), torch.zeros(100, 3))
    kept = torch.arange(100 - held)
    mask, zeros = kept < clean, torch.zeros(len(kept))
    partition = Partition(mask, ~mask, torch.zeros_like(mask), zeros, samples.labels[kept], zeros, zeros)
    return PredictedSamples(samples, prediction, kept, torch.arange(100 - held, 100)), partition


@pytest.mark.parametrize(
    ("held", "clean", "source", "rows"),
    [
        (40, 50, HELD_OUT, range(60, 100)),
        (19, 50, HELD_OUT, range(81, 100)),
        (18, 50, IN_TRAINING, range(50)),
        (0, 19, IN_TRAINING, range(19)),
    ],
)
def test_where_the_threshold_comes_from(held: int, clean: int, source: str, rows: range) -> None:
    said, partition = synthetic(held, clean)
    calibration = calibrate_on_samples(said, partition, 0.05)
    assert calibration is not None
    assert calibration.source == source
    assert calibration.known_scores.tolist() == said.prediction.scores[list(rows)].tolist()
    assert calibration.threshold == calibration.known_scores[-1 if len(rows) == 19 else -2 if len(rows) < 59 else -3]


def test_too_few_trusted_samples_give_no_threshold() -> None:
    said, partition = synthetic(18, 18)
    assert calibrate_on_samples(said, partition, 0.05) is None
    assert calibrate_on_samples(said, partition, 0.1) is not None
    disagreeing, partition = synthetic(40, 60, agree=False)
    assert calibrate_on_samples(disagreeing, partition, 0.05) is None


def test_without_a_partition_all_training_samples_may_count() -> None:
    said, _ = synthetic(18, 0)
    calibration = calibrate_on_samples(said, None, 0.05)
    assert calibration is not None
    assert (calibration.source, len(calibration.known_scores)) == (IN_TRAINING, 82)


def test_held_out_samples_the_model_contradicts_are_left_out() -> None:
    said, partition = synthetic(40, 50)
    said.prediction.probabilities[60:70] = torch.eye(3)[(said.samples.labels[60:70] + 1) % 3]
    calibration = calibrate_on_samples(said, partition, 0.05)
    assert calibration is not None
    assert calibration.known_scores.tolist() == said.prediction.scores[70:].tolist()
