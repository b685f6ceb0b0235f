"""The audit of CIFAR80N on frozen features: classifier, detector, verdicts, time, memory, and other tools beside it.

    python benchmarks/audit_cifar80n.py --root DATA --noise sym20 [--seed 0] [--size 224] [--peers] [--out FILE]

Features of all 60,000 images are computed once and kept in --cache. Accuracy, AUROC and FPR95 are those of the model
trained on all 50,000 noisy images, after their last epoch, on the 10,000 test images; precision, recall and F1 are of
the verdicts on the training images. Peers (cleanlab 2.x with datasets, to be installed) see the same
features, labels and folds; their class probabilities come from a linear softmax regression. Nothing is chosen here.
"""

from __future__ import annotations

import argparse
import json
import resource
import tempfile
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch
import torch.nn.functional as F
from audit_peers import Opinion, cleanlab_opinions, figures, linear_probe, neighbour_opinions
from store import machine, store
from torch import Tensor

from lond.audit.judge.learn import Learning, learn
from lond.audit.judge.rates import told_rates
from lond.config import to_dict, with_overrides
from lond.crossfit.chances import CLEAN, OUTSIDE, WRONG
from lond.crossfit.judgement import Judgement
from lond.data.feature_views import FeaturePixels
from lond.evaluate import evaluate_predictions, verdict_quality
from lond.frozen.extractor import Extractor, ExtractorSettings
from lond.frozen.read import FeatureReader
from lond.presets.benchmarks import preset
from lond.presets.changes import with_root
from lond.presets.for_audit import for_audit
from lond.runs.data import load_data
from lond.train.runtime import RuntimeSettings
from lond.types import Request, Samples, Verdict

TIMED = 512
"""Images whose extraction is timed anew, whatever the cache holds."""


def with_features(samples: Samples, cache: Path, settings: ExtractorSettings) -> Samples:
    """Return the samples with the features of the frozen network in place of pixels."""
    facts = FeatureReader(cache, torch.device("cpu")).read(samples, settings)
    return replace(samples, pixels=FeaturePixels(facts.features))


def extraction_rate(samples: Samples, settings: ExtractorSettings) -> float:
    """Return images (all views of each) a second."""
    extractor = Extractor(settings)
    (images,) = samples.pixels.stream([Request(torch.arange(TIMED))])
    extractor(images[0, :64])
    began = time.perf_counter()
    for batch in images[0].split(64):
        extractor(batch)
    return TIMED / (time.perf_counter() - began)


def heads_seconds(folder: Path) -> dict[str, float]:
    """Return the seconds of training (identification included) of every run below a folder."""
    found = {}
    for log in sorted(folder.glob("*/log.jsonl")):
        epochs = [json.loads(line)["seconds"] for line in log.read_text().splitlines()]
        found[log.parent.name] = sum(epoch["train"] + epoch["identify"] for epoch in epochs)
    return found


def quality(judgement: Judgement, train: Samples) -> dict[str, Any]:
    """Return how good the verdicts and rates of a judgement are."""
    assert train.true_labels is not None
    names = {True: Verdict.MISLABELLED, False: Verdict.CLEAN}
    rows = zip(judgement.foreign.tolist(), judgement.wrong.tolist(), strict=True)
    verdicts = [Verdict.FOREIGN if foreign else names[wrong] for foreign, wrong in rows]
    rates = told_rates(judgement, train.class_names)
    chances = judgement.chances
    known = chances[:, WRONG] / (chances[:, CLEAN] + chances[:, WRONG])
    opinion = Opinion(known, chances[:, OUTSIDE], judgement.wrong, judgement.foreign)
    foreign = train.true_labels < 0
    return {
        "verdicts": verdict_quality(verdicts, train.labels, train.true_labels),
        "rates": {name: rates[name] for name in ("wrong", "foreign", "either")},
        "true_rates": {
            "wrong": float(((train.labels != train.true_labels) & ~foreign).float().mean()),
            "foreign": float(foreign.float().mean()),
        },
        "false_alarms": float(judgement.foreign[~foreign].float().mean()),
        "ours": figures(opinion, train.labels, train.true_labels),
    }


def measure(options: argparse.Namespace) -> dict[str, Any]:
    """Run one cell."""
    torch.set_num_threads(options.threads)
    settings = ExtractorSettings(size=options.size, mirrored=options.views == 2)
    train, test, _ = load_data(with_root(preset(f"cifar80n-{options.noise}"), options.root))
    assert test is not None
    assert train.true_labels is not None
    speed = extraction_rate(train, settings)
    cache = Path(options.cache)
    train, test = with_features(train, cache, settings), with_features(test, cache, settings)
    config = for_audit("heads", len(train), options.size, settings, seed=options.seed, cache=None)
    config = with_overrides(config, dict(text.split("=", 1) for text in options.set))
    features = torch.from_numpy(train.pixels.values).float().mean(dim=1)  # type: ignore[attr-defined]
    began = time.perf_counter()
    with tempfile.TemporaryDirectory() as folder:
        runtime = RuntimeSettings("cpu", threads=options.threads)
        learned = learn(train, features, config, Path(folder), runtime, Learning())
        seconds = {"audit": time.perf_counter() - began, **heads_seconds(Path(folder))}
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    assert learned.run is not None
    result = {
        "noise": options.noise,
        "seed": options.seed,
        "extractor": to_dict(settings),
        "config": to_dict(config),
        "machine": machine(),
        "test": evaluate_predictions(learned.run.predict(test), test.labels),
        "seconds": seconds,
        "images_a_second_extraction": speed,
        "peak_bytes": peak,
        **quality(learned.judgement, train),
    }
    division = learned.judgement.folds
    return {**result, **(peers(train, F.normalize(features, dim=1), division, options.seed) if options.peers else {})}


def peers(train: Samples, features: Tensor, division: Tensor, seed: int) -> dict[str, Any]:
    """Return how good other tools are on the same features, labels and folds."""
    assert train.true_labels is not None
    probe = linear_probe(features, train.labels, division, train.num_classes, seed)
    opinions = cleanlab_opinions(train.labels, probe, features) | neighbour_opinions(train.labels, features)
    return {name: figures(opinion, train.labels, train.true_labels) for name, opinion in opinions.items()}


def main() -> None:
    """Read the options and measure."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--root", required=True, help="folder with cifar-100-python")
    parser.add_argument("--noise", required=True, choices=("sym20", "sym80", "asym40", "sym50"))
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--size", type=int, default=224)
    parser.add_argument("--views", type=int, default=2, choices=(1, 2))
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--cache", default="runs/features")
    parser.add_argument("--set", action="append", default=[], metavar="KEY=VALUE", help="a setting of the heads")
    parser.add_argument("--peers", action="store_true")
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    store(measure(options), options.out)


if __name__ == "__main__":
    main()
