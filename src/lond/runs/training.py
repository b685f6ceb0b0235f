"""Training a run: from a configuration, or from samples at hand, to everything its folder holds."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

from torch import Tensor, nn

from lond.config import RunConfig, to_dict
from lond.evaluate import verdict_quality
from lond.io.json_files import write_json
from lond.methods import Method
from lond.progress.work import announce_steps
from lond.runs.build import build
from lond.runs.calibration import CALIBRATION, FALSE_ALARM_RATE, Calibration, load_calibration
from lond.runs.data import HeldOutSplit, check_trainable, divide, open_data, ready_data, shape_of
from lond.runs.folder import (
    CONFIG,
    MANIFEST,
    METRICS,
    check_same_data,
    claim,
    held,
    make_manifest,
    outside_parts,
    read_manifest,
    run_identity,
)
from lond.runs.image_tables import judge_samples, verdict_columns
from lond.runs.out_of_fold import OUT_OF_FOLD, needs_folds, out_of_fold_calibration
from lond.runs.predicted import HELD_OUT, IN_TRAINING, PredictedSamples, calibrate_on_samples, scored_by
from lond.runs.run_detector import OWN
from lond.runs.trained import LoadedRun, Trained, write_outcome
from lond.train.loop import Result, Trainer, last_epochs
from lond.train.runtime import Runtime, RuntimeSettings
from lond.types import Samples


def train_run(
    config: RunConfig,
    folder: Path | str,
    runtime_settings: RuntimeSettings | None = None,
    *,
    detector: str = OWN,
    show_progress: bool | None = None,
) -> Result:
    """Train or resume the run of ``folder``; a finished run is only read.

    Examples:
        >>> from lond import preset, train_run
        >>> from lond.config import with_overrides
        >>> config = with_overrides(preset("digits", "standard"), {"train.epochs": "1", "net.width": "0.1"})
        >>> result = train_run(config, "run", show_progress=False)
        >>> 0 <= result.metrics["accuracy"] <= 1
        True

    ``detector`` gives the score that images are called foreign by; "own" is the method's. Where a method that is quick
    on features would hold out only a few images, its threshold comes from runs on parts of them (``runs.out_of_fold``).

    Raises:
        ConfigError: the folder holds a run of another configuration or on other data.
    """
    folder = Path(folder)
    claim(folder, config)
    opened, opened_test, noise = open_data(config)
    calibration = _finished_out_of_fold(folder) if detector == OWN else None
    by_folds = calibration is None and needs_folds(config, opened, runtime_settings, detector)
    readings = (1 if opened_test is None else 2) if config.data.frozen.backbone else 0
    announce_steps(readings + int(by_folds) + 1)
    samples, test = ready_data(config, opened, opened_test, runtime_settings, show_progress=show_progress)
    if by_folds:

        def train(part: RunConfig, learned: Samples) -> LoadedRun:
            return train_samples(part, learned, None, None, runtime_settings, show_progress=False).run

        calibration = out_of_fold_calibration(config, samples, FALSE_ALARM_RATE, train, show_progress=show_progress)
    trained = train_samples(
        config,
        samples,
        test,
        folder,
        runtime_settings,
        noise=noise,
        calibration=calibration,
        detector=detector,
        show_progress=show_progress,
    )
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
    start: Mapping[str, Tensor] | None = None,
    prepare: Callable[[Method], None] | None = None,
    false_alarm_rate: float = FALSE_ALARM_RATE,
    calibration: Calibration | None = None,
    detector: str = OWN,
    step: str = "",
    show_progress: bool | None = None,
) -> Trained:
    """Train on given samples; store and resume the run in ``folder`` if one is given.

    It calls images foreign by ``calibration``, if given, else by one from the samples; a calibration on checked images
    that the folder of a finished run holds is kept. The scores are those of ``detector``. ``start`` are weights and
    buffers of the method to start from in place of drawn ones, ``prepare`` is given the untrained method. ``step`` is
    what the training is called while it goes on; the method's name if empty.

    Raises:
        ConfigError: the folder holds a run of another configuration or on other data.
        DataError: nothing can be learned from the samples.

    Examples:
        >>> from lond import preset
        >>> from lond.config import with_overrides
        >>> from lond.runs import load_data
        >>> short = {"train.epochs": "1", "train.max_steps": "2", "net.width": "0.125"}
        >>> config = with_overrides(preset("digits", "standard"), short)
        >>> train_samples(config, load_data(config)[0], show_progress=False).run.finished
        True
    """
    check_trainable(samples, test)
    manifest = make_manifest(samples, test, noise or {})
    if outside := outside_parts(config):
        manifest["outside"] = outside
    if folder is not None:
        claim(folder, config)
        check_same_data(folder, manifest)
    division = divide(config, samples)
    with held(folder), closing(Runtime(runtime_settings)) as runtime:
        learned_from = division.learned_from
        method, views = build(config, shape_of(samples), learned_from.labels, backbone, learned_from.confirmed)
        if start is not None:
            method.load_state_dict(start)
        if prepare is not None:
            prepare(method)
        keeper = folder if runtime.is_main else None
        if keeper is not None:
            manifest["machine"] = _machine(keeper, runtime)
            write_json(keeper / CONFIG, to_dict(config))
            write_json(keeper / MANIFEST, manifest)
        trainer = Trainer(
            method,
            learned_from,
            views,
            config.train,
            config.optimiser,
            runtime,
            test=test,
            folder=folder,
            identity=run_identity(config, manifest),
            label=step or config.method,
            show_progress=show_progress,
        )
        checked = _resume(trainer, folder, is_keeper=runtime.is_main)
        result = trainer.run()
        predicted = _predicted(trainer, config, samples, division, detector)
        trained = _trained(trainer, config, manifest, result, predicted, false_alarm_rate, calibration)
        if checked is not None and (calibration is None or checked.source != calibration.source):
            trained = replace(trained, run=replace(trained.run, calibration=checked))
        if keeper is not None:
            write_outcome(keeper, trained)
        runtime.barrier()
    return trained


def _resume(trainer: Trainer, folder: Path | None, *, is_keeper: bool) -> Calibration | None:
    """Resume the run of a folder; return the calibration on checked images that a finished one holds.

    What was decided on a run that was cut does not hold for the weights to come, so the keeper removes it.
    """
    trainer.resume()
    if folder is None:
        return None
    if len(trainer.history) >= trainer.settings.epochs:
        return _checked_calibration(folder)
    if is_keeper:
        (folder / CALIBRATION).unlink(missing_ok=True)
        (folder / METRICS).unlink(missing_ok=True)
    return None


def _predicted(
    trainer: Trainer, config: RunConfig, samples: Samples, division: HeldOutSplit, detector: str
) -> PredictedSamples:
    """Return what the trained method says about all samples, with the scores of the detector."""
    predicted = PredictedSamples(samples, trainer.predict(samples), division.kept, division.held)
    if detector == OWN:
        return predicted
    run = LoadedRun(config, shape_of(samples), trainer.method, trainer.views, None)
    return scored_by(detector, run, predicted, trainer.runtime)


def _machine(folder: Path, runtime: Runtime) -> dict[str, Any]:
    """Return what the run was trained on; a second look at a finished one, on whatever machine, does not change that.

    A run that went on elsewhere has the last machine.
    """
    if (folder / METRICS).is_file() and (folder / MANIFEST).is_file():
        machine: dict[str, Any] = read_manifest(folder).get("machine", {})
        return machine
    return runtime.describe()


def _checked_calibration(folder: Path) -> Calibration | None:
    """Return the calibration of a finished run if it was made on checked images: training again must not undo it."""
    calibration = load_calibration(folder)
    return None if calibration is None or calibration.source in (HELD_OUT, IN_TRAINING, OUT_OF_FOLD) else calibration


def _finished_out_of_fold(folder: Path) -> Calibration | None:
    """Return the calibration of a finished run if it was made out of fold: nothing is trained for it again."""
    calibration = load_calibration(folder) if (folder / METRICS).is_file() else None
    return calibration if calibration is not None and calibration.source == OUT_OF_FOLD else None


def _trained(
    trainer: Trainer,
    config: RunConfig,
    manifest: dict[str, Any],
    result: Result,
    predicted: PredictedSamples,
    false_alarm_rate: float,
    calibration: Calibration | None,
) -> Trained:
    """Gather what a finished run leaves: its metrics with the calibration, and a verdict on every sample."""
    method, samples, prediction, partition = (
        trainer.method,
        predicted.samples,
        predicted.prediction,
        trainer.method.partition,
    )
    seconds = [sum(record["seconds"].values()) for record in result.history]
    calibration = calibration or calibrate_on_samples(predicted, partition, false_alarm_rate)
    threshold = None if calibration is None else calibration.threshold
    outcome: dict[str, Any] = {
        "method": config.method,
        "epochs": config.train.epochs,
        "mean_over_last": len(last_epochs(result.history, config.train.average_last)),
        "seed": config.train.seed,
        "metrics": result.metrics,
        "threshold": threshold,
        "threshold_from": None if calibration is None else calibration.source,
        "threshold_images": 0 if calibration is None else len(calibration.known_scores),
        "false_alarm_rate": false_alarm_rate if calibration is None else calibration.false_alarm_rate,
        "seconds_an_epoch": sum(seconds) / len(seconds),
    }
    if predicted.detector.name != OWN:
        outcome["detector"] = str(predicted.detector)
    verdicts = judge_samples(samples, prediction, threshold)
    if samples.true_labels is not None:
        outcome["verdicts"] = verdict_quality(verdicts, samples.labels, samples.true_labels)
    columns = verdict_columns(samples, prediction, verdicts, partition, predicted.kept)
    run = LoadedRun(config, shape_of(samples), method, trainer.views, calibration)
    return Trained(run, manifest, trainer.state(), outcome, columns)
