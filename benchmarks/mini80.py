"""Train methods on mini80, the reduced CIFAR80N, and keep the figures of every run as a line of results/mini80.jsonl.

    python -m benchmarks.mini80 --data data --groups methods details savings long

Runs that stand in the file already are not repeated; those that were cut are resumed from their folder. Each is one
``lond train`` on one thread. ``python -m benchmarks.mini80_table`` writes the tables of docs/results.md from the file.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from lond.io.json_files import json_line, read_json, read_json_lines

OUT = Path("results/mini80.jsonl")
NOISES = ("sym50", "asym40")
FIGURES = ("accuracy", "auroc", "fpr95", "clean_precision", "clean_recall", "corrected_accuracy")
VERDICTS = ("verdict_mislabelled_f1", "verdict_foreign_f1")


@dataclass(frozen=True)
class Trial:
    """One run: its group, noise, method and seed, and the settings that it changes."""

    group: str
    noise: str
    method: str
    seed: int
    changes: dict[str, str] = field(default_factory=dict)
    label: str = ""
    """What the changes are, in a word."""
    preset: str = "mini80"

    @property
    def name(self) -> str:
        """Name of the run and of its folder."""
        return "-".join(filter(None, [self.noise, self.method, self.label, f"seed{self.seed}"]))

    def command(self, data: Path, folder: Path) -> list[str]:
        """Return the command that trains it."""
        options = [word for key, value in self.changes.items() for word in ("--set", f"{key}={value}")]
        preset = ["--preset", f"{self.preset}-{self.noise}", "--method", self.method, "--seed", str(self.seed)]
        return ["train", *preset, "--root", str(data), "--threads", "1", "--out", str(folder), *options]


RELEASED = {"settings.details": "released", "optimiser.plan": "late-cosine"}
SAVINGS = {
    "survey_targets": "true",
    "consistency_on_supervised": "true",
    "contrast_on_supervised": "true",
    "identify_every": "2",
    "one_view_targets": "true",
    "contrast_every": "4",
    "consistency_every": "4",
}
COMBINED = {
    "every-four": ("one_view_targets", "contrast_every", "consistency_every"),
}
"""Savings tried together, by name."""
LONGER = (
    *("standard", "cross-fit", "lond-drs", "sed", "dividemix"),
    *("npn-hard", "npn-soft", "jo-src", "disc", "co-teaching", "ngc", "nce", "cir-plus", "unicon"),
)
"""Methods that are trained for 120 epochs: those of the paper's regime, and those below cross-entropy in 30."""
AFFECTED = ("cross-fit", "sed", "npn-hard", "npn-soft", "cir-plus", "unicon", "jo-src")
"""Methods whose defaults differ from version 0.1.0, or that it did not have."""
SECOND = (
    *((noise, "standard", seed) for seed in range(3) for noise in NOISES),
    *(("sym50", "co-teaching", seed) for seed in (0, 1)),
    *(("sym50", "co-teaching-plus", seed) for seed in (0, 1)),
    *((noise, "cross-fit", seed) for seed in (1, 2) for noise in NOISES),
)
"""More runs of cross-entropy, beside which methods are judged, and of methods within five points of LOND-DRS."""


def trials() -> list[Trial]:
    """Return every run that there is, in the order in which they are trained."""
    found = [Trial("methods", noise, "lond-drs", seed) for seed in range(3) for noise in NOISES]
    found += [Trial("details", noise, "lond-drs", seed, RELEASED, "released") for seed in (0, 1) for noise in NOISES]
    found += [Trial("methods", noise, method, 0) for method in AFFECTED for noise in NOISES]
    found += [Trial("methods", *run) for run in SECOND]
    found += [Trial("methods", noise, "lond-drs-fast", seed) for seed in range(3) for noise in NOISES]
    found += [
        Trial("savings", noise, "lond-drs", 0, {f"settings.savings.{name}": value}, name.replace("_", "-"))
        for name, value in SAVINGS.items()
        for noise in NOISES
    ]
    found += [
        Trial("savings", "sym50", "lond-drs", 0, {f"settings.savings.{name}": SAVINGS[name] for name in names}, label)
        for label, names in COMBINED.items()
    ]
    whole = {"train.batch_size": "128"}
    found += [
        Trial("savings", noise, "lond-drs-fast", seed, whole, "batches-of-128") for seed in range(3) for noise in NOISES
    ]
    more = {**whole, "settings.savings.survey_targets": SAVINGS["survey_targets"]}
    found += [Trial("savings", noise, "lond-drs-fast", 0, more, "batches-of-128-survey-targets") for noise in NOISES]
    found += [
        Trial("savings", noise, "cross-fit", 0, {"settings.strong_views": "false"}, "one-view") for noise in NOISES
    ]
    found += [
        Trial("savings", noise, "cross-fit", seed, {"settings.judge_epochs": "2"}, "judge-every-2")
        for seed in range(3)
        for noise in NOISES
    ]
    long = [*((method, 0) for method in LONGER), ("cross-fit", 1)]
    found += [Trial("long", noise, *run, label="long", preset="mini80-long") for run in long for noise in NOISES]
    return found


def line_of(trial: Trial, folder: Path) -> dict[str, Any]:
    """Return what is kept of a finished run: means over its last epochs, and the curves."""
    told = read_json(folder / "metrics.json")
    log = list(read_json_lines(folder / "log.jsonl"))
    metrics, verdicts = told["metrics"], told.get("verdicts", {})
    return {
        "name": trial.name,
        "group": trial.group,
        "noise": trial.noise,
        "method": trial.method,
        "label": trial.label,
        "seed": trial.seed,
        "changes": trial.changes,
        "epochs": told["epochs"],
        "mean_over_last": told["mean_over_last"],
        **{name: metrics[name] for name in FIGURES if name in metrics},
        **{name: verdicts[name] for name in VERDICTS if name in verdicts},
        "curves": {name: [round(record[name], 4) for record in log] for name in ("accuracy", "auroc")},
        "command": "lond " + " ".join(trial.command(Path("data"), Path("runs/mini80") / trial.name)),
    }


def main() -> None:
    """Train what is missing."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=Path("data"), help="folder that holds cifar-100-python")
    parser.add_argument("--runs", type=Path, default=Path("runs/mini80"), help="folder of the runs")
    parser.add_argument("--groups", nargs="+", default=["methods", "details", "savings", "long"])
    parser.add_argument("--names", nargs="+", help="only these runs")
    parser.add_argument("--finished", action="store_true", help="train nothing; keep what is finished")
    parser.add_argument("--out", type=Path, default=OUT)
    asked = parser.parse_args()
    kept = {line["name"] for line in read_json_lines(asked.out)} if asked.out.is_file() else set()
    for trial in trials():
        chosen = trial.group in asked.groups and (not asked.names or trial.name in asked.names)
        folder = asked.runs / trial.name
        if not chosen or trial.name in kept or (asked.finished and not (folder / "metrics.json").is_file()):
            continue
        if not asked.finished:
            subprocess.run([sys.executable, "-m", "lond.cli", *trial.command(asked.data, folder)], check=True)
        line = line_of(trial, folder)
        with asked.out.open("a", encoding="utf-8") as file:
            file.write(json_line(line))
        print(json.dumps({key: line[key] for key in ("name", "accuracy", "auroc")}), flush=True)


if __name__ == "__main__":
    main()
