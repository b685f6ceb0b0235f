"""From evidence to probabilities: how likely an image is clean, wrongly labelled or foreign.

The table of coefficients (``chances.json``) is a multinomial logistic regression, fitted once on sets with many kinds
of noise whose truth is known. It weighs what is known of an image, what is known of the set, and some products.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

import torch
from torch import Tensor

from lond.crossfit.evidence import LabelEvidence

CLEAN, WRONG, OUTSIDE = 0, 1, 2
"""Columns of the probabilities."""

FOREIGN_FROM = 0.65
"""P(foreign) from which on an image is called so."""

MOST_DISAGREEMENT = 0.75
"""Share of labels that models contradict, beyond which no image is called foreign: the table was fitted on sets of up
to 0.66, and with labels that say so little nothing tells foreign images from wrong labels."""

DOUBTED_FROM = 0.45
"""P(wrong), among what is not foreign, from which on a label is called wrong."""

Spread = tuple[tuple[float, float], tuple[float, float]]
"""How far a true rate lay below and above its estimate: a + b d each, with the doubt d in the probabilities."""


@dataclass(frozen=True)
class ChanceTable:
    """The fitted coefficients.

    ``image`` and ``whole`` name inputs, of which those in ``crossed_image`` and ``crossed_whole`` are multiplied with
    each other too. ``weights`` are ``(inputs, 3)``, ``offsets`` ``(3,)``. ``suggestion`` are offset and slopes of the
    confidence of suggestions, ``spread`` the errors of the rates of "wrong", "foreign" and "either".
    """

    image: tuple[str, ...]
    whole: tuple[str, ...]
    crossed_image: tuple[str, ...]
    crossed_whole: tuple[str, ...]
    weights: Tensor
    offsets: Tensor
    suggestion: tuple[float, float, float]
    spread: dict[str, Spread]


def table_of(content: dict[str, Any]) -> ChanceTable:
    """Return the table that a JSON object holds."""
    offset, of_wrong, of_share = content["suggestion"]
    return ChanceTable(
        tuple(content["image"]),
        tuple(content["whole"]),
        tuple(content["crossed_image"]),
        tuple(content["crossed_whole"]),
        torch.tensor(content["weights"]),
        torch.tensor(content["offsets"]),
        (offset, of_wrong, of_share),
        {kind: ((below[0], below[1]), (above[0], above[1])) for kind, (below, above) in content["spread"].items()},
    )


@cache
def load_table() -> ChanceTable:
    """Return the table that comes with the package."""
    return table_of(json.loads(files("lond.crossfit").joinpath("chances.json").read_text(encoding="utf-8")))


def inputs(found: LabelEvidence, table: ChanceTable) -> Tensor:
    """Return what the table weighs, ``(N, inputs)``."""
    count = len(found.label)
    columns = [found.image[name] for name in table.image]
    columns += [torch.full((count,), found.whole[name]) for name in table.whole]
    columns += [found.image[a] * found.whole[b] for a in table.crossed_image for b in table.crossed_whole]
    return torch.stack(columns, dim=1)


def chances(found: LabelEvidence, table: ChanceTable) -> Tensor:
    """Return P(clean), P(wrong) and P(foreign), ``(N, 3)``."""
    return torch.softmax(inputs(found, table) @ table.weights + table.offsets, dim=1)


def confidence(found: LabelEvidence, wrong: Tensor, table: ChanceTable) -> Tensor:
    """Return how likely the suggested class is the true one, ``(N,)``, from P(wrong) ``(N,)``."""
    offset, of_wrong, of_share = table.suggestion
    return torch.sigmoid(offset + of_wrong * bounded_logit(wrong) + of_share * bounded_logit(found.share))


def bounded_logit(chance: Tensor) -> Tensor:
    """Return log-odds of chances, which count as at least .005 and at most .995."""
    return torch.logit(chance.clamp(0.005, 0.995))


def called_foreign(chance: Tensor) -> Tensor:
    """Return which images ``(N,)`` are called foreign by chances ``(N, 3)``."""
    return chance[:, OUTSIDE] > FOREIGN_FROM


def called_wrong(chance: Tensor, foreign: Tensor) -> Tensor:
    """Return which labels ``(N,)`` are called wrong by chances ``(N, 3)``; never those of images called foreign."""
    known = chance[:, CLEAN] + chance[:, WRONG]
    return (chance[:, WRONG] > DOUBTED_FROM * known) & ~foreign
