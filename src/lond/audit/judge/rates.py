"""The estimated rates of a set and of its classes, as the summary and the page tell them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch

from lond.crossfit.chances import CLEAN
from lond.crossfit.judgement import Judgement
from lond.crossfit.rates import EstimatedRate

KINDS = ("wrong", "foreign", "either")
"""The rates that a summary tells."""


def told_rates(judgement: Judgement, names: Sequence[str]) -> dict[str, Any]:
    """Return the rates to show: overall, and one entry a class with its number of images.

    All are shares of the labelled images, and those of the classes, weighted by their images, add up to the overall
    ones. A rate is None where there is no labelled image.
    """
    classes = []
    for place, name in enumerate(names):
        members = judgement.labels == place
        own = {"class": name, "images": int(members.sum())}
        classes.append(own | _plain(judgement.rates(members) if members.any() else {}))
    return _plain(judgement.rates()) | {"by_class": classes}


def _plain(rates: dict[str, EstimatedRate]) -> dict[str, Any]:
    return {kind: rates[kind]._asdict() if kind in rates else None for kind in KINDS}


def known_scores(judgement: Judgement, scores: torch.Tensor, rows: torch.Tensor) -> torch.Tensor:
    """Return scores spread like those of known images, about as many as there are, sorted.

    Each of the images at ``rows`` ``(M,)`` with ``scores`` ``(M,)`` counts as far as it is likely to be clean: it is
    drawn at even steps of that weight.
    """
    weights = judgement.chances[rows, CLEAN].double()
    order = scores.argsort()
    total = weights[order].cumsum(dim=0)
    count = int(total[-1].round()) if len(total) else 0
    steps = (torch.arange(count, dtype=torch.float64) + 0.5) / max(count, 1) * (total[-1] if count else 0)
    return scores[order][torch.searchsorted(total, steps).clamp_max(max(len(scores) - 1, 0))]
