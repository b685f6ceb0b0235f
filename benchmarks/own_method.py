"""Measure cross-fit beside other methods on frozen features: the paper's three noises and cells of the noise bench.

Every run is one line of results/own_method.jsonl; runs that stand there already are not repeated.

    python -m benchmarks.own_method --data data --features features --methods standard nce lond-drs cross-fit
"""

from __future__ import annotations

import argparse
import json
import math
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from benchmarks.noise_bench.cells import make
from benchmarks.noise_bench.sources import World, load_world
from benchmarks.noise_bench.specs import cells

from lond.config import RunConfig
from lond.data.feature_views import FeaturePixels
from lond.data.noise import NoiseSettings, add_noise
from lond.evaluate import evaluate_predictions
from lond.presets.benchmarks import preset
from lond.presets.features import on_frozen
from lond.runs import LoadedRun, train_samples
from lond.runs.detection import compare_detectors
from lond.train.runtime import RuntimeSettings
from lond.types import FOREIGN, Samples

PAPER = {
    "cifar80n-sym20": NoiseSettings("symmetric", 0.2, 0.2),
    "cifar80n-sym80": NoiseSettings("symmetric", 0.8, 0.2),
    "cifar80n-asym40": NoiseSettings("asymmetric", 0.4, 0.2),
}
"""The paper's noises: 80 known classes, 20 foreign ones."""

HELD_OUT = 10_000
"""Training images to choose on, kept from the training, with ``--held-out``."""

ABLATIONS: dict[str, dict[str, Any]] = {
    "": {},
    "no own opinion": {"own_opinion": 0.0},
    "own opinion only": {"own_opinion": 1.0},
    "no noise model": {"noise_model": 0.0},
    "noise model only": {"noise_model": 1.0},
    "no sharpening": {"sharpening": 1.0},
    "no average": {"teacher_memory": 0.0},
    "mixing": {"mixing": 1.0},
}
"""Changes of cross-fit's settings by name."""


@dataclass(frozen=True)
class Trial:
    """Training and test images of one cell."""

    train: Samples
    test: Samples


def samples_of(features: Any, labels: Any, true: Any, classes: int) -> Samples:
    """Return features ``(N, D)`` as samples."""
    names = tuple(f"class{number}" for number in range(classes))
    ids = tuple(f"{number:05d}" for number in range(len(labels)))
    return Samples(FeaturePixels(features), torch.as_tensor(labels), names, ids, torch.as_tensor(true))


def trial_of(cell: str, world: World, held_out: bool) -> Trial:
    """Return the cell of a name: one of ``PAPER``, or "tune/..." or "judge/..." of the noise bench."""
    if cell not in PAPER:
        part, name = cell.split("/")
        spec = next(spec for spec in cells(part) if spec.name == name)  # type: ignore[arg-type]
        made = make(spec, world)
        train = samples_of(made.features, made.given, made.true, made.classes)
        return Trial(train, samples_of(made.test_features, made.test_true, made.test_true, made.classes))
    noisy = add_noise(torch.as_tensor(world.cifar.label), 100, PAPER[cell])
    known = int(noisy.manifest["known_classes"])
    if not held_out:
        true = np.where(world.cifar_test.label < known, world.cifar_test.label, FOREIGN)
        train = samples_of(world.cifar.features, noisy.labels, noisy.true_labels, known)
        return Trial(train, samples_of(world.cifar_test.features, true, true, known))
    order = torch.from_numpy(np.random.default_rng(7).permutation(len(noisy.labels)))
    held, kept = order[:HELD_OUT].sort().values, order[HELD_OUT:].sort().values
    truth = noisy.true_labels
    train = samples_of(world.cifar.features[kept.numpy()], noisy.labels[kept], truth[kept], known)
    return Trial(train, samples_of(world.cifar.features[held.numpy()], truth[held], truth[held], known))


def config_of(cell: str, method: str, ablation: str, seed: int, images: int) -> RunConfig:
    """Return the configuration on features of so many images; those of the noise bench count as one's own data."""
    config = preset(cell if cell in PAPER else "cifar80n-sym20", method)
    if cell not in PAPER:
        config = replace(config, data=replace(config.data, source="own"))
    config = on_frozen(replace(config, train=replace(config.train, seed=seed)), images=images)
    return replace(config, settings=replace(config.settings, **ABLATIONS[ablation])) if ablation else config


def measure(cell: str, method: str, ablation: str, seed: int, trial: Trial, detectors: bool) -> dict[str, Any]:
    """Train once, without test images, and return the figures of the end on them, also those of all detectors."""
    config = config_of(cell, method, ablation, seed, len(trial.train))
    trained = train_samples(config, trial.train, None, None, RuntimeSettings("cpu", threads=1))
    figures = evaluate_predictions(trained.run.predict(trial.test), trial.test.labels)
    metrics = trained.result.metrics
    kept = {key: round(float(value), 4) for key, value in figures.items()}
    qualities = {key: float(metrics[key]) for key in metrics if key.endswith(("precision", "recall"))}
    sizes = {key: round(value, 4) for key, value in qualities.items() if math.isfinite(value)}
    record = {"cell": cell, "method": method, "ablation": ablation, "seed": seed, **kept, **sizes}
    return record | ({"detectors": detector_figures(trained.run, trial)} if detectors else {})


def detector_figures(run: LoadedRun, trial: Trial) -> dict[str, float]:
    """Return the AUROC of every detector on the test images, by its name and what it was fitted on."""
    found = compare_detectors(run, trial.train, [trial.test], trial.test.labels == FOREIGN)
    return {
        f"{result.name} ({result.fitted_on})": round(result.figures["auroc"], 4)
        for result in found
        if not result.problem
    }


def main() -> None:
    """Measure what is missing."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=Path("data"))
    parser.add_argument("--features", type=Path, default=Path("features"))
    parser.add_argument("--out", type=Path, default=Path("results/own_method.jsonl"))
    parser.add_argument("--cells", nargs="+", default=[*PAPER, "judge/people50"])
    parser.add_argument("--methods", nargs="+", default=["standard", "cross-fit"])
    parser.add_argument("--ablations", nargs="+", default=[""], choices=list(ABLATIONS))
    parser.add_argument("--seeds", nargs="+", type=int, default=[0])
    parser.add_argument("--detectors", action="store_true", help="measure every detector on the trained networks, too")
    parser.add_argument("--held-out", action="store_true", help="choose on training images that are held out")
    args = parser.parse_args()
    lines = args.out.read_text(encoding="utf-8").splitlines() if args.out.exists() else []
    keys = ("cell", "method", "ablation", "seed")
    done = {tuple(json.loads(line)[key] for key in keys) for line in lines}
    world = load_world(args.data, args.features)
    for seed in args.seeds:
        for cell in args.cells:
            trial = trial_of(cell, world, args.held_out)
            for method in args.methods:
                for ablation in args.ablations:
                    if (cell, method, ablation, seed) in done or (ablation and method != "cross-fit"):
                        continue
                    record = measure(cell, method, ablation, seed, trial, args.detectors)
                    with args.out.open("a", encoding="utf-8") as file:
                        file.write(json.dumps(record) + "\n")
                    print(json.dumps(record), flush=True)


if __name__ == "__main__":
    main()
