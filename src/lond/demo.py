"""The demonstration: plain cross-entropy and LOND-DRS on scikit-learn's digits, side by side.

8 and 9 are unknown, 40 % of the labels of the other digits are wrong, and every 8 and 9 in the training set carries a
random known label. Nothing is downloaded.
"""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from pathlib import Path

from lond.presets.benchmarks import preset
from lond.presets.changes import with_seed
from lond.results.report import Comparison, write_report
from lond.runs import METRICS, load_data, train_run
from lond.runs.folder import read_json
from lond.train.log import write_json
from lond.train.runtime import RuntimeSettings

METHODS = ("standard", "lond-drs")
REPORT = "report.html"
TITLE = "Digits with unreliable labels"
DATA = "scikit-learn's digits; 8 and 9 are unknown; 40 % of the known digits' labels are wrong, at random"

FIGURES = {
    "accuracy": "accuracy on known digits",
    "auroc": "AUROC of foreign digits",
    "fpr95": "FPR95 (lower is better)",
    "verdict_clean_precision": "verdict clean: precision",
    "verdict_clean_recall": "verdict clean: recall",
    "verdict_mislabelled_precision": "verdict mislabelled: precision",
    "verdict_mislabelled_recall": "verdict mislabelled: recall",
    "verdict_foreign_precision": "verdict foreign: precision",
    "verdict_foreign_recall": "verdict foreign: recall",
}
"""Figures of the demonstration, with their names in the table."""


def run_demo(folder: Path, seeds: Sequence[int], threads: int = 0) -> Comparison:
    """Train both methods with every seed, write figures and report; finished runs are not repeated."""
    runs = {method: [_run(folder, method, seed, threads) for seed in seeds] for method in METHODS}
    means = {method: _means(metrics) for method, metrics in runs.items()}
    write_json(folder / METRICS, {"data": DATA, "seeds": list(seeds), "mean": means, "runs": runs})
    rows = {title: [means[method].get(name) for method in METHODS] for name, title in FIGURES.items()}
    note = "One training seed." if len(seeds) == 1 else f"Means of {len(seeds)} training seeds."
    comparison = Comparison(TITLE, f"{DATA}. {note}", METHODS, rows)
    samples, _, _ = load_data(preset("digits"))
    folders = {method: folder / f"{method}-seed{seeds[0]}" for method in METHODS}
    write_report(folder / REPORT, comparison, samples, folders, judge="lond-drs")
    return comparison


def _run(folder: Path, method: str, seed: int, threads: int) -> dict[str, float]:
    config = with_seed(preset("digits", method), seed)
    run = folder / f"{method}-seed{seed}"
    train_run(config, run, RuntimeSettings(threads=threads))
    outcome = read_json(run / METRICS)
    return {**outcome["metrics"], **outcome["verdicts"]}


def _means(metrics: list[dict[str, float]]) -> dict[str, float]:
    names = [name for name in FIGURES if all(run.get(name) is not None for run in metrics)]
    return {name: statistics.fmean(run[name] for run in metrics) for name in names}
