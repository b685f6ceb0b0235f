"""The small network between features and outputs."""

from __future__ import annotations

from torch import Tensor, nn


def mlp_head(in_size: int, out_size: int, hidden: int | None = None) -> nn.Sequential:
    """Return Linear - BatchNorm1d - ReLU - Linear, ``(B, in_size)`` to ``(B, out_size)``.

    Args:
        in_size: Length of one feature vector.
        out_size: Number of outputs.
        hidden: Width of the hidden layer, ``in_size`` if None.
    """
    hidden = in_size if hidden is None else hidden
    return nn.Sequential(*hidden_layer(in_size, hidden), nn.Linear(hidden, out_size))


def hidden_layer(in_size: int, hidden: int) -> nn.Sequential:
    """Return Linear - BatchNorm1d - ReLU, ``(B, in_size)`` to ``(B, hidden)``."""
    return nn.Sequential(nn.Linear(in_size, hidden), nn.BatchNorm1d(hidden), nn.ReLU(inplace=True))


def check_batch(batch: Tensor, training: bool) -> None:
    """Check that a training batch has at least two samples, which BatchNorm1d needs.

    Args:
        batch: ``(B, ...)``, whatever its rows are.
        training: Whether the head is in training mode.

    Raises:
        ValueError: If the head is in training mode and B is 1.
    """
    if training and len(batch) == 1:
        raise ValueError("a training batch needs at least 2 samples: batch normalisation cannot work on one")
