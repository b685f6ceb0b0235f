"""Try settings on images: classes 20-39 of CIFAR-100 in the manner of mini80, judged on held-out training images.

    python -m benchmarks.mini80_choices --data data --noise sym50 --name one-view --set settings.strong_views=false

Classes 36-39 are the unknown ones. Neither mini80's classes nor any test image is looked at. Every trial is one line of
results/mini80_choices.jsonl.
"""

from __future__ import annotations

import argparse
import time
from dataclasses import replace
from pathlib import Path

import torch

from lond.config import with_overrides
from lond.data.benchmarks import reduced
from lond.data.noise import NoiseSettings, add_noise
from lond.data.pixels import ArrayPixels
from lond.data.read.cifar import CifarImages, read_cifar100
from lond.evaluate import evaluate_predictions
from lond.io.json_files import json_line
from lond.presets.benchmarks import preset
from lond.runs import train_samples
from lond.train.runtime import RuntimeSettings
from lond.types import FOREIGN, Samples

OUT = Path("results/mini80_choices.jsonl")
NOISES = {"sym50": NoiseSettings("symmetric", 0.5, 0.2), "asym40": NoiseSettings("asymmetric", 0.4, 0.2)}
FIRST, CLASSES = 20, 20
"""The classes that choices are made on."""
HELD = 100
"""Images of each class that are held out."""


def divided(images: CifarImages) -> tuple[CifarImages, CifarImages]:
    """Return the images to train on and those held out, of the classes that choices are made on, numbered from 0."""
    kept = (images.labels >= FIRST) & (images.labels < FIRST + CLASSES)
    names = images.class_names[FIRST : FIRST + CLASSES]
    own = reduced(CifarImages(images.images[kept], images.labels[kept] - FIRST, names), CLASSES)
    held = torch.zeros(len(own.labels), dtype=torch.bool)
    for label in range(CLASSES):
        held[(own.labels == label).nonzero().squeeze(1)[-HELD:]] = True
    return tuple(CifarImages(own.images[part], own.labels[part], names) for part in (~held, held))  # type: ignore[return-value]


def samples_of(images: CifarImages, labels: torch.Tensor, truth: torch.Tensor, known: int) -> Samples:
    """Return images with given and true labels as samples."""
    ids = tuple(f"{number:05d}" for number in range(len(labels)))
    return Samples(ArrayPixels(images.images), labels, images.class_names[:known], ids, truth)


def main() -> None:
    """Train once and add a line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=Path("data"), help="folder that holds cifar-100-python")
    parser.add_argument("--noise", choices=list(NOISES), default="sym50")
    parser.add_argument("--preset", choices=["mini80", "mini80-long"], default="mini80")
    parser.add_argument("--method", default="cross-fit")
    parser.add_argument("--name", default="", help="what the settings are, in a word")
    parser.add_argument("--set", action="append", default=[], metavar="KEY=VALUE", help="settings to change")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out", type=Path, default=OUT)
    asked = parser.parse_args()
    train, held = divided(read_cifar100(asked.data, "train"))
    noisy = add_noise(train.labels, CLASSES, NOISES[asked.noise])
    known = int(noisy.manifest["known_classes"])
    truth = torch.where(held.labels < known, held.labels, FOREIGN)
    config = with_overrides(
        preset(f"{asked.preset}-{asked.noise}", asked.method), dict(pair.split("=", 1) for pair in asked.set)
    )
    config = replace(config, train=replace(config.train, seed=asked.seed))
    began = time.process_time()
    trained = train_samples(
        config,
        samples_of(train, noisy.labels, noisy.true_labels, known),
        None,
        None,
        RuntimeSettings("cpu", threads=1),
    )
    figures = evaluate_predictions(trained.run.predict(samples_of(held, truth, truth, known)), truth)
    line = {
        "preset": asked.preset,
        "noise": asked.noise,
        "method": asked.method,
        "name": asked.name,
        "seed": asked.seed,
        "changes": asked.set,
        "accuracy": round(float(figures["accuracy"]), 4),
        "auroc": round(float(figures["auroc"]), 4),
        "cpu_seconds": round(time.process_time() - began),
    }
    with asked.out.open("a", encoding="utf-8") as file:
        file.write(json_line(line))
    print(line, flush=True)


if __name__ == "__main__":
    main()
