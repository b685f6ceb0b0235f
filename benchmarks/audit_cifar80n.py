"""The audit of CIFAR80N on frozen features: classifier, detector, verdicts, time, memory, and other tools beside it.

    python benchmarks/audit_cifar80n.py --root DATA --noise sym20 [--seed 0] [--size 224] [--peers] [--out FILE]

Features of all 60,000 images are computed once and kept in --cache. Accuracy, AUROC and FPR95 are those of the heads
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
from audit_peers import Opinion, cleanlab_opinions, figures, linear_probe, neighbour_opinions
from store import machine, store
from torch import Tensor

from lond.audit.judge.folds import default_folds, fold_of
from lond.audit.judge.learn import judged, learn, unit_features
from lond.audit.judge.out_of_fold import AUDIT_FALSE_ALARM_RATE, calibrate_out_of_fold, true_classes
from lond.audit.judge.voters import MOST_VOTERS
from lond.audit.rates.estimate import RateSettings, estimate_rates
from lond.config import to_dict, with_overrides
from lond.data.feature_views import FeaturePixels
from lond.evaluate import evaluate_predictions, verdict_quality
from lond.frozen.extractor import Extractor, ExtractorSettings
from lond.frozen.read import FeatureReader
from lond.identify import Neighbours, judge, nearest_neighbours
from lond.presets.benchmarks import preset
from lond.presets.changes import with_root
from lond.presets.features import on_features
from lond.runs.data import load_data
from lond.train.runtime import RuntimeSettings
from lond.types import Prediction, Request, Samples, Verdict

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


def quality(prediction: Prediction, train: Samples) -> dict[str, Any]:
    """Return verdicts and rates of an audit from what unseeing judges say, and how good they are."""
    assert train.true_labels is not None
    calibration = calibrate_out_of_fold(train.labels, prediction, AUDIT_FALSE_ALARM_RATE)
    truths = true_classes(train.labels, prediction, calibration)
    threshold = torch.inf if calibration is None else calibration.threshold
    verdicts = judge(train.labels, truths.argmax(dim=1), prediction.scores, threshold)
    rates = estimate_rates(
        train.labels,
        prediction.probabilities,
        verdicts,
        train.class_names,
        None if calibration is None else calibration.p_values(prediction.scores),
        RateSettings(calibration=None if calibration is None else len(calibration.known_scores)),
    )
    flags = [torch.tensor([verdict == kind for verdict in verdicts]) for kind in (Verdict.MISLABELLED, Verdict.FOREIGN)]
    own = truths.gather(1, train.labels[:, None]).squeeze(1)
    opinion = Opinion(1 - own, prediction.scores, *flags)
    foreign = train.true_labels < 0
    return {
        "verdicts": verdict_quality(verdicts, train.labels, train.true_labels),
        "rates": {name: rates.as_dict()[name] for name in ("closed", "open")},
        "true_rates": {
            "closed": float((train.labels != train.true_labels)[~foreign].float().mean()),
            "open": float(foreign.float().mean()),
        },
        "false_alarms": float(flags[1][~foreign].float().mean()),
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
    config = with_overrides(
        on_features(len(train), seed=options.seed), dict(text.split("=", 1) for text in options.set)
    )
    folds = default_folds(len(train))
    features = unit_features(train.pixels.values)  # type: ignore[attr-defined]
    began = time.perf_counter()
    with tempfile.TemporaryDirectory() as folder:
        runtime = RuntimeSettings("cpu", threads=options.threads)
        learned = learn(train, features, config, Path(folder), runtime, folds=folds)
        seconds = {"audit": time.perf_counter() - began, **heads_seconds(Path(folder))}
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    told = learned.prediction
    if options.judged:
        torch.save((told.probabilities, told.scores), options.judged)
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
        **quality(told, train),
    }
    return {**result, **(peers(train, features, options.seed) if options.peers else {})}


def peers(train: Samples, features: Tensor, seed: int) -> dict[str, Any]:
    """Return how good other tools are on the same features, labels and folds."""
    assert train.true_labels is not None
    division = fold_of(train.labels, default_folds(len(train)), seed)
    probe = linear_probe(features, train.labels, division, train.num_classes, seed)
    opinions = cleanlab_opinions(train.labels, probe, features) | neighbour_opinions(train.labels, features)
    return {name: figures(opinion, train.labels, train.true_labels) for name, opinion in opinions.items()}


def rejudge(options: argparse.Namespace, near: Neighbours | None = None) -> dict[str, Any]:
    """Return the stored result with scores, verdicts and rates anew, without any training."""
    train, _, _ = load_data(with_root(preset(f"cifar80n-{options.noise}"), options.root))
    settings = ExtractorSettings(size=options.size, mirrored=options.views == 2)
    seen = with_features(train, Path(options.cache), settings)
    features = unit_features(seen.pixels.values)  # type: ignore[attr-defined]
    probabilities = torch.load(options.judged)[0]
    if near is None:
        near = nearest_neighbours(features, MOST_VOTERS, include_self=False)
    told = judged(Prediction(probabilities, probabilities, probabilities, probabilities.log()), train.labels, near)
    result: dict[str, Any] = json.loads(options.out.read_text()) | quality(told, train)
    return result | (peers(train, features, options.seed) if options.peers else {})


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
    parser.add_argument("--judged", type=Path, help="file to keep out-of-fold probabilities and scores in")
    parser.add_argument(
        "--rejudge", action="store_true", help="renew scores, verdicts, rates and peers in --out, from --judged"
    )
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    store(rejudge(options) if options.rejudge else measure(options), options.out)


if __name__ == "__main__":
    main()
