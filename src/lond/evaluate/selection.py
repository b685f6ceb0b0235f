"""How good a partition of the training set is, where the truth is known."""

from __future__ import annotations

import math

from torch import Tensor

from lond.evaluate.arrays import Values, as_classes
from lond.types import FOREIGN, Partition


def selection_quality(partition: Partition, given: Values, true: Values) -> dict[str, float]:
    """Compare a partition with the truth.

    The truth: a sample is clean if ``true == given``, open if ``true == FOREIGN``, and closed if it belongs to a
    known class other than the given one.

    Args:
        partition: What an identification decided about N samples.
        given: ``(N,)`` int64 given labels, in ``0..C-1``.
        true: ``(N,)`` int64 true labels, ``FOREIGN`` for images of no known class.

    Returns:
        For each set ``clean``, ``closed`` and ``open``: ``<set>_precision``, ``<set>_recall`` and ``<set>_share``
        (of all N); ``corrected_accuracy``, the share of truly known samples among those judged closed whose
        corrected label is the true one; ``label_accuracy``, the share of the clean set whose label to train on
        is the true one. NaN where the denominator is empty.

    Raises:
        ValueError: If the lengths differ, or a label is no whole number.

    Examples:
        >>> import torch
        >>> clean, closed = torch.tensor([True, True, False]), torch.tensor([False, False, True])
        >>> partition = Partition(clean, closed, clean & closed, torch.ones(3), torch.tensor([0, 1, 0]))
        >>> found = selection_quality(partition, [0, 1, 1], [0, 0, 0])
        >>> found["clean_precision"], found["clean_recall"]
        (0.5, 1.0)
    """
    given, true = as_classes(given, "given"), as_classes(true, "true")
    if not (partition.clean.shape == given.shape == true.shape):
        raise ValueError(
            "partition, given and true must be (N,) and equally long: "
            f"{tuple(partition.clean.shape)}, {tuple(given.shape)}, {tuple(true.shape)}"
        )
    partition, given, true = partition.to("cpu"), given.cpu(), true.cpu()
    known = true >= 0
    truth = {"clean": known & (true == given), "closed": known & (true != given), "open": true == FOREIGN}
    judged = {"clean": partition.clean, "closed": partition.closed, "open": partition.open}

    quality: dict[str, float] = {}
    for name, chosen in judged.items():
        quality[f"{name}_precision"] = _share(truth[name], chosen)
        quality[f"{name}_recall"] = _share(chosen, truth[name])
        quality[f"{name}_share"] = float(chosen.double().mean()) if len(chosen) else math.nan
    right = partition.corrected == true
    quality["corrected_accuracy"] = _share(right, partition.closed & known)
    quality["label_accuracy"] = _share(right, partition.clean)
    return quality


def _share(hits: Tensor, among: Tensor) -> float:
    """Return the share of ``hits`` within the rows marked by ``among``, NaN if it marks none."""
    return float(hits[among].double().mean()) if bool(among.any()) else math.nan
