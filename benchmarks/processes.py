"""Whether several processes give what one gives: losses, selections, verdicts and weights of 1, 2 and 4 processes.

    python -m benchmarks.processes [--out results/processes.json] [--page docs/distributed.md]

Some of scikit-learn's digits with noisy labels are learned by four methods, with the same batches by 1, 2 and 4
processes: as images on a noisy ground, as they are (on a black one), and as features (their pixels in a row). More
runs of one process start from weights that differ in their last digit, to tell what rounding alone does. The table of
the page is written anew.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch
from benchmarks.store import machine, store

from lond.config import NetSettings, RunConfig
from lond.data.feature_views import FeaturePixels
from lond.data.pixels import ArrayPixels
from lond.data.split import take
from lond.presets.options import COMMAND_LINE, stages
from lond.runs import build, load_data, shape_of
from lond.runs.image_tables import judge_samples
from lond.runs.predicted import PredictedSamples, calibrate_on_samples
from lond.seeds import generator
from lond.train import Runtime, RuntimeSettings, Trainer
from lond.train.checkpoint import load_state, save_state
from lond.types import Request, Samples

METHODS = ("lond-drs", "cross-fit", "dividemix", "standard")
INPUTS = ("images", "images on black", "features")
COUNTS = (1, 2, 4)
NUDGED = tuple(f"1 nudged {seed}" for seed in range(5))
"""Runs of one process from weights that differ in their last digit: what rounding alone makes of a run."""
IMAGES, EPOCHS = 120, 2
FALSE_ALARM_RATE = 0.05
START, END = "<!-- processes -->", "<!-- /processes -->"
"""Between these marks stands the table of the page."""


def config_of(method: str, kind: str) -> RunConfig:
    """Return the digits' preset of a method, shortened, at its full learning rate."""
    changes = {"net.width": "0.25", "train.batch_size": "50", "train.average_last": "1"}
    config = stages("", "digits", method, root="data", test="", epochs=EPOCHS, frozen=False, overrides=changes)[
        COMMAND_LINE
    ]
    # So few epochs would be over before the rate of the preset was used.
    config = replace(config, optimiser=replace(config.optimiser, plan="constant", milestones=()))
    return replace(config, net=NetSettings("features", width=0.125)) if kind == "features" else config


def samples_of(config: RunConfig, kind: str) -> Samples:
    """Return the first images of the digits' training set with their noisy labels."""
    samples = take(load_data(config)[0], torch.arange(IMAGES))
    if kind == "images on black":
        return samples
    (pixels,) = next(iter(samples.pixels.stream([Request(torch.arange(IMAGES))])))
    if kind == "images":
        noise = torch.randint(0, 90, pixels.shape, generator=generator(0, "ground"))
        return replace(samples, pixels=ArrayPixels((pixels.int() + noise).clamp_max(255).to(torch.uint8)))
    return replace(samples, pixels=FeaturePixels(pixels.flatten(1).float().numpy() / 255))


@torch.no_grad()
def nudge(module: torch.nn.Module, seed: int) -> None:
    """Move every weight to the next number that float32 knows, up or down at random."""
    random = generator(seed, "nudge")
    for weight in module.parameters():
        signs = torch.randint(0, 2, weight.shape, generator=random) * 2 - 1
        weight.copy_(torch.nextafter(weight, signs * torch.inf))


def trained(method: str, kind: str, runtime: Runtime, *, nudged: int | None = None) -> dict[str, Any]:
    """Train and return what is compared: losses, selection, verdicts, weights."""
    config = config_of(method, kind)
    samples = samples_of(config_of(method, "images"), kind)
    net, views = build(config, shape_of(samples), samples.labels)
    if nudged is not None:
        nudge(net, nudged)
    trainer = Trainer(net, samples, views, config.train, config.optimiser, runtime, show_progress=False)
    history = trainer.run().history
    prediction, partition = trainer.predict(samples), net.partition
    rows = torch.arange(len(samples))
    predicted = PredictedSamples(samples, prediction, rows, rows[:0])
    calibration = calibrate_on_samples(predicted, partition, FALSE_ALARM_RATE)
    verdicts = judge_samples(samples, prediction, None if calibration is None else calibration.threshold)
    return {
        "losses": [record["loss"] for record in history],
        "selection": [] if partition is None else partition.names(),
        "verdicts": [str(verdict) for verdict in verdicts],
        "weights": {name: value for name, value in net.state_dict().items() if value.is_floating_point()},
        "seconds": sum(sum(record["seconds"].values()) for record in history) / len(history),
    }


def work(processes: int, folder: Path) -> None:
    """Train everything with some processes, and keep it; with one, also from nudged weights."""
    runtime = Runtime(RuntimeSettings("cpu", devices=processes, threads=1))
    for method in METHODS:
        for kind in INPUTS:
            found = trained(method, kind, runtime)
            if runtime.is_main:
                save_state(folder / f"{method}-{kind}-{processes}", found)
            if processes == 1:
                for seed, name in enumerate(NUDGED):
                    save_state(folder / f"{method}-{kind}-{name}", trained(method, kind, runtime, nudged=seed))
    runtime.barrier()
    runtime.close()


def compare(folder: Path, method: str, kind: str) -> dict[str, Any]:
    """Return what each number of processes ends with, and how far it is from what one ends with."""
    states = {count: load_state(folder / f"{method}-{kind}-{count}") for count in (*COUNTS, *NUDGED)}
    alone = states[1]
    rows = {}
    for count, state in states.items():
        pairs = list(zip(state["losses"], alone["losses"], strict=True))
        rows[str(count)] = {
            "losses": state["losses"],
            "selected": dict(Counter(state["selection"])),
            "verdicts": dict(Counter(state["verdicts"])),
            "seconds_an_epoch": round(state["seconds"], 3),
            "largest_loss_difference": max(abs(own - other) / abs(other) for own, other in pairs),
            "selections_that_differ": differing(state["selection"], alone["selection"]),
            "verdicts_that_differ": differing(state["verdicts"], alone["verdicts"]),
            "largest_weight_difference": max(
                float((value - alone["weights"][name]).abs().max()) for name, value in state["weights"].items()
            ),
        }
    return {"method": method, "input": kind, "processes": rows}


def differing(found: Sequence[str], wanted: Sequence[str]) -> int:
    """Return how many entries differ."""
    return sum(own != other for own, other in zip(found, wanted, strict=True))


def table(result: dict[str, Any]) -> str:
    """Return the table of the page, in Markdown."""
    lines = [
        "| method | input | loss of the last epoch: 1, 2, 4 processes | selections that differ | verdicts that differ "
        "| relative difference of a loss | difference of a weight |",
        "|---|---|---|---|---|---|---|",
    ]
    for cell in result["cells"]:
        rows = cell["processes"]
        losses = ", ".join(f"{rows[str(count)]['losses'][-1]:.5f}" for count in COUNTS)
        selected = _apart(rows, "selections_that_differ", "d") if rows["1"]["selected"] else "none made"
        verdicts = _apart(rows, "verdicts_that_differ", "d")
        apart, weights = (_apart(rows, f"largest_{what}_difference", ".0e") for what in ("loss", "weight"))
        cells = (f"`{cell['method']}`", cell["input"], losses, selected, verdicts, apart, weights)
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def _apart(rows: dict[str, Any], what: str, form: str) -> str:
    """Return how far 2 and 4 processes are from one, and, in brackets, the farthest of the nudged runs."""
    several = " and ".join(format(rows[str(count)][what], form) for count in COUNTS[1:])
    return f"{several} ({format(max(rows[name][what] for name in NUDGED), form)})"


def with_table(page: str, result: dict[str, Any]) -> str:
    """Return the page with the table of a result between its marks."""
    before, _, rest = page.partition(START)
    return f"{before}{START}\n\n{table(result)}\n\n{END}{rest.partition(END)[2]}"


def main() -> None:
    """Measure, print and store; or train as one of the processes."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, default=Path("results/processes.json"), help="JSON file to write")
    parser.add_argument("--page", type=Path, default=Path("docs/distributed.md"), help="page whose table is written")
    parser.add_argument("--worker", type=int, help=argparse.SUPPRESS)
    parser.add_argument("--folder", type=Path, help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.worker:
        work(args.worker, args.folder)
        return
    with tempfile.TemporaryDirectory() as folder:
        for count in COUNTS:
            command = [sys.executable, "-m", "benchmarks.processes", "--worker", str(count), "--folder", folder]
            subprocess.run(command, check=True)
        cells = [compare(Path(folder), method, kind) for method in METHODS for kind in INPUTS]
    result = {"images": IMAGES, "epochs": EPOCHS, "cells": cells, "machine": {**machine(), "threads": 1}}
    store(result, args.out)
    if args.page.is_file():
        args.page.write_text(with_table(args.page.read_text(encoding="utf-8"), result), encoding="utf-8")


if __name__ == "__main__":
    main()
