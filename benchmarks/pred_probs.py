"""What probabilities of one's own (``lond audit --pred-probs``) do to an audit, where they or the features say little.

Run as ``python -m benchmarks.pred_probs --data DATA --features FEATURES --out results/pred_probs.json``; see
``noise_bench/sources.py`` for the two folders. Telling features are those of the frozen network, poor ones a random
projection of them to eight numbers. Probabilities are out-of-fold ones of a logistic regression on either of them.
Each entry is the AUROC for wrong labels among known images, and for foreign ones: of the audit without probabilities,
of ``1 - p(given label)`` and ``1 - max p`` alone, and of the audit with them. The constants of
``lond.crossfit.beside`` were chosen on CIFAR-100's test images and on digits; figures are those of JUDGE cells, which
hold training images.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

import numpy as np
import torch
from benchmarks.noise_bench.cells import Cell, make
from benchmarks.noise_bench.opinion import Task
from benchmarks.noise_bench.peers import regression_probabilities
from benchmarks.noise_bench.sources import Floats, load_world
from benchmarks.noise_bench.specs import cells
from benchmarks.store import machine, store
from numpy.typing import NDArray
from sklearn.metrics import roc_auc_score

from lond.crossfit.beside import with_probabilities
from lond.crossfit.chances import CLEAN, OUTSIDE, WRONG
from lond.crossfit.judgement import Judgement, judge_labels

CELLS = (
    *("people10", "people25", "uniform20+f10", "pair20+f10"),
    *("superclass30+f8", "weak30+f10", "tail", "folder12x100uniform"),
)
POOR_DIRECTIONS = 8
KINDS = ("telling", "poor")


def poor(features: Floats) -> Floats:
    """Return a random projection to a few directions."""
    directions = np.random.default_rng(0).normal(size=(features.shape[1], POOR_DIRECTIONS))
    return (features @ directions / np.sqrt(features.shape[1])).astype(np.float32)


def measured(cell: Cell, wrong: NDArray[Any], foreign: NDArray[Any]) -> dict[str, float | None]:
    """Return both areas of a cell; None where a cell has no foreign images."""
    known, outside = cell.true >= 0, cell.true < 0
    mistaken = (cell.true != cell.given)[known]
    return {
        "wrong": round(float(roc_auc_score(mistaken, wrong[known])), 4),
        "foreign": round(float(roc_auc_score(outside, foreign)), 4) if outside.any() else None,
    }


def of_judgement(cell: Cell, said: Judgement) -> dict[str, float | None]:
    """Return both areas of a judgement."""
    clean, wrong, foreign = (said.chances[:, place].numpy() for place in (CLEAN, WRONG, OUTSIDE))
    return measured(cell, wrong / np.maximum(clean + wrong, 1e-9), foreign)


def entries(cell: Cell) -> list[dict[str, Any]]:
    """Return the figures of a cell, for each kind of features with each kind of probabilities."""
    given = torch.from_numpy(cell.given)
    features = dict(zip(KINDS, (cell.features, poor(cell.features)), strict=True))
    tasks = {
        kind: Task(values, cell.given, cell.classes, cell.test_features, cell.spec.seed)
        for kind, values in features.items()
    }
    probabilities = {kind: regression_probabilities(task) for kind, task in tasks.items()}
    found = []
    for kind, values in features.items():
        without = judge_labels(torch.from_numpy(values), given, cell.classes, seed=cell.spec.seed)
        for other, chances in probabilities.items():
            beside = with_probabilities(without, torch.from_numpy(chances).float())
            alone = measured(cell, 1 - chances[np.arange(len(given)), cell.given], 1 - chances.max(axis=1))
            found.append(
                {
                    "cell": cell.spec.name,
                    "features": kind,
                    "probabilities": other,
                    "without": of_judgement(cell, without),
                    "alone": alone,
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
    world = load_world(options.data, options.features)
    chosen = [spec for spec in cells("judge") if spec.name in CELLS]
    found = [entry for spec in chosen for entry in entries(make(spec, world))]
    store({"command": "python -m benchmarks.pred_probs", "machine": machine(), "entries": found}, options.out)


if __name__ == "__main__":
    main()
