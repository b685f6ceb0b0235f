"""What probabilities of one's own (``lond audit --pred-probs``) do to an audit, where they or the features say little.

Run as ``python -m benchmarks.pred_probs --data DATA --features FEATURES --out results/pred_probs.json``; see
``noise_bench/sources.py`` for the two folders. Telling features are those of the frozen network, poor ones a random
projection of them to eight numbers. Probabilities are out-of-fold ones of a logistic regression on either of them.
Each entry has AUROCs for wrong labels among known images, and for foreign ones: of the audit without probabilities, of
``1 - p(given label)`` and ``1 - max p`` alone, and of the audit with them. The constants of ``lond.crossfit.beside``
were chosen on digits and on the half of CIFAR-100's classes that is not used here. Foreign images are TinyImageNet's;
labels by people are those of CIFAR-100N.
"""

from __future__ import annotations

import argparse
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from benchmarks.noise_bench.noise import corrupt, labels_of_foreign
from benchmarks.noise_bench.opinion import Task
from benchmarks.noise_bench.peers import regression_probabilities
from benchmarks.noise_bench.sources import Floats, Ints, cifar_pixels, stored_features, unpickled
from benchmarks.store import machine, store
from numpy.typing import NDArray
from sklearn.metrics import roc_auc_score

from lond.crossfit.beside import with_probabilities
from lond.crossfit.chances import CLEAN, OUTSIDE, WRONG
from lond.crossfit.judgement import Judgement, judge_labels

JUDGED = np.random.default_rng(1).permutation(100)[50:]
"""CIFAR-100's classes that nothing was chosen on."""

CELLS = {
    "uniform20": (20, "uniform", 0.2, 0.1),
    "uniform50": (20, "uniform", 0.5, 0.1),
    "pair30": (20, "pair", 0.3, 0.1),
    "superclass30": (30, "superclass", 0.3, 0.1),
    "weak20": (20, "weak", 0.2, 0.1),
    "uniform10 of 5 classes": (5, "uniform", 0.1, 0.1),
    "people": (15, "people", 1.0, 0.0),
}
"""Name -> classes, family of noise, share of wrong labels, share of foreign images."""

PER_CLASS, FOREIGN, POOR_DIRECTIONS = 60, 1500, 8
KINDS = ("telling", "poor")


@dataclass(frozen=True)
class Pool:
    """Features and classes of known images, people's labels of some (-1: none), groups of classes, foreign features."""

    features: Floats
    label: Ints
    people: Ints
    groups: Ints
    foreign: Floats


@dataclass(frozen=True)
class Doubtful:
    """A set of doubtful labels; ``true`` is -1 for foreign images."""

    features: Floats
    given: Ints
    true: Ints
    classes: int


def load_pool(data: Path, folder: Path) -> Pool:
    """Return what cells are drawn from; features that ``folder`` does not hold are extracted and kept there."""
    train = unpickled(data / "cifar-100-python" / "train")
    labels = np.asarray(train[b"fine_labels"], dtype=np.int64)
    groups = np.zeros(100, dtype=np.int64)
    groups[labels] = train[b"coarse_labels"]
    said = np.load(data / "human50.npz")
    people = np.full(len(labels), -1, dtype=np.int64)
    people[said["index"]] = said["human_label"]
    # Images that people labelled come first, so that cells of both kinds share their features.
    order = np.argsort(people < 0, kind="stable")
    rows = np.concatenate([order[labels[order] == own][:PER_CLASS] for own in np.sort(JUDGED)])
    with np.load(data / "tinyimagenet32.npz") as content:
        others = content["x_test"][np.random.default_rng(0).permutation(len(content["x_test"]))[:FOREIGN]]
    return Pool(
        stored_features(folder, "pred_probs_known", cifar_pixels(train)[rows]).astype(np.float32),
        labels[rows],
        people[rows],
        groups,
        stored_features(folder, "pred_probs_foreign", others.transpose(0, 3, 1, 2)).astype(np.float32),
    )


def drawn(name: str, pool: Pool) -> Doubtful:
    """Return the set of a cell."""
    count, family, rate, share = CELLS[name]
    random = np.random.default_rng([10, *name.encode()])
    offered = np.unique(pool.label[pool.people >= 0]) if family == "people" else JUDGED
    chosen = np.sort(random.permutation(offered)[:count])
    place = np.full(100, -1)
    place[chosen] = np.arange(count)
    kept = place[pool.label] >= 0
    if family == "people":
        # A label that is none of the chosen classes cannot be given here.
        kept &= (pool.people >= 0) & (place[pool.people] >= 0)
    features, true = pool.features[kept], place[pool.label[kept]]
    if family == "people":
        return Doubtful(features, place[pool.people[kept]], true, count)
    given = corrupt(features, true, count, pool.groups[chosen], family, rate, random)
    foreign = pool.foreign[random.permutation(len(pool.foreign))[: round(share / (1 - share) * len(true))]]
    named = labels_of_foreign(foreign, np.zeros(len(foreign)), features, true, count, "uniform", random)
    truth = np.concatenate([true, np.full(len(foreign), -1)])
    return Doubtful(np.concatenate([features, foreign]), np.concatenate([given, named]), truth, count)


def poor(features: Floats) -> Floats:
    """Return a random projection to a few directions."""
    directions = np.random.default_rng(0).normal(size=(features.shape[1], POOR_DIRECTIONS))
    return (features @ directions / np.sqrt(features.shape[1])).astype(np.float32)


def measured(cell: Doubtful, wrong: NDArray[Any], foreign: NDArray[Any]) -> dict[str, float | None]:
    """Return both areas of a set; None where it has no foreign images."""
    known, outside = cell.true >= 0, cell.true < 0
    mistaken = (cell.true != cell.given)[known]
    return {
        "wrong": round(float(roc_auc_score(mistaken, wrong[known])), 4),
        "foreign": round(float(roc_auc_score(outside, foreign)), 4) if outside.any() else None,
    }


def of_judgement(cell: Doubtful, said: Judgement) -> dict[str, float | None]:
    """Return both areas of a judgement."""
    clean, wrong, foreign = (said.chances[:, place].numpy() for place in (CLEAN, WRONG, OUTSIDE))
    return measured(cell, wrong / np.maximum(clean + wrong, 1e-9), foreign)


def entries(name: str, cell: Doubtful) -> list[dict[str, Any]]:
    """Return the figures of a cell, for each kind of features with each kind of probabilities."""
    features = dict(zip(KINDS, (cell.features, poor(cell.features)), strict=True))
    probabilities = {
        kind: regression_probabilities(Task(values, cell.given, cell.classes, values[:0]))
        for kind, values in features.items()
    }
    found = []
    for kind, values in features.items():
        without = judge_labels(torch.from_numpy(values), torch.from_numpy(cell.given), cell.classes, seed=1)
        for other, chances in probabilities.items():
            beside = with_probabilities(without, torch.from_numpy(chances).float())
            found.append(
                {
                    "cell": name,
                    "images": len(cell.given),
                    "features": kind,
                    "probabilities": other,
                    "without": of_judgement(cell, without),
                    "alone": measured(cell, 1 - chances[np.arange(len(chances)), cell.given], 1 - chances.max(axis=1)),
                    "with": of_judgement(cell, beside.judgement),
                    "judged_by": "probabilities" if beside.judged else "features",
                    "share": round(beside.share, 2),
                    "wrong_rate": round(float(((cell.true != cell.given) & (cell.true >= 0)).mean()), 4),
                    "wrong_estimate": round(beside.judgement.rates()["wrong"].estimate, 4),
                }
            )
    return found


def main() -> None:
    """Measure all cells."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--features", type=Path, required=True)
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    pool = load_pool(options.data, options.features)
    found = [entry for name in CELLS for entry in entries(name, drawn(name, pool))]
    store({"command": "python -m benchmarks.pred_probs", "machine": machine(), "entries": found}, options.out)


if __name__ == "__main__":
    main()
