"""Run folders as training leaves them, without training."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

from lond.config import RunConfig, to_dict
from lond.presets.benchmarks import preset

EPOCHS = 6


def small(name: str = "mini80-sym50", method: str = "lond-drs", seed: int = 0, **train: Any) -> RunConfig:
    """Return a preset with few epochs."""
    config = preset(name, method)
    return replace(config, train=replace(config.train, **{"epochs": EPOCHS, "seed": seed, **train}))


def history_of(epochs: int, accuracy: float) -> list[dict[str, Any]]:
    """Two epochs of warm-up, then a partition; the accuracy rises to the given one."""
    records = []
    for epoch in range(epochs):
        record: dict[str, Any] = {
            "epoch": epoch, "phase": "warm-up" if epoch < 2 else "robust", "learning_rate": 0.05,
            "loss": 3.0 - 0.1 * epoch, "accuracy": accuracy - 0.01 * (epochs - 1 - epoch), "auroc": 0.6, "fpr95": 0.9,
            "seconds": {"identify": 0.5, "train": 2.0, "evaluate": 0.25},
        }  # fmt: skip
        if epoch >= 2:
            record |= {"clean_size": 40, "label_accuracy": 1 / 3, "clean_precision": None}
        records.append(record)
    return records


def write_run(
    folder: Path,
    config: RunConfig | None = None,
    *,
    accuracy: float = 0.5,
    detectors: bool = False,
    noise: dict[str, Any] | None = None,
    pixels: str = "0123456789abcdef",
    machine: dict[str, Any] | None = None,
) -> Path:
    """Write the small files of a finished run and return its folder."""
    config = config or small()
    folder.mkdir(parents=True, exist_ok=True)
    history = history_of(config.train.epochs, accuracy)
    drawn = config.data.benchmark.noise
    part = {"origin": "mini80/train", "images": 96, "pixels_sha256": pixels, "labels_sha256": "fedcba9876543210"}
    manifest = {
        "class_names": ["a", "b", "c"],
        "channels": 3,
        "size": [16, 16],
        "data": {"train": part, "test": {**part, "origin": "mini80/test", "images": 24}},
        "noise": {
            "noise": {"kind": drawn.kind, "closed_rate": drawn.closed_rate, "open_ratio": 0.2, "seed": drawn.seed},
            "actual": {"closed_rate": 0.51, "open_share": 0.2, "overall": 0.6},
        },
        "versions": {"lond": "0.1.0", "torch": "2.9.0"},
        "python": "3.11.7",
    } | ({"machine": machine} if machine else {})
    metrics = {"loss": 2.6, "accuracy": accuracy - 0.01, "auroc": 0.6, "fpr95": 0.9, "label_accuracy": 1 / 3}
    outcome = {
        "method": config.method, "epochs": config.train.epochs, "mean_over_last": 3, "seed": config.train.seed,
        "metrics": {**metrics, "clean_precision": None}, "threshold": 0.5, "seconds_an_epoch": 2.75,
        "verdicts": {"verdict_foreign_f1": 0.25},
    }  # fmt: skip
    write(folder / "config.json", to_dict(config))
    write(folder / "manifest.json", manifest if noise is None else {**manifest, "noise": noise})
    write(folder / "metrics.json", outcome)
    (folder / "log.jsonl").write_text("".join(json.dumps(record) + "\n" for record in history))
    if detectors:
        write_detectors(folder)
    return folder


def write_detectors(folder: Path, *, origin: str = "mini80/test", auroc: float = 0.7) -> None:
    """Write what `lond detect` leaves."""
    entries = [
        {"name": "msp", "fitted_on": "-", "auroc": auroc, "fpr95": 0.8, "seconds": 0.1234567, "problem": ""},
        {"name": "knn", "fitted_on": "all", "auroc": 0.5, "fpr95": 0.9, "seconds": 1.0, "problem": ""},
        {"name": "knn", "fitted_on": "clean", "auroc": None, "fpr95": None, "seconds": 1.0, "problem": "too few"},
    ]
    (folder / "detect").mkdir(exist_ok=True)
    write(folder / "detect" / "detectors.json", {"test": [{"origin": origin, "images": 24}], "detectors": entries})


def write(path: Path, content: object) -> None:
    path.write_text(json.dumps(content))
