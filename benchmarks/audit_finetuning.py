"""Heads on frozen features beside fine-tuning of the whole network, on the same few noisy images.

    python benchmarks/audit_finetuning.py --root DATA [--images 1000] [--size 96] [--epochs 6] [--threads 2] [--out F]

A random part of mini80's images (16 known classes, noise as named) at their full 32 pixels, trained on as an audit does
and with its ``--finetune``; accuracy, AUROC and seconds after the last epoch, on all test images. Nothing is chosen.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch
from audit_cifar80n import with_features
from store import machine, store

from lond.audit.to_learn import learned_from
from lond.data.pixels import ArrayPixels
from lond.data.read.cifar import read_cifar100
from lond.data.resized import at_side
from lond.data.split import take
from lond.evaluate import evaluate_predictions
from lond.frozen.extractor import ExtractorSettings
from lond.presets.benchmarks import preset
from lond.presets.changes import with_root
from lond.presets.for_audit import TrainingKind, for_audit
from lond.runs import train_samples
from lond.runs.data import load_data
from lond.seeds import generator
from lond.train.runtime import RuntimeSettings
from lond.types import Samples

FIGURES = ("accuracy", "auroc", "fpr95")
CLASSES = 20
"""Classes of mini80, the unknown ones included."""
WAYS: tuple[TrainingKind, ...] = ("heads", "finetune")


def full_size(samples: Samples, root: str, split: str) -> Samples:
    """Return samples of mini80 with the 32 x 32 pixels that they were reduced from."""
    whole = read_cifar100(Path(root), split)
    images = whole.images[whole.labels < CLASSES]
    assert len(images) == len(samples)
    return replace(samples, pixels=ArrayPixels(images))


def measure(options: argparse.Namespace) -> dict[str, Any]:
    """Train in all ways and measure."""
    torch.set_num_threads(options.threads)
    train, test, _ = load_data(with_root(preset(f"mini80-{options.noise}"), options.root))
    assert test is not None
    train, test = full_size(train, options.root, "train"), full_size(test, options.root, "test")
    order = torch.randperm(len(train), generator=generator(options.seed, "part"))
    train = take(train, order[: options.images])
    extractor = ExtractorSettings(size=options.size)
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        features, seen = (with_features(part, Path(folder), extractor) for part in (train, test))
        for way in WAYS:
            epochs = options.epochs if way == "finetune" else 0
            samples = learned_from(way, train, features.pixels.values, extractor)  # type: ignore[attr-defined]
            side = samples.pixels.size[0]
            config = for_audit(way, len(samples), side, extractor, epochs, options.seed, None)
            began = time.perf_counter()
            runtime = RuntimeSettings("cpu", threads=options.threads)
            run = train_samples(config, samples, None, None, runtime, show_progress=False).run
            seconds = time.perf_counter() - began
            images = seen if way == "heads" else replace(test, pixels=at_side(test.pixels, side))
            figures = evaluate_predictions(run.predict(images), test.labels)
            chosen = {key: figures[key] for key in FIGURES}
            rows.append({"training": way, "epochs": config.train.epochs, "seconds": seconds, **chosen})
    facts = {name: getattr(options, name) for name in ("noise", "seed", "images", "size")}
    return {**facts, "machine": machine(), "rows": rows}


def main() -> None:
    """Read the options and measure."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--root", required=True, help="folder with cifar-100-python")
    parser.add_argument("--noise", default="asym40", choices=("sym50", "asym40"))
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--images", type=int, default=1000)
    parser.add_argument("--size", type=int, default=96, help="side in pixels of the frozen and fine-tuned network")
    parser.add_argument("--epochs", type=int, default=6, help="of the fine-tuning")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    store(measure(options), options.out)


if __name__ == "__main__":
    main()
