"""From the folder of a finished run to its record."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from itertools import takewhile
from pathlib import Path
from typing import Any, get_args

from lond.config import RunConfig
from lond.errors import ConfigError, DataError, LondError
from lond.io.json_files import plain, read_json, read_json_lines, read_sealed_json
from lond.presets.benchmarks import baseline_of, preset_of
from lond.results.identity import changed_settings, identity_of, stored_config, variant_of
from lond.results.naming import data_of, noise_of, scale_of
from lond.results.records import DataPart, DetectorRecord, Machine, Metrics, Record, Scale, Seeds
from lond.runs.folder import CONFIG, MANIFEST, METRICS, folder_config, read_manifest
from lond.train.loop import LOG
from lond.train.state import CHECKPOINT

CURVES = (
    "loss", "accuracy", "auroc", "fpr95", "label_accuracy", "corrected_accuracy",
    "clean_precision", "clean_recall", "closed_precision", "closed_recall", "open_precision", "open_recall",
)  # fmt: skip
"""Metrics that are kept epoch by epoch, where a run has them."""

DETECTORS = ("detect/detectors.json", "detectors.json")
"""Where the comparison of detectors may lie in a run's folder."""


def record_of(
    run_folder: Path | str,
    *,
    preset: str = "",
    scale: Scale | None = None,
    data: str = "",
    baseline: RunConfig | None = None,
    machine: Machine | None = None,
    finished: datetime | None = None,
) -> Record:
    """Return the record of a finished run.

    Args:
        run_folder: as ``lond train`` leaves it; checkpoint and verdicts need not be there any more.
        preset: name of its preset; if left out, the one with the same data and noise, if any.
        scale: if left out, guessed from the data and the length of the run.
        data: name of the data set; needed only for your own source that is not to be called by its folder.
        baseline: what ``changes`` are relative to; the preset if left out.
        machine: what it ran on, where that is not what its manifest says.
        finished: when; the time of the checkpoint if left out.

    Raises:
        ConfigError: preset or scale are unknown or do not fit the run.
        DataError: the folder holds no finished run, or a damaged one.

    Examples:
        >>> from lond import preset, train_run
        >>> from lond.config import with_overrides
        >>> short = {"train.epochs": "1", "train.max_steps": "2", "net.width": "0.125"}
        >>> _ = train_run(with_overrides(preset("digits", "standard"), short), "run", show_progress=False)
        >>> record_of("run").method
        'standard'
    """
    folder = Path(run_folder)
    for name in (CONFIG, MANIFEST, LOG, METRICS):
        if not (folder / name).is_file():
            raise DataError(f"{folder} holds no finished run: it has no {name}. Start its lond train command (again)")
    if scale is not None and scale not in get_args(Scale):
        raise ConfigError(f"there is no scale {scale!r}; choose one of: {', '.join(get_args(Scale))}")
    config = folder_config(folder)
    try:
        return _record(folder, config, preset, scale, data, baseline, machine, finished)
    except LondError:
        raise
    except (KeyError, TypeError, AttributeError, IndexError, ValueError) as error:
        raise DataError(f"the run of {folder} is damaged: {type(error).__name__} {error}") from error


def _record(
    folder: Path,
    config: RunConfig,
    preset: str,
    scale: Scale | None,
    data: str,
    baseline: RunConfig | None,
    machine: Machine | None,
    finished: datetime | None,
) -> Record:
    manifest, outcome = read_manifest(folder), read_sealed_json(folder / METRICS)
    history = read_json_lines(folder / LOG)
    if len(history) != config.train.epochs:
        raise DataError(f"{folder} holds no finished run: {len(history)} of {config.train.epochs} epochs are logged")
    preset = preset_of(config, preset)
    baseline = baseline or baseline_of(config, preset)
    drawn = manifest["noise"].get("noise")
    fingerprint = fingerprint_of(manifest)
    return Record(
        identity=identity_of(config, fingerprint),
        variant=variant_of(config),
        method=config.method,
        data=data or data_of(config, preset),
        noise=noise_of(drawn, preset),
        scale=scale or scale_of(config, preset),
        seeds=Seeds(config.train.seed, config.data.split_seed, drawn["seed"] if isinstance(drawn, dict) else None),
        config=stored_config(config),
        preset=preset,
        changes=changed_settings(config, baseline) if baseline else {},
        versions={**manifest["versions"], "python": manifest["python"]},
        machine=_machine(manifest, machine or Machine()),
        fingerprint=fingerprint,
        classes=len(manifest["class_names"]),
        rates=_numbers(manifest["noise"].get("actual", {})),
        epochs=outcome["epochs"],
        warmup_epochs=len(list(takewhile(lambda record: record["phase"].startswith("warm-up"), history))),
        mean_over_last=outcome["mean_over_last"],
        metrics=_numbers(outcome["metrics"]),
        last_epoch=_numbers({key: value for key, value in history[-1].items() if key in outcome["metrics"]}),
        verdicts=_numbers(outcome.get("verdicts", {})),
        detectors=_detectors(folder, manifest),
        curves=_curves(history),
        seconds={part: sum(record["seconds"][part] for record in history) for part in history[-1]["seconds"]},
        finished=_finished(folder, finished),
    )


def fingerprint_of(manifest: dict[str, Any]) -> dict[str, DataPart]:
    """Return what a run's manifest says of the images and labels of its training and test set."""
    known = ("images", "pixels_sha256", "labels_sha256")
    return {name: DataPart(*(part[key] for key in known)) for name, part in manifest["data"].items()}


def _machine(manifest: dict[str, Any], given: Machine) -> Machine:
    told = {name: value for name, value in vars(given).items() if value is not None}
    return Machine(**(manifest.get("machine", {}) | told))


def _numbers(values: dict[str, Any]) -> Metrics:
    return {key: None if (number := plain(value)) is None else float(number) for key, value in values.items()}


def _curves(history: Sequence[dict[str, Any]]) -> dict[str, tuple[float | None, ...]]:
    curves = {}
    for name in CURVES:
        values = [plain(record.get(name)) for record in history]
        if any(value is not None for value in values):
            curves[name] = tuple(None if value is None else float(f"{value:.6g}") for value in values)
    return curves


def _detectors(folder: Path, manifest: dict[str, Any]) -> tuple[DetectorRecord, ...]:
    """Return the detectors on the run's own test set; a comparison on other images is not about this run's data."""
    path = next((folder / name for name in DETECTORS if (folder / name).is_file()), None)
    if path is None:
        return ()
    content = read_json(path)
    if [part["origin"] for part in content["test"]] != [manifest["data"].get("test", {}).get("origin")]:
        return ()
    aside = ("name", "fitted_on", "seconds", "problem")
    return tuple(
        DetectorRecord(
            entry["name"],
            entry["fitted_on"],
            _numbers({key: value for key, value in entry.items() if key not in aside}),
            float(f"{entry['seconds']:.6g}"),
            entry["problem"],
        )
        for entry in content["detectors"]
    )


def _finished(folder: Path, given: datetime | None) -> str | None:
    """Return the time in UTC; the checkpoint's is that of the last epoch, other files are written anew later."""
    if given is None and (folder / CHECKPOINT).is_file():
        given = datetime.fromtimestamp((folder / CHECKPOINT).stat().st_mtime, UTC)
    return None if given is None else given.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
