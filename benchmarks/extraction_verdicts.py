"""How far the verdicts on labels depend on the frozen network: one view or two, eight-bit integers, larger networks.

    python -m benchmarks.extraction_verdicts --data DIR [--features DIR] [--networks NAMES] [--seeds 2] [--out FILE]

``--data`` holds what the noise bench needs (see docs/noise-bench.md). The same images, labels and folds for every
network; noise that depends on images is made from the features of the first one. Features that ``--features`` holds
are not computed again.
"""

from __future__ import annotations

import argparse
import pickle
import time
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from benchmarks.noise_bench.columns import flag_quality
from benchmarks.noise_bench.noise import corrupt, labels_of_foreign
from benchmarks.store import machine, store
from numpy.typing import NDArray
from sklearn.metrics import roc_auc_score

from lond.crossfit.chances import OUTSIDE, WRONG
from lond.crossfit.judgement import judge_labels
from lond.frozen.extractor import Extractor, ExtractorSettings
from lond.nets import native_size

ONE = ExtractorSettings(mirrored=False)
NETWORKS = {
    "lite0": ONE,
    "lite0, two views": ExtractorSettings(),
    "lite0, int8": replace(ONE, precision="int8"),
    "lite1": replace(ONE, backbone="efficientnet-lite1", size=native_size("efficientnet-lite1")),
    "lite2": replace(ONE, backbone="efficientnet-lite2", size=native_size("efficientnet-lite2")),
    "lite2, int8": replace(
        ONE, backbone="efficientnet-lite2", size=native_size("efficientnet-lite2"), precision="int8"
    ),
}
"""Name -> network."""

PER_CLASS, BATCH = 120, 50
LOW, HIGH = 5, 10
"""Superclasses of CIFAR-100 that images are drawn from."""

MADE = {
    "uniform20+f10": ("uniform", 0.2, 0.1),
    "pair20+f10": ("pair", 0.2, 0.1),
    "weak30+f10": ("weak", 0.3, 0.1),
    "foreign10": ("none", 0.0, 0.1),
    "clean16": ("none", 0.0, 0.0),
}
"""Cell -> family of noise, share of wrong labels, share of foreign images."""

KNOWN = 16
"""Classes of a made cell; the others are foreign."""

Ints = NDArray[np.int64]


@dataclass(frozen=True)
class Pool:
    """Images ``(N, 3, 32, 32)`` with their true classes and what people called them."""

    pixels: NDArray[np.uint8]
    true: Ints
    human: Ints


@dataclass(frozen=True)
class Cell:
    """Some images of the pool with given and true labels; -1 is foreign."""

    name: str
    rows: Ints
    given: Ints
    true: Ints
    classes: int


def load_pool(data: Path) -> Pool:
    """Return images that people labelled, so many of every class that they named."""
    parts = []
    for name in ("train", "test"):
        with (data / "cifar-100-python" / name).open("rb") as file:
            parts.append(pickle.load(file, encoding="latin1"))
    fine, coarse = (np.asarray(parts[1][f"{kind}_labels"]) for kind in ("fine", "coarse"))
    superclass = np.zeros(100, dtype=np.int64)
    superclass[fine] = coarse
    chosen = np.flatnonzero((superclass >= LOW) & (superclass < HIGH))
    human = np.load(data / "human50.npz")
    index, said = human["index"].astype(np.int64), human["human_label"].astype(np.int64)
    random = np.random.default_rng(0)
    rows = np.concatenate([random.permutation(np.flatnonzero(said == kind))[:PER_CLASS] for kind in chosen])
    true = np.asarray(parts[0]["fine_labels"])[index[rows]]
    pixels = np.asarray(parts[0]["data"], dtype=np.uint8).reshape(-1, 3, 32, 32)[index[rows]]
    place = np.full(100, -1)
    place[chosen] = np.arange(len(chosen))
    return Pool(pixels, place[true], place[said[rows]])


def cells_of(pool: Pool, features: NDArray[np.float32], seed: int) -> list[Cell]:
    """Return human labels, and made noise on images whose class is known."""
    found = [Cell("people25", np.arange(len(pool.true)), pool.human, pool.true, int(pool.human.max()) + 1)]
    for name, (family, wrong, foreign) in MADE.items():
        random = np.random.default_rng([seed, *name.encode()])
        order = random.permutation(int(pool.true.max()) + 1)
        place = np.full(len(order), -1)
        place[order[:KNOWN]] = np.arange(KNOWN)
        rows = np.flatnonzero(np.isin(pool.true, order[:KNOWN]))
        true = place[pool.true[rows]]
        given = corrupt(features[rows], true, KNOWN, np.arange(KNOWN) // 3, family, wrong, random)
        others = random.permutation(np.flatnonzero(np.isin(pool.true, order[KNOWN:])))
        others = others[: round(len(rows) * foreign / (1 - foreign))]
        if len(others):
            kinds, kind = pool.true[others], "similar" if family == "weak" else "uniform"
            named = labels_of_foreign(features[others], kinds, features[rows], true, KNOWN, kind, random)
            rows, given = np.concatenate([rows, others]), np.concatenate([given, named])
            true = np.concatenate([true, np.full(len(others), -1)])
        found.append(Cell(name, rows, given, true, KNOWN))
    return found


def judged(cell: Cell, features: NDArray[np.float32], seed: int) -> dict[str, float]:
    """Return how well wrong labels and foreign images are found, and what is doubted where all is clean."""
    found = judge_labels(torch.from_numpy(features[cell.rows]), torch.from_numpy(cell.given), cell.classes, seed=seed)
    foreign, wrong = cell.true < 0, (cell.true >= 0) & (cell.true != cell.given)
    said = {"wrong": found.wrong.numpy(), "foreign": found.foreign.numpy()}
    columns = {"doubted": float((said["wrong"] | said["foreign"]).mean())}
    for name, really, chance in (("wrong", wrong, WRONG), ("foreign", foreign, OUTSIDE)):
        if really.any():
            columns[f"{name}_auroc"] = float(roc_auc_score(really, found.chances[:, chance].numpy()))
            columns[f"{name}_f1"] = float(flag_quality(said[name], really)["f1"] or 0.0)
    return {key: round(100 * value, 2) for key, value in columns.items()}


def features_of(name: str, pool: Pool, folder: Path | None) -> tuple[NDArray[np.float32], float]:
    """Return the features ``(N, D)``, mean over views, and the CPU milliseconds per image."""
    path = None if folder is None else folder / f"{name.replace(', ', '-').replace(' ', '-')}.npz"
    if path is not None and path.exists():
        with np.load(path) as content:
            return content["features"].astype(np.float32), float(content["milliseconds"])
    images = torch.from_numpy(pool.pixels)
    extractor = Extractor(NETWORKS[name])
    extractor(images[:2])
    began = time.process_time()
    parts = [extractor(part).half().float().mean(dim=1) for part in images.split(BATCH)]
    milliseconds = 1000 * (time.process_time() - began) / len(images)
    features = torch.cat(parts).numpy()
    if path is not None:
        path.parent.mkdir(parents=True, exist_ok=True)
        np.savez(path, features=features, milliseconds=milliseconds)
    return features, milliseconds


def measure(data: Path, folder: Path | None, seeds: int, networks: list[str], out: Path | None) -> None:
    """Judge all cells by all networks, and store the result after each."""
    pool = load_pool(data)
    first, _ = features_of("lite0", pool, folder)
    drawn = [(seed, cells_of(pool, first, seed)) for seed in range(seeds)]
    result: dict[str, Any] = {}
    for name in networks:
        features, milliseconds = features_of(name, pool, folder)
        lines = [{"cell": cell.name, "seed": seed} | judged(cell, features, seed) for seed, of in drawn for cell in of]
        columns = sorted({key for line in lines for key in line} - {"cell", "seed", "doubted"})
        means = {key: round(float(np.mean([line[key] for line in lines if key in line])), 2) for key in columns}
        clean = [line["doubted"] for line in lines if line["cell"] == "clean16"]
        means["doubted_of_clean"] = round(float(np.mean(clean)), 2)
        result[name] = {"cpu_ms_an_image": round(milliseconds, 1), "mean": means, "cells": lines}
        store({"images": len(pool.true), "seeds": seeds, "machine": machine(), "networks": result}, out)


def main() -> None:
    """Read the options and measure."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--features", type=Path)
    parser.add_argument("--networks", default=";".join(NETWORKS), help="names with semicolons between them")
    parser.add_argument("--seeds", type=int, default=2)
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    torch.set_num_threads(1)
    measure(options.data, options.features, options.seeds, options.networks.split(";"), options.out)


if __name__ == "__main__":
    main()
