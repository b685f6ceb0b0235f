"""What resolution, views and heads bring on frozen features of CIFAR80N: accuracy and AUROC on the test images.

    python benchmarks/audit_features.py --root DATA --noise asym40 [--seed 0] [--threads 2] [--out FILE]

For every combination of 112 or 224 pixels and one or two views: a softmax regression on the noisy labels, the heads of
LOND-DRS with their own foreign score, and as an audit trains them, with the witness's. Nothing is chosen here.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

import torch
import torch.nn.functional as F
from audit_cifar80n import with_features
from audit_peers import linear_probe
from store import machine, store
from torch import Tensor

from lond.evaluate import evaluate_predictions
from lond.frozen.extractor import ExtractorSettings
from lond.methods import LondDrs
from lond.presets.benchmarks import preset
from lond.presets.changes import with_root
from lond.presets.features import on_features
from lond.runs import train_samples
from lond.runs.data import load_data
from lond.train.runtime import RuntimeSettings
from lond.types import Prediction, Samples

FIGURES = ("accuracy", "auroc", "fpr95")


def unit_features(samples: Samples) -> Tensor:
    """Return the unit mean of the views of every image, ``(N, D)``."""
    values = torch.from_numpy(samples.pixels.values)  # type: ignore[attr-defined]
    return F.normalize(values.float().mean(dim=1), dim=1)


def probe(train: Samples, test: Samples, seed: int) -> Prediction:
    """Return what a softmax regression on the noisy labels says of the test images; its score is one minus MSP."""
    features = torch.cat([unit_features(part) for part in (train, test)])
    labels = torch.cat([train.labels, torch.zeros_like(test.labels)])
    division = torch.cat([torch.full_like(train.labels, -1), torch.zeros_like(test.labels)])
    told = linear_probe(features, labels, division, train.num_classes, seed)[len(train) :]
    return Prediction(told, 1 - told.amax(dim=1), features[len(train) :], told.log())


def heads(train: Samples, test: Samples, seed: int, threads: int) -> dict[str, Prediction]:
    """Return what heads trained on all noisy images say of the test images, by their own score and the witness's.

    The witness shares nothing with the heads, so that the same training serves both.
    """
    runtime = RuntimeSettings("cpu", threads=threads)
    config = on_features(len(train), seed=seed)
    run = train_samples(config, train, None, None, runtime, show_progress=False).run
    both = {"heads and witness": run.predict(test)}
    assert isinstance(run.method, LondDrs)
    run.method.witness = None
    return {"heads": run.predict(test), **both}


def measure(options: argparse.Namespace) -> dict[str, Any]:
    """Measure all combinations."""
    torch.set_num_threads(options.threads)
    data = load_data(with_root(preset(f"cifar80n-{options.noise}"), options.root))
    rows = []
    for size in (112, 224):
        for views in (1, 2):
            settings = ExtractorSettings(size=size, mirrored=views == 2)
            assert data[1] is not None
            train, test = (with_features(part, Path(options.cache), settings) for part in data[:2] if part is not None)
            told = {
                "softmax regression": probe(train, test, options.seed),
                **heads(train, test, options.seed, options.threads),
            }
            for name, prediction in told.items():
                found = evaluate_predictions(prediction, test.labels)
                rows.append({"size": size, "views": views, "model": name, **{key: found[key] for key in FIGURES}})
    return {"noise": options.noise, "seed": options.seed, "machine": machine(), "rows": rows}


def main() -> None:
    """Read the options and measure."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--root", required=True, help="folder with cifar-100-python")
    parser.add_argument("--noise", required=True, choices=("sym20", "sym80", "asym40", "sym50"))
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--cache", default="runs/features")
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    store(measure(options), options.out)


if __name__ == "__main__":
    main()
