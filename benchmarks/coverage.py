"""Whether the threshold keeps its promise: false alarms on known images that neither training nor calibration saw.

    python benchmarks/coverage.py RUN [RUN ...] --root DATA --out FILE

The known test images of a run are divided at random: one half sets the threshold (as `lond calibrate` does), the other
half counts false alarms. Printed for every rate: the false alarms of the first split with the binomial 99 % interval
of the rate, and the mean over 200 splits. The split, not the model, is what varies.
"""

from __future__ import annotations

import argparse
import statistics
from pathlib import Path

import torch
from scipy.stats import binom
from store import store

from lond.detect.threshold import threshold_at
from lond.presets.changes import with_root
from lond.runs import load_data, load_run
from lond.seeds import generator

RATES = (0.01, 0.05, 0.1)
SPLITS = 200


def false_alarms(scores: torch.Tensor, rate: float, seed: int) -> float:
    """Return the share of one half above the threshold of the other half."""
    order = torch.randperm(len(scores), generator=generator(seed, "coverage"))
    half = len(scores) // 2
    return float((scores[order[half:]] > threshold_at(scores[order[:half]], rate)).double().mean())


def measure(folder: Path, root: str) -> dict[str, object]:
    """Return the false alarms of one run at every rate."""
    run = load_run(folder)
    test = load_data(with_root(run.config, root))[1]
    assert test is not None
    scores = run.predict(test).scores[test.labels >= 0]
    held = len(scores) - len(scores) // 2
    rows = {}
    for rate in RATES:
        shares = [false_alarms(scores, rate, seed) for seed in range(SPLITS)]
        low, high = (float(bound) / held for bound in binom.interval(0.99, held, rate))
        inside = statistics.fmean(low <= share <= high for share in shares)
        rows[str(rate)] = {
            "first_split": shares[0],
            "binomial_99": [low, high],
            "mean": statistics.fmean(shares),
            "splits_inside": inside,
        }
    return {"run": folder.name, "known_images": len(scores), "rates": rows}


def main() -> None:
    """Measure, print and store."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("runs", nargs="+", type=Path)
    parser.add_argument("--root", default="data", help="folder with the benchmark's files")
    parser.add_argument("--out", type=Path, help="JSON file to write")
    args = parser.parse_args()
    result = [measure(folder, args.root) for folder in args.runs]
    store(result, args.out)


if __name__ == "__main__":
    main()
