"""The user's class probabilities from a file or an array, one row per image and one column per class."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from lond.data.read.arrays import texts_of
from lond.data.read.numpy_files import NpzFile
from lond.data.read.rows_by_id import RowKind, read_rows
from lond.errors import DataError, counted

PROBABILITIES = RowKind(
    "row of probabilities",
    "probabilities",
    keys=("pred_probs", "probabilities"),
    columns=("pred_probs", "probabilities"),
    files=(
        ".npy (N, C), .npz with 'pred_probs' and perhaps 'ids' and 'classes', "
        "or .parquet with 'pred_probs' and 'id' or 'path'"
    ),
)

OFF_ONE = 0.01
"""How far a row's sum may lie from one; half precision and few printed digits stay below."""

NAMED = 8
"""Classes that an error names."""


def read_probabilities(path: Path | str | NDArray[Any] | Tensor, ids: Sequence[str], classes: Sequence[str]) -> Tensor:
    """Return probabilities ``(N, C)`` float32 of the images with these ids, classes in the given order.

    Columns stand in the order of ``classes``. An ``.npz`` file may name its own order under ``classes``.

    Raises:
        DataError: the file cannot be read, lacks an image or a class, or rows are no probabilities.

    Examples:
        >>> read_probabilities(np.array([[0.9, 0.1], [0.5, 0.5]]), ids=("a.jpg", "b.jpg"), classes=("cat", "dog")).shape
        torch.Size([2, 2])
    """
    origin, order = "pred_probs", None
    if isinstance(path, str | Path):
        path = Path(path)
        origin, order = str(path), _named_classes(path)
        path = read_rows(path, ids, PROBABILITIES)
    try:
        values = torch.as_tensor(np.asarray(path)).detach().float() if not isinstance(path, Tensor) else path.float()
    except (TypeError, ValueError) as error:
        raise DataError(f"{origin} must be numbers (N, C): {error}") from error
    values = values.detach().cpu()
    if values.shape != (len(ids), len(classes)):
        raise DataError(
            f"{origin} has the shape {tuple(values.shape)}; {len(ids)} images and {len(classes)} classes need "
            f"{(len(ids), len(classes))}, columns in this order: {_few(classes)}"
        )
    _check(values, ids, origin)
    values = values if order is None else values[:, _columns(order, classes, origin)]
    return values / values.sum(dim=1, keepdim=True)


def _check(values: Tensor, ids: Sequence[str], origin: str) -> None:
    """Check that every row holds probabilities."""
    for bad, why in (
        (~values.isfinite().all(dim=1), "holds NaN or infinite values"),
        ((values < 0).any(dim=1), "holds negative values; give probabilities, not logits"),
        ((values.sum(dim=1) - 1).abs() > OFF_ONE, "does not sum to one; give probabilities, not logits"),
    ):
        if bad.any():
            place = int(bad.nonzero()[0])
            raise DataError(f"{origin}: the row of {ids[place]!r} {why} ({counted(int(bad.sum()), 'such row')})")


def _named_classes(path: Path) -> tuple[str, ...] | None:
    if path.suffix.lower() != ".npz" or not path.is_file():
        return None
    with NpzFile(path) as content:
        return texts_of(content["classes"], path) if "classes" in content else None


def _columns(order: Sequence[str], classes: Sequence[str], origin: str) -> list[int]:
    """Return for each class its column."""
    if len(set(order)) != len(order) or set(order) != set(classes):
        strange = sorted(set(order) ^ set(classes))
        raise DataError(
            f"{origin}: its classes are not those of the images, e.g. {_few(strange)}"
            if strange
            else f"{origin} names a class twice"
        )
    place = {name: column for column, name in enumerate(order)}
    return [place[name] for name in classes]


def _few(names: Sequence[str]) -> str:
    return ", ".join(map(repr, names[:NAMED])) + (f" and {len(names) - NAMED} more" if len(names) > NAMED else "")
