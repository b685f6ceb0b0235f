"""Fit the table of ``lond.crossfit`` on TUNE cells: ``python -m benchmarks.noise_bench.fit --data DIR --features DIR``.

Evidence of every cell is kept in a folder, so that a cut run resumes. Whatever is said about a cell while errors are
measured comes from a network that was fitted without that cell.
"""

from __future__ import annotations

import argparse
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from benchmarks.noise_bench.cells import make
from benchmarks.noise_bench.sources import World, load_world
from benchmarks.noise_bench.specs import Spec, cells, drawn, drawn_wider
from numpy.typing import NDArray
from sklearn.linear_model import LogisticRegression, QuantileRegressor
from torch import Tensor

from lond.crossfit.chances import NETWORK, ChanceTable, bounded_logit, inputs, logits
from lond.crossfit.evidence import gather
from lond.crossfit.features import learn_preparation
from lond.crossfit.folds import fold_of
from lond.crossfit.rates import doubt_in

Floats = NDArray[np.float64]

HIDDEN = 128
"""Units of the hidden layer."""

DECAY, RATE, PASSES, BATCH = 0.1, 4e-3, 20, 2048
"""Weight decay, highest learning rate, passes over the rows and rows of a step of AdamW."""

MOST = 500
"""Images of a cell that are fitted on; every cell counts the same."""

PARTS = 4
"""In how many parts the cells are left out."""

QUANTILES = (0.03, 0.97)
"""Of the errors of rates that an interval spans."""


@dataclass(frozen=True)
class Known:
    """The evidence on one cell and what is true: 0 clean, 1 wrong, 2 foreign."""

    image: dict[str, Tensor]
    whole: dict[str, float]
    share: Tensor
    right: NDArray[np.bool_]
    truth: Tensor


def known(spec: Spec, world: World, folder: Path) -> Known:
    """Return the evidence on a cell, computed once."""
    # The same number is a cell of images or of made-up clusters, by how many are drawn.
    path = folder / f"{spec.name}-{spec.source}.pt"
    if not path.is_file():
        cell = make(spec, world)
        features, given = torch.from_numpy(cell.features), torch.from_numpy(cell.given)
        found = gather(learn_preparation(features)(features), given, cell.classes, fold_of(given, 5, spec.seed))
        true = torch.from_numpy(cell.true)
        truth = torch.where(true < 0, 2, (true != given).long())
        folder.mkdir(parents=True, exist_ok=True)
        content = (found.image, found.whole, found.share, found.suggested == true, truth)
        torch.save(content, path.with_suffix(".part"))
        path.with_suffix(".part").replace(path)
    image, whole, share, right, truth = torch.load(path, weights_only=True)
    return Known(image, whole, share, right.numpy(), truth)


def fit_network(sets: list[Known]) -> ChanceTable:
    """Return the network, in which every set counts the same; confidences and rates are not fitted yet."""
    random = torch.Generator().manual_seed(0)
    picks = [torch.randperm(len(own.truth), generator=random)[:MOST] for own in sets]
    names = tuple(sets[0].image), tuple(sets[0].whole)
    rows = torch.cat([inputs(own.image, own.whole, *names)[pick] for own, pick in zip(sets, picks, strict=True)])
    truth = torch.cat([own.truth[pick] for own, pick in zip(sets, picks, strict=True)])
    counts = torch.cat([torch.full((len(pick),), 1 / len(pick)) for pick in picks])
    mean, scale = rows.mean(dim=0), rows.std(dim=0) + 1e-6
    width = rows.shape[1]
    shapes = (((width, HIDDEN), width), ((HIDDEN,), width), ((HIDDEN, 3), HIDDEN), ((3,), HIDDEN))
    weights = [_uniform(shape, before, random) for shape, before in shapes]
    table = ChanceTable(*names, mean, scale, *weights, (0.0, 0.0, 0.0), {})
    optimiser = torch.optim.AdamW(weights, RATE, weight_decay=DECAY)
    # What a pass leaves over after its last whole batch is left out of it.
    batches = len(rows) // BATCH
    if not batches:
        raise ValueError(f"{len(rows)} images are too few to fit on: a step takes {BATCH}")
    plan = torch.optim.lr_scheduler.OneCycleLR(optimiser, RATE, total_steps=PASSES * batches + 1)
    for _ in range(PASSES):
        for batch in torch.randperm(len(rows), generator=random).split(BATCH)[:batches]:
            missed = F.cross_entropy(logits(rows[batch], table), truth[batch], reduction="none")
            loss = (counts[batch] * missed).mean() / counts.mean()
            optimiser.zero_grad()
            loss.backward()
            optimiser.step()
            plan.step()
    for weight in weights:
        weight.requires_grad_(requires_grad=False)
    return table


def _uniform(shape: tuple[int, ...], before: int, random: torch.Generator) -> Tensor:
    """Return what PyTorch draws for a layer after ``before`` units."""
    return ((2 * torch.rand(shape, generator=random) - 1) / before**0.5).requires_grad_()


def unseen_chances(sets: list[Known]) -> list[Tensor]:
    """Return for every set the probabilities of a network that was fitted without it."""
    found: list[Tensor] = [torch.empty(0)] * len(sets)
    for part in range(PARTS):
        table = fit_network([own for place, own in enumerate(sets) if place % PARTS != part])
        for place in range(part, len(sets), PARTS):
            rows = inputs(sets[place].image, sets[place].whole, table.image, table.whole)
            found[place] = torch.softmax(logits(rows, table), dim=1)
    return found


def fit_suggestion(sets: list[Known], chances: list[Tensor]) -> list[float]:
    """Return offset and slopes of how likely a suggestion is right, every set counting the same."""
    rows = [
        torch.stack([bounded_logit(own[:, 1]), bounded_logit(known.share)], dim=1).numpy()
        for known, own in zip(sets, chances, strict=True)
    ]
    counts = np.concatenate([np.full(len(part), 1 / len(part)) for part in rows])
    model = LogisticRegression(C=1e3).fit(
        np.concatenate(rows), np.concatenate([own.right for own in sets]), counts * len(counts) / counts.sum()
    )
    return [float(model.intercept_[0]), *map(float, model.coef_[0])]


def fit_spread(sets: list[Known], chances: list[Tensor]) -> dict[str, list[list[float]]]:
    """Return for each kind of rate how far the truth lay below and above an estimate: offset and slope each."""
    found = {}
    for kind, wanted in (("wrong", (1,)), ("foreign", (2,)), ("either", (1, 2))):
        said = [own[:, list(wanted)].sum(dim=1).double() for own in chances]
        true = np.array([np.isin(own.truth.numpy(), wanted).mean() for own in sets])
        doubts = np.array([doubt_in(own) for own in said])
        errors = true - np.array([float(own.mean()) for own in said])
        below, above = (_line(doubts, errors, level) for level in QUANTILES)
        found[kind] = [[-value for value in below], above]
    return found


def _line(doubts: Floats, errors: Floats, level: float) -> list[float]:
    model = QuantileRegressor(quantile=level, alpha=0).fit(doubts[:, None], errors)
    return [float(model.intercept_), float(model.coef_[0])]


def fit(sets: list[Known]) -> dict[str, Any]:
    """Return the table as plain values."""
    table = fit_network(sets)
    chances = unseen_chances(sets)
    return {
        "sets": len(sets),
        "image": list(table.image),
        "whole": list(table.whole),
        **{name: _short(getattr(table, name).tolist()) for name in NETWORK},
        "suggestion": [round(value, 4) for value in fit_suggestion(sets, chances)],
        "spread": {
            kind: [[round(value, 4) for value in side] for side in both]
            for kind, both in fit_spread(sets, chances).items()
        },
    }


def _short(values: Any) -> Any:
    """Return numbers, or lists of them, with five digits."""
    return [_short(value) for value in values] if isinstance(values, list) else float(f"{values:.5g}")


def text_of(table: dict[str, Any]) -> str:
    """Return the table as JSON with one line per entry, or per row of a matrix."""
    lines = []
    for name, value in table.items():
        rows = isinstance(value, list) and isinstance(value[0], list)
        text = "[\n  " + ",\n  ".join(map(json.dumps, value)) + "\n ]" if rows else json.dumps(value)
        lines.append(f' "{name}": {text}')
    return "{\n" + ",\n".join(lines) + "\n}\n"


def main() -> None:
    """Compute the evidence of all TUNE cells, fit, and write the table of the package."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--features", type=Path, required=True)
    parser.add_argument("--evidence", type=Path, default=Path("runs/noise_bench/evidence"))
    parser.add_argument("--drawn", type=int, default=600)
    parser.add_argument("--wider", type=int, default=1000)
    parser.add_argument("--out", type=Path, default=Path("src/lond/crossfit/chances.json"))
    given = parser.parse_args()
    world = load_world(given.data, given.features)
    specs = [*cells("tune"), *drawn(given.drawn), *drawn_wider(given.wider)]
    sets = []
    for number, spec in enumerate(specs):
        sets.append(known(spec, world, given.evidence))
        if (number + 1) % 100 == 0 or number + 1 == len(specs):
            print(f"evidence {number + 1} of {len(specs)}", flush=True)
    given.out.write_text(text_of(fit(sets)), encoding="utf-8")
    print(f"table: {given.out}")


if __name__ == "__main__":
    main()
