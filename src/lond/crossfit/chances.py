"""From evidence to probabilities: how likely an image is clean, wrongly labelled or foreign.

``chances.json`` holds a small network, fitted once on sets with many kinds of noise whose truth is known. Its inputs
are what is known of an image and what is known of the set.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

import torch
from torch import Tensor

from lond.crossfit.evidence import LabelEvidence

CLEAN, WRONG, OUTSIDE = 0, 1, 2
"""Columns of the probabilities."""

FOREIGN_FROM, FOREIGN_FROM_DECIDED = 0.65, 0.5
"""P(foreign) from which on an image is called so, without decisions and with enough that correct the chances."""

ENOUGH_DECISIONS = 50
"""Decisions that are enough; with half of them, the limit lies halfway between the two."""

MOST_DISAGREEMENT = 0.75
"""Share of labels that models contradict, beyond which no image is called foreign: of the 1,826 fitted sets seven lay
above, and with labels that say so little nothing tells foreign images from wrong labels."""

DOUBTED_FROM = 0.4
"""P(wrong), among what is not foreign, from which on a label is called wrong."""

Spread = tuple[tuple[float, float], tuple[float, float]]
"""How far a true rate lay below and above its estimate: a + b d each, with the doubt d in the probabilities."""

REACH = 4.0
"""Standard deviations from its mean in the fitted sets beyond which an input counts as if it were there."""

ROWS = 65_536
"""Images that are computed at a time."""


@dataclass(frozen=True)
class ChanceTable:
    """The fitted network, and what its probabilities are worth.

    ``image`` and ``whole`` name the D inputs; ``mean`` and ``scale`` ``(D,)`` are theirs in the fitted sets. ``inner``
    ``(D, H)`` and ``inner_offsets`` ``(H,)`` belong to the hidden layer, ``weights`` ``(H, 3)`` and ``offsets``
    ``(3,)`` to the last one. ``suggestion`` are offset and slopes of the confidence of suggestions, ``spread`` the
    errors of the rates of "wrong", "foreign" and "either".
    """

    image: tuple[str, ...]
    whole: tuple[str, ...]
    mean: Tensor
    scale: Tensor
    inner: Tensor
    inner_offsets: Tensor
    weights: Tensor
    offsets: Tensor
    suggestion: tuple[float, float, float]
    spread: dict[str, Spread]


NETWORK = ("mean", "scale", "inner", "inner_offsets", "weights", "offsets")
"""The tensors of a table."""


def table_of(content: dict[str, Any]) -> ChanceTable:
    """Return the table that a JSON object holds."""
    offset, of_wrong, of_share = content["suggestion"]
    return ChanceTable(
        image=tuple(content["image"]),
        whole=tuple(content["whole"]),
        suggestion=(offset, of_wrong, of_share),
        spread={kind: ((low[0], low[1]), (high[0], high[1])) for kind, (low, high) in content["spread"].items()},
        **{name: torch.tensor(content[name], dtype=torch.float32) for name in NETWORK},
    )


@cache
def load_table() -> ChanceTable:
    """Return the table that comes with the package."""
    return table_of(json.loads(files("lond.crossfit").joinpath("chances.json").read_text(encoding="utf-8")))


def inputs(
    image: Mapping[str, Tensor], whole: Mapping[str, float], names: tuple[str, ...], whole_names: tuple[str, ...]
) -> Tensor:
    """Return the inputs of the network ``(N, D)``: the named columns ``(N,)``, then the named numbers of the set."""
    columns = [image[name] for name in names]
    columns += [torch.full_like(columns[0], whole[name]) for name in whole_names]
    return torch.stack(columns, dim=1)


def logits(rows: Tensor, table: ChanceTable) -> Tensor:
    """Return the outputs of the network ``(N, 3)``, whose softmax are the probabilities, of inputs ``(N, D)``."""
    usual = ((rows - table.mean) / table.scale).clamp(-REACH, REACH)
    return torch.tanh(usual @ table.inner + table.inner_offsets) @ table.weights + table.offsets


def chances(found: LabelEvidence, table: ChanceTable) -> Tensor:
    """Return P(clean), P(wrong) and P(foreign), ``(N, 3)``."""
    parts = [slice(start, start + ROWS) for start in range(0, max(1, len(found.label)), ROWS)]
    columns = ({name: values[part] for name, values in found.image.items()} for part in parts)
    rows = (inputs(part, found.whole, table.image, table.whole) for part in columns)
    return torch.cat([torch.softmax(logits(part, table), dim=1) for part in rows])


def confidence(found: LabelEvidence, wrong: Tensor, table: ChanceTable) -> Tensor:
    """Return how likely the suggested class is the true one, ``(N,)``, from P(wrong) ``(N,)``."""
    offset, of_wrong, of_share = table.suggestion
    return torch.sigmoid(offset + of_wrong * bounded_logit(wrong) + of_share * bounded_logit(found.share))


def bounded_logit(chance: Tensor) -> Tensor:
    """Return log-odds of chances, which count as at least .005 and at most .995."""
    return torch.logit(chance.clamp(0.005, 0.995))


def called_foreign(chance: Tensor, limit: float = FOREIGN_FROM) -> Tensor:
    """Return which images ``(N,)`` are called foreign by chances ``(N, 3)``."""
    return chance[:, OUTSIDE] > limit


def called_wrong(chance: Tensor, foreign: Tensor) -> Tensor:
    """Return which labels ``(N,)`` are called wrong by chances ``(N, 3)``; never those of images called foreign."""
    known = chance[:, CLEAN] + chance[:, WRONG]
    return (chance[:, WRONG] > DOUBTED_FROM * known) & ~foreign
