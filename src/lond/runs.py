"""A run: from a configuration to a folder with everything that explains its result.

The folder holds ``config.json`` (what was asked), ``manifest.json`` (data, noise, versions), ``log.jsonl`` (every
epoch), ``checkpoint.safetensors`` (complete state), ``metrics.json`` (result) and ``verdicts.csv`` (per sample).
"""

from __future__ import annotations

import csv
import json
import platform
from dataclasses import dataclass, replace
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from lond.config import NetSettings, RunConfig, run_config_from_dict, to_dict
from lond.data.benchmarks import Benchmark, load_benchmark
from lond.data.files import load_into_memory
from lond.data.noise import label_hash
from lond.data.sources import has_split, load
from lond.data.views import ViewMaker
from lond.detect.threshold import threshold_at
from lond.errors import ConfigError, DataError
from lond.methods import METHODS, Method, Task
from lond.nets.backbones import Backbone, build_backbone
from lond.seeds import seed_global_state
from lond.train.log import write_json
from lond.train.checkpoint import load_state
from lond.train.loop import CHECKPOINT, Result, Trainer
from lond.train.runtime import Runtime, RuntimeSettings
from lond.types import Prediction, Samples

MEMORY_LIMIT = 2 * 2**30
"""Image files are held decoded in memory if they need at most this many bytes."""


CONFIG, MANIFEST, METRICS, VERDICTS = "config.json", "manifest.json", "metrics.json", "verdicts.csv"

FALSE_ALARM_RATE = 0.05
"""Share of known images that the stored threshold calls foreign."""


@dataclass(frozen=True)
class Shape:
    """What a network must know of the data."""

    class_names: tuple[str, ...]
    channels: int
    size: tuple[int, int]


def load_data(config: RunConfig) -> tuple[Samples, Samples | None, dict[str, Any]]:
    """Return training set, test set (if any) and manifest of a configuration."""
    data = config.data
    if not data.source:
        benchmark: Benchmark = load_benchmark(data.benchmark)
        return benchmark.train, benchmark.test, benchmark.manifest
    train = in_memory(load(data.source, options=data.read))
    options = replace(data.read, size=train.pixels.size[0], channels=train.pixels.channels)
    test = None
    test_source = data.test_source or (data.source if has_split(data.source, "test", options) else "")
    if test_source:
        split = "test" if has_split(test_source, "test", options) else "train"
        test = in_memory(load(test_source, split, class_names=train.class_names, options=options))
    return train, test, {"noise": "the data's own; rates unknown"}


def in_memory(samples: Samples) -> Samples:
    """Return the samples with their images decoded in memory, if they are small enough."""
    pixels = samples.pixels
    needed = len(pixels) * pixels.channels * pixels.size[0] * pixels.size[1]
    if not pixels.crops_on_read or needed > MEMORY_LIMIT:
        return samples
    return replace(samples, pixels=load_into_memory(pixels))


def check_trainable(samples: Samples, test: Samples | None) -> None:
    """Refuse a data set that nothing can be learned from.

    Raises:
        DataError: fewer than two classes or two labelled images.
    """
    if samples.num_classes < 2:
        raise DataError(f"{samples.origin} has {samples.num_classes} class(es); a classifier needs at least two")
    if int((samples.labels >= 0).sum()) < 2:
        raise DataError(f"{samples.origin} has fewer than two labelled images")
    if test is not None and test.pixels.channels != samples.pixels.channels:
        raise DataError("training and test images differ in their number of channels")


def shape_of(samples: Samples) -> Shape:
    """Return what a network must know of these samples."""
    return Shape(samples.class_names, samples.pixels.channels, samples.pixels.size)


def build(config: RunConfig, shape: Shape, labels: Tensor, backbone: nn.Module | None = None) -> tuple[Method, ViewMaker]:
    """Return the untrained method and its views; ``backbone`` is the user's own module in place of the configured one."""
    seed_global_state(config.train.seed, "initial weights")
    views = config.views

    def fresh_backbone() -> Backbone:
        net: NetSettings = config.net
        options: dict[str, Any] = {"in_channels": shape.channels, "image_size": shape.size}
        if backbone is not None:
            return build_backbone(backbone, **options)
        return build_backbone(
            net.backbone, width=net.width, pretrained=net.pretrained, checkpoint_path=net.checkpoint_path, **options
        )

    method_class = METHODS[config.method][0]
    method: Method = method_class(config.settings, Task(labels, len(shape.class_names), fresh_backbone))
    for module in method.modules():
        # Pretrained weights expect the normalisation they were trained with.
        mean, std = getattr(module, "input_mean", None), getattr(module, "input_std", None)
        if mean is not None and std is not None and shape.channels == 3:
            views = replace(views, mean=tuple(mean), std=tuple(std))
            break
    return method, ViewMaker(views, shape.channels)


def train_run(
    config: RunConfig,
    folder: Path,
    runtime_settings: RuntimeSettings | None = None,
    *,
    show_progress: bool | None = None,
) -> Result:
    """Train, or go on training, the run of ``folder``; a finished run is only read.

    Raises:
        ConfigError: the folder holds a run of another configuration.
    """
    _claim(folder, config)
    samples, test, noise = load_data(config)
    check_trainable(samples, test)
    runtime = Runtime(runtime_settings)
    try:
        method, views = build(config, shape_of(samples), samples.labels)
        if runtime.is_main:
            write_json(folder / CONFIG, to_dict(config))
            write_json(folder / MANIFEST, _manifest(samples, test, noise))
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
        if runtime.is_main:
            _write_outcome(folder, config, method, samples, result, prediction)
        runtime.barrier()
    finally:
        runtime.close()
    return result


@dataclass(frozen=True)
class LoadedRun:
    """A trained run, ready to predict."""

    config: RunConfig
    shape: Shape
    method: Method
    views: ViewMaker
    threshold: float | None

    def read(self, source: object, split: str = "test") -> Samples:
        """Load images at the run's size; labels are mapped onto its classes."""
        options = replace(self.config.data.read, size=self.shape.size[0], channels=self.shape.channels)
        return in_memory(load(source, split, class_names=self.shape.class_names, options=options))

    def predict(self, samples: Samples, runtime: Runtime | None = None) -> Prediction:
        """Return what the run says about every sample."""
        train, optimiser = self.config.train, self.config.optimiser
        trainer = Trainer(self.method, samples, self.views, train, optimiser, runtime or Runtime(), show_progress=False)
        return trainer.predict(samples)


@dataclass(frozen=True)
class PredictionTable:
    """One row an image, in the order of the source; images that could not be read come last."""

    columns: tuple[str, ...]
    rows: list[dict[str, str]]


def prediction_rows(
    run: LoadedRun, samples: Samples, prediction: Prediction, threshold: float | None = None
) -> PredictionTable:
    """Return class, probability, foreign score and verdict of every image.

    Raises:
        DataError: neither the run nor the caller has a threshold.
    """
    threshold = run.threshold if threshold is None else threshold
    if threshold is None:
        raise DataError("the run has no stored threshold (too few trusted samples); choose one with --threshold")
    columns = ("id", "class", "probability", "foreign_score", "verdict", "reason")
    best = prediction.probabilities.max(dim=1)
    rows = [
        {
            "id": name,
            "class": run.shape.class_names[label],
            "probability": f"{probability:.6g}",
            "foreign_score": f"{score:.6g}",
            "verdict": "foreign" if score > threshold else "known",
            "reason": "",
        }
        for name, label, probability, score in zip(
            samples.ids, best.indices.tolist(), best.values.tolist(), prediction.scores.tolist(), strict=True
        )
    ]
    for problem in samples.problems:
        empty = dict.fromkeys(columns, "")
        rows.append(empty | {"id": problem.id, "verdict": "unreadable", "reason": problem.reason})
    return PredictionTable(columns, rows)


def load_run(folder: Path) -> LoadedRun:
    """Read a run folder.

    Raises:
        DataError: the folder holds no trained run.
    """
    for name in (CONFIG, MANIFEST, CHECKPOINT):
        if not (folder / name).is_file():
            raise DataError(f"{folder} is not a trained run: it has no {name}. Train one with: lond train --out {folder}")
    config = run_config_from_dict(json.loads((folder / CONFIG).read_text(encoding="utf-8")))
    manifest = json.loads((folder / MANIFEST).read_text(encoding="utf-8"))
    shape = Shape(tuple(manifest["class_names"]), manifest["channels"], tuple(manifest["size"]))
    state = load_state(folder / CHECKPOINT)
    # The weights come from the checkpoint: pretrained ones need not be at hand any more.
    untrained = replace(config, net=replace(config.net, pretrained=False, checkpoint_path=None))
    method, views = build(untrained, shape, torch.empty(0, dtype=torch.long))
    method.load_state_dict(state["method"])
    method.load_extra_state(state["extra"])
    threshold = None
    if (folder / METRICS).is_file():
        threshold = json.loads((folder / METRICS).read_text(encoding="utf-8")).get("threshold")
    return LoadedRun(config, shape, method, views, threshold)


def _claim(folder: Path, config: RunConfig) -> None:
    """Make the folder, or check that it belongs to the same configuration."""
    if (folder / CONFIG).is_file():
        stored = json.loads((folder / CONFIG).read_text(encoding="utf-8"))
        changed = _differences(stored, to_dict(config))
        if changed:
            raise ConfigError(
                f"{folder} holds a run with other settings ({', '.join(changed)}). "
                "Choose another --out, or delete that folder to start anew."
            )
    elif folder.is_dir() and any(folder.iterdir()):
        raise ConfigError(f"{folder} is not empty and holds no run. Choose another --out.")
    folder.mkdir(parents=True, exist_ok=True)


def _differences(stored: dict[str, Any], asked: dict[str, Any], where: str = "") -> list[str]:
    """Return the dotted names of settings that differ; where the data lie does not matter."""
    changed = []
    for key in sorted(stored.keys() | asked.keys()):
        name, old, new = f"{where}{key}", stored.get(key), asked.get(key)
        if isinstance(old, dict) and isinstance(new, dict):
            changed += _differences(old, new, f"{name}.")
        elif old != new and name != "data.benchmark.root":
            changed.append(name)
    return changed


def _manifest(samples: Samples, test: Samples | None, noise: dict[str, Any]) -> dict[str, Any]:
    sets = {"train": samples} | ({"test": test} if test is not None else {})
    return {
        "class_names": samples.class_names,
        "channels": samples.pixels.channels,
        "size": samples.pixels.size,
        "data": {
            name: {
                "origin": part.origin,
                "images": len(part),
                "pixels_sha256": part.pixels.fingerprint(),
                "labels_sha256": label_hash(part.labels),
                "problems": [{"id": problem.id, "reason": problem.reason} for problem in part.problems],
            }
            for name, part in sets.items()
        },
        "noise": noise,
        "versions": {name: _version(name) for name in ("lond", "torch", "numpy", "lightning-fabric")},
        "python": platform.python_version(),
    }


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return "not installed"


def _write_outcome(
    folder: Path, config: RunConfig, method: Method, samples: Samples, result: Result, prediction: Prediction
) -> None:
    """Write the metrics with the decision threshold, and a verdict on every training sample."""
    seconds = [sum(record["seconds"].values()) for record in result.history]
    outcome = {
        "method": config.method,
        "epochs": config.train.epochs,
        "mean_over_last": min(config.train.average_last, config.train.epochs),
        "seed": config.train.seed,
        "metrics": result.metrics,
        "threshold": _threshold(method, samples, prediction),
        "false_alarm_rate": FALSE_ALARM_RATE,
        "seconds_an_epoch": sum(seconds) / len(seconds),
    }
    write_json(folder / METRICS, outcome)
    if method.partition is not None:
        _write_verdicts(folder / VERDICTS, method, samples, prediction)


def _threshold(method: Method, samples: Samples, prediction: Prediction) -> float | None:
    """Return the threshold from the trusted training samples, or None where there are too few."""
    trusted = prediction.probabilities.argmax(dim=1) == samples.labels
    if method.partition is not None:
        trusted &= method.partition.clean.cpu()
    try:
        return threshold_at(prediction.scores[trusted], FALSE_ALARM_RATE)
    except DataError:
        return None


def _write_verdicts(path: Path, method: Method, samples: Samples, prediction: Prediction) -> None:
    assert method.partition is not None
    partition, names = method.partition.to("cpu"), samples.class_names
    columns = {
        "id": samples.ids,
        "label": [names[label] if label >= 0 else "" for label in samples.labels.tolist()],
        "verdict": [str(verdict) for verdict in partition.verdicts()],
        "suggested_label": [names[label] for label in partition.corrected.tolist()],
        "weight": _numbers(partition.weights),
        "neighbour_margin": _numbers(partition.neighbour_margin),
        "negative_margin": _numbers(partition.negative_margin),
        "foreign_score": _numbers(prediction.scores),
    }
    if samples.true_labels is not None:
        columns["true_label"] = [names[label] if label >= 0 else "" for label in samples.true_labels.tolist()]
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(columns)
        writer.writerows(zip(*columns.values(), strict=True))


def _numbers(values: Tensor) -> list[str]:
    return [f"{value:.6g}" for value in values.tolist()]
