"""Evidence: the outputs of a frozen network, and the rows that a detector is fitted on."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
import torch
from torch import Tensor

from lond.errors import DataError

BLOCK_ROWS = 4096
"""Rows scored at a time by detectors that need large intermediate results."""

_COLUMNS = ("features", "logits", "labels", "embeddings", "class_scores")


@dataclass(frozen=True)
class Evidence:
    """Outputs of a frozen network for N images.

    ``features`` is ``(N, D)``, the direct input of the last layer; ``logits`` ``(N, C)`` (one-vs-all networks: the log
    odds of each class); ``labels`` ``(N,)`` given labels, rows with a negative label are left out of every fit;
    ``maps`` the outputs of the last two blocks before pooling, ``(N, C1, H1, W1)`` and ``(N, C2, H2, W2)``, earlier
    block first; ``embeddings`` ``(N, E)`` and ``class_scores`` ``(N, C)``, projections and their similarity to learned
    prototypes, of networks that have them. Parts that a detector does not use may be None; NumPy arrays become tensors.

    Examples:
        >>> evidence = Evidence(logits=torch.zeros(5, 3), labels=torch.tensor([0, 1, 2, 0, -1]))
        >>> evidence.logits.shape
        torch.Size([5, 3])
    """

    features: Tensor | None = None
    logits: Tensor | None = None
    labels: Tensor | None = None
    maps: tuple[Tensor, Tensor] | None = None
    embeddings: Tensor | None = None
    class_scores: Tensor | None = None

    def __post_init__(self) -> None:
        """Convert NumPy arrays to tensors, and check that all parts have the same number of images."""
        for name in _COLUMNS:
            object.__setattr__(self, name, _as_tensor(getattr(self, name), name))
        if self.maps is not None:
            object.__setattr__(self, "maps", tuple(_as_tensor(value, "maps") for value in self.maps))
        if torch.compiler.is_compiling():
            # A graph for any number of images must not ask for it.
            return
        lengths = {name: len(value) for name in _COLUMNS if (value := getattr(self, name)) is not None}
        lengths |= {f"maps[{i}]": len(value) for i, value in enumerate(self.maps or ())}
        if len(set(lengths.values())) > 1:
            raise ValueError(f"the parts of the evidence differ in length: {lengths}")


def _as_tensor(value: object, name: str) -> Tensor | None:
    if value is None or isinstance(value, Tensor):
        return value
    if isinstance(value, np.ndarray) and value.dtype.kind in "biuf":
        # A copy: PyTorch takes neither negative strides nor arrays that must not be written.
        return torch.from_numpy(value.astype(value.dtype.newbyteorder("="), order="C"))
    kind = f"an array of {value.dtype}" if isinstance(value, np.ndarray) else f"a {type(value).__name__}"
    raise DataError(f"{name} must be a tensor or a NumPy array of numbers, not {kind}")


def trusted_only(evidence: Evidence, mask: Tensor) -> Evidence:
    """Return the evidence of the images selected by a boolean mask ``(N,)``.

    A noisy training set contains wrong labels and foreign images. To fit a detector only on samples judged clean, fit
    it on ``trusted_only(evidence, partition.clean)``; to fit it on all samples, use the evidence itself.

    Raises:
        DataError: the mask is not boolean, or its length differs from that of the evidence.

    Examples:
        >>> evidence = Evidence(logits=torch.zeros(3, 2), labels=torch.tensor([0, 1, 1]))
        >>> trusted_only(evidence, torch.tensor([True, False, True])).labels.tolist()
        [0, 1]
    """
    if mask.dtype != torch.bool or mask.ndim != 1:
        raise DataError(f"the mask of trusted samples must be boolean (N,), not {mask.dtype} {tuple(mask.shape)}")

    def chosen(values: Tensor) -> Tensor:
        if len(values) != len(mask):
            raise DataError(f"the mask of trusted samples has {len(mask)} rows, the evidence {len(values)}")
        return values[mask.to(values.device)]

    columns = {name: chosen(value) for name in _COLUMNS if (value := getattr(evidence, name)) is not None}
    maps = None if evidence.maps is None else (chosen(evidence.maps[0]), chosen(evidence.maps[1]))
    return replace(evidence, maps=maps, **columns)


def part(evidence: Evidence, name: str) -> Tensor:
    """Return a part of the evidence.

    Raises:
        ValueError: it is missing.
    """
    value = getattr(evidence, name)
    if not isinstance(value, Tensor):
        raise ValueError(f"this detector needs {name}; the evidence holds none")
    return value


def fit_rows(evidence: Evidence, name: str) -> Tensor:
    """Return a part of the evidence for a fit without labels: all rows but those with a negative label.

    Raises:
        DataError: no row is left, or a value is not finite.
    """
    values = part(evidence, name)
    known = None if evidence.labels is None else (evidence.labels >= 0).to(values.device)
    if known is not None and not known.all():
        values = values[known]
    if not len(values):
        raise DataError("there is no sample to fit the detector on: none was given, none trusted or none labelled")
    # The extremes show any NaN or infinity; isfinite() would need twice the memory of the values.
    if not all(extreme.isfinite() for extreme in values.aminmax()):
        raise DataError(f"the {name} to fit the detector on are not finite; check for a diverged model")
    return values


def labelled(evidence: Evidence, name: str) -> tuple[Tensor, Tensor]:
    """Return a part of the evidence and the labels, for rows with a label in ``0..C-1``.

    Raises:
        DataError: no row is left, a value is not finite, or a label has no logit.
    """
    given = part(evidence, "labels")
    values = fit_rows(evidence, name)
    labels = given[given >= 0].to(values.device)
    if name == "logits" and int(labels.max()) >= values.shape[1]:
        raise DataError(f"there is a label {int(labels.max())}, but logits of only {values.shape[1]} classes")
    return values, labels


def in_blocks(function: Callable[[Tensor], Tensor], values: Tensor, rows: int = BLOCK_ROWS) -> Tensor:
    """Return ``function`` of ``values`` (N, ...), a few rows at a time, so that memory stays bounded."""
    if torch.compiler.is_compiling():
        # In a graph the number of blocks would be fixed.
        return function(values)
    return torch.cat([function(block) for block in values.split(max(1, rows))])


def joined(parts: list[tuple[Evidence, Tensor]]) -> Evidence:
    """Return the evidence of several batches, with their labels, as one.

    Raises:
        DataError: there is no batch.
    """
    if not parts:
        raise DataError("there is no batch to fit the detector on")

    columns = {
        name: torch.cat([getattr(evidence, name) for evidence, _ in parts])
        for name in _COLUMNS
        if name != "labels" and getattr(parts[0][0], name) is not None
    }
    return replace(Evidence(labels=torch.cat([labels for _, labels in parts])), maps=None, **columns)
