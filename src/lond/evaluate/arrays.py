"""Tensors, NumPy arrays and lists of numbers as tensors; anything else is an error that says so."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor

Values = Tensor | np.ndarray | Sequence[Any]
"""What every metric takes: a tensor, a NumPy array, or a list of numbers."""


def as_tensor(values: Values, name: str) -> Tensor:
    """Return values as a tensor without gradient, where they are.

    Raises:
        ValueError: they are not numbers; the message names them.
    """
    if isinstance(values, Tensor):
        return values.detach()
    try:
        array = np.asarray(values)
    except ValueError as error:
        raise ValueError(f"{name} must be an array of numbers: {error}") from error
    if array.dtype.kind not in "biuf":
        raise ValueError(f"{name} must be a tensor or a NumPy array of numbers, not {array.dtype} {array.shape}")
    if not array.size and not isinstance(values, np.ndarray):
        return torch.empty(array.shape, dtype=torch.int64)
    # A copy in this machine's byte order: PyTorch takes neither negative strides nor arrays that must not be written.
    return torch.from_numpy(array.astype(array.dtype.newbyteorder("="), order="C"))


def as_classes(values: Values, name: str) -> Tensor:
    """Return class numbers as a tensor.

    Raises:
        ValueError: they are not whole numbers.
    """
    tensor = as_tensor(values, name)
    if tensor.is_floating_point() or tensor.is_complex():
        raise ValueError(f"{name} must be whole numbers, the positions of classes, not {tensor.dtype}")
    return tensor
