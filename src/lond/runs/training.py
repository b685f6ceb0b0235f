"""Training a run: from a configuration, or from samples at hand, to everything its folder holds."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from torch import nn

from lond.config import RunConfig, to_dict
from lond.detect.threshold import threshold_at
from lond.errors import DataError
from lond.evaluate import verdict_quality
from lond.runs.build import build
from lond.runs.data import check_trainable, load_data, shape_of
from lond.runs.folder import CONFIG, MANIFEST, check_same_data, claim, make_manifest
from lond.runs.tables import judge_samples, verdict_columns
from lond.runs.trained import LoadedRun, Trained, write_outcome
from lond.train.log import write_json
from lond.train.loop import Result, Trainer
from lond.train.runtime import Runtime, RuntimeSettings
from lond.types import Partition, Prediction, Samples

FALSE_ALARM_RATE = 0.05
"""Share of known images that the stored threshold calls foreign."""


def train_run(
    config: RunConfig,
    folder: Path | str,
    runtime_settings: RuntimeSettings | None = None,
    *,
    show_progress: bool | None = None,
) -> Result:
    """Train, or go on training, the run of ``folder``; a finished run is only read.

    Raises:
        ConfigError: the folder holds a run of another configuration or on other data.
    """
    folder = Path(folder)
    claim(folder, config)
    samples, test, noise = load_data(config)
    trained = train_samples(config, samples, test, folder, runtime_settings, noise=noise, show_progress=show_progress)
    return trained.result


def train_samples(
    config: RunConfig,
    samples: Samples,
    test: Samples | None = None,
    folder: Path | None = None,
    runtime_settings: RuntimeSettings | None = None,
    *,
    noise: dict[str, Any] | None = None,
    backbone: nn.Module | None = None,
    false_alarm_rate: float = FALSE_ALARM_RATE,
    show_progress: bool | None = None,
) -> Trained:
    """Train on samples at hand; the run is kept, and resumed, in ``folder`` if one is given.

    Raises:
        ConfigError: the folder holds a run of another configuration or on other data.
        DataError: nothing can be learned from the samples.
    """
    check_trainable(samples, test)
    manifest = make_manifest(samples, test, noise or {})
    if folder is not None:
        claim(folder, config)
        check_same_data(folder, manifest)
    runtime = Runtime(runtime_settings)
    try:
        method, views = build(config, shape_of(samples), samples.labels, backbone)
        keeper = folder if runtime.is_main else None
        if keeper is not None:
            write_json(keeper / CONFIG, to_dict(config))
            write_json(keeper / MANIFEST, manifest)
        trainer = Trainer(
            method,
            samples,
            views,
            config.train,
            config.optimiser,
            runtime,
            test=test,
            folder=folder,
            label=config.method,
            show_progress=show_progress,
        )
        trainer.resume()
        result = trainer.run()
        prediction = trainer.predict(samples)
        trained = _trained(trainer, config, manifest, result, prediction, false_alarm_rate)
        if keeper is not None:
            write_outcome(keeper, trained)
        runtime.barrier()
    finally:
        runtime.close()
    return trained


def _trained(
    trainer: Trainer,
    config: RunConfig,
    manifest: dict[str, Any],
    result: Result,
    prediction: Prediction,
    false_alarm_rate: float,
) -> Trained:
    """Gather what a finished run leaves: its metrics with the decision threshold, and a verdict on every sample."""
    method, samples, partition = trainer.method, trainer.samples, trainer.method.partition
    seconds = [sum(record["seconds"].values()) for record in result.history]
    threshold = decision_threshold(partition, samples, prediction, false_alarm_rate)
    outcome: dict[str, Any] = {
        "method": config.method,
        "epochs": config.train.epochs,
        "mean_over_last": min(config.train.average_last, config.train.epochs),
        "seed": config.train.seed,
        "metrics": result.metrics,
        "threshold": threshold,
        "false_alarm_rate": false_alarm_rate,
        "seconds_an_epoch": sum(seconds) / len(seconds),
    }
    verdicts = judge_samples(samples, prediction, threshold)
    if samples.true_labels is not None:
        outcome["verdicts"] = verdict_quality(verdicts, samples.labels, samples.true_labels)
    columns = verdict_columns(samples, prediction, verdicts, partition)
    run = LoadedRun(config, shape_of(samples), method, trainer.views, threshold)
    return Trained(run, manifest, trainer.state(), outcome, columns)


def decision_threshold(
    partition: Partition | None, samples: Samples, prediction: Prediction, false_alarm_rate: float = FALSE_ALARM_RATE
) -> float | None:
    """Return the threshold from the trusted training samples, or None where there are too few of them."""
    trusted = prediction.probabilities.argmax(dim=1) == samples.labels
    if partition is not None:
        trusted &= partition.clean.cpu()
    try:
        return threshold_at(prediction.scores[trusted], false_alarm_rate)
    except DataError:
        return None
