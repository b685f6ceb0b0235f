"""How many decisions of a person halve what an audit leaves wrong, by the order in which images are shown.

Run as ``python -m benchmarks.second_look --data DATA --features FEATURES --out results/second_look.json``; see
``noise_bench/sources.py`` for the two folders. The simulated person always tells the truth, in steps of a few images.
An error is an image that does not end as it should: with its true label, or left out if it is foreign. Decided images
end so; the others by the defaults of ``lond audit`` and ``lond apply``. Judging again after each step ("again") is what
``lond audit --decisions`` does. The order was chosen on the TUNE cells; figures are those of JUDGE cells.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import torch
from benchmarks.noise_bench.cells import Cell, make
from benchmarks.noise_bench.sources import load_world
from benchmarks.noise_bench.specs import Part, cells
from benchmarks.store import machine, store
from torch import Tensor

from lond.crossfit.chances import CLEAN, OUTSIDE
from lond.crossfit.decided import UNDECIDED
from lond.crossfit.folds import count_folds, fold_of
from lond.crossfit.judgement import Judgement, judge_labels

CELLS = ("people10", "pair20+f10", "digits-pair+f10")
STEP, MOST = 0.04, 0.6
"""Shares of the images that are decided at a time, and at most."""

LEAST_CONFIDENCE = 0.5
"""Confidence from which on ``lond apply`` changes a label."""

Order = Callable[[Judgement, torch.Generator], Tensor]
"""Returns how early each image is shown; larger = earlier."""


def doubt(said: Judgement) -> Tensor:
    """Return how unsure each verdict is, ``(N,)``."""
    found = torch.where(said.wrong, 1 - said.confidence, 1 - said.chances[:, CLEAN])
    return torch.where(said.foreign, 1 - said.chances[:, OUTSIDE], found)


def drawn(said: Judgement, random: torch.Generator) -> Tensor:
    """Return a random order."""
    return torch.rand(len(said.labels), generator=random)


def strongest(said: Judgement, random: torch.Generator) -> Tensor:
    """Return the surest of the doubted images first, then the least sure of the others."""
    return torch.where(said.wrong | said.foreign, 2 - doubt(said), doubt(said))


def least_sure(said: Judgement, random: torch.Generator) -> Tensor:
    """Return the least sure verdict first, whatever it says."""
    return doubt(said)


def least_sure_doubts(said: Judgement, random: torch.Generator) -> Tensor:
    """Return the least sure of the doubted images first, then the least sure of the others."""
    return torch.where(said.wrong | said.foreign, 1 + doubt(said), doubt(said))


def with_neighbours(said: Judgement, random: torch.Generator) -> Tensor:
    """Return the least sure verdict first, weighted by how unsure the images are that it is a neighbour of."""
    unsure, near = doubt(said), said.evidence.near.indices[:, :8]
    spoken_for = torch.zeros_like(unsure).index_add_(0, near.reshape(-1), unsure.repeat_interleave(near.shape[1]))
    return unsure * (1 + spoken_for / near.shape[1])


ORDERS: dict[str, Order] = {
    "random": drawn,
    "surest doubts": strongest,
    "least sure": least_sure,
    "least sure doubts": least_sure_doubts,
    "least sure, with neighbours": with_neighbours,
}


def final_labels(said: Judgement) -> Tensor:
    """Return the labels that the defaults of audit and apply leave, -1 for images left out."""
    found = torch.where(said.wrong & (said.confidence >= LEAST_CONFIDENCE), said.evidence.suggested, said.labels)
    return found.masked_fill(said.foreign, -1)


def decisions_and_errors(cell: Cell, order: Order, *, again: bool) -> list[tuple[int, int]]:
    """Return how many errors are left after how many decisions, until half of them are gone."""
    features, given, true = map(torch.from_numpy, (cell.features, cell.given, cell.true))
    folds, random = fold_of(given, count_folds(given), 0), torch.Generator().manual_seed(0)
    decided = torch.full_like(given, UNDECIDED)
    said = judge_labels(features, given, cell.classes, folds=folds)
    curve: list[tuple[int, int]] = []
    while True:
        known = decided != UNDECIDED
        errors = int((torch.where(known, decided, final_labels(said)) != true).sum())
        curve.append((int(known.sum()), errors))
        if errors <= curve[0][1] / 2 or known.float().mean() >= MOST:
            return curve
        early = order(said, random).masked_fill(known, -torch.inf)
        rows = early.topk(round(STEP * len(given))).indices
        decided[rows] = true[rows]
        if again:
            said = judge_labels(features, given, cell.classes, folds=folds, decided=decided)


def decisions_to_halve(curve: list[tuple[int, int]]) -> int | None:
    """Return how many decisions halve the errors, between two steps by the straight line; None if they never are."""
    half = curve[0][1] / 2
    for (before, errors), (after, fewer) in pairwise(curve):
        if fewer <= half:
            return round(before + (after - before) * (errors - half) / max(1, errors - fewer))
    return None


def measure(cell: Cell, orders: dict[str, Order]) -> dict[str, Any]:
    """Return the decisions that each order needs, with and without judging again."""
    rows: dict[str, Any] = {}
    for name, order in orders.items():
        for again in (True, False):
            curve = decisions_and_errors(cell, order, again=again)
            rows[f"{name}{', judged again' if again else ''}"] = {
                "halved_after": decisions_to_halve(curve),
                "curve": curve,
            }
            print(cell.spec.name, name, again, decisions_to_halve(curve), flush=True)
    return {
        "images": len(cell.given),
        "wrong_or_foreign": int((cell.given != cell.true).sum()),
        "errors_without_decisions": next(iter(rows.values()))["curve"][0][1],
        "orders": rows,
    }


def main() -> None:
    """Measure the cells that are asked for."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--data", type=Path, default=Path("data"))
    options.add_argument("--features", type=Path, default=Path("features"))
    options.add_argument("--part", choices=["tune", "judge"], default="judge")
    options.add_argument("--cells", nargs="*", default=list(CELLS))
    options.add_argument("--orders", nargs="*", default=["random", "surest doubts", "least sure", "least sure doubts"])
    options.add_argument("--out", type=Path)
    asked = options.parse_args()
    torch.set_num_threads(1)
    world, part = load_world(asked.data, asked.features), asked.part
    found = measured(world, part, asked.cells, {name: ORDERS[name] for name in asked.orders})
    store({"part": part, "step": STEP, "cells": found, "machine": machine()}, asked.out)


def measured(world: Any, part: Part, names: list[str], orders: dict[str, Order]) -> dict[str, Any]:
    """Return what was measured, by cell."""
    return {spec.name: measure(make(spec, world), orders) for spec in cells(part) if spec.name in names}


if __name__ == "__main__":
    main()
