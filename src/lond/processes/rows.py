"""Work on the rows of a batch, divided among processes, with gradients."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from lond.processes.batch_rows import BatchRows, OwnRows
from lond.processes.group import ProcessGroup, current_group

Outputs = tuple[Tensor, ...]


def by_rows(function: Callable[[Tensor], Outputs], inputs: Tensor) -> Outputs:
    """Return ``function(inputs)``, each process having run its share of the rows if several work together.

    Batch normalisation and dropout within the function see the whole batch. Gradients are those of one process once
    they are averaged over all processes, if the loss is computed by every one of them. A batch with fewer rows than
    processes is run whole by all.

    Examples:
        >>> (doubled,) = by_rows(lambda rows: (2 * rows,), torch.ones(3))
        >>> doubled.tolist()
        [2.0, 2.0, 2.0]

    Args:
        function: maps ``(B, ...)`` to tensors of B rows, each row by itself but for normalisation and dropout.
        inputs: the whole batch ``(B, ...)``, the same in all processes.
    """
    group = current_group()
    if group is None or len(inputs) < group.processes:
        with OwnRows():
            return function(inputs)
    with BatchRows(group, len(inputs)):
        parts = function(inputs[group.rows(len(inputs))])
    gather: Callable[..., Tensor] = _GatherRows.apply
    return tuple(gather(part, len(inputs), group) for part in parts)


def share_rows(function: Callable[[slice], Outputs], total: int) -> Outputs:
    """Return tensors of ``total`` rows, made by calls for slices of them; no gradients.

    Examples:
        >>> (squares,) = share_rows(lambda rows: (torch.arange(5)[rows] ** 2,), 5)
        >>> squares.tolist()
        [0, 1, 4, 9, 16]
    """
    group = current_group()
    if group is None:
        return function(slice(0, total))
    return tuple(group.gather(part, total) for part in function(group.rows(total)))


class _GatherRows(torch.autograd.Function):
    """All rows, of which each process made its own."""

    @staticmethod
    def forward(ctx: Any, rows: Tensor, total: int, group: ProcessGroup) -> Tensor:
        ctx.group, ctx.total = group, total
        return group.gather(rows.detach(), total)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, None, None]:
        # Every process computes the same loss, and the runtime averages: so a row counts as often as there are others.
        return gradient[ctx.group.rows(ctx.total)] * ctx.group.processes, None, None
