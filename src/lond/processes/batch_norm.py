"""Batch normalisation by sums that are accurate, so that they hardly depend on how many processes share the rows.

PyTorch adds up images with channels last on a CPU in float32, all positions of all images one after the other, and
loses up to two digits. Here the same fast loop adds up many short sums, each over some positions of the images, and
those are added up in float64.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from lond.processes.group import ProcessGroup

_aten = torch.ops.aten
_SUMS, _SLOPE_SUMS = 4096, 1024
"""How many short sums of values, and of slopes, are made at once, at most: they must stay in the fastest memory."""


def batch_norm(
    inputs: Tensor,
    running_mean: Tensor | None,
    running_var: Tensor | None,
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    momentum: float = 0.1,
    eps: float = 1e-5,
    *,
    group: ProcessGroup | None = None,
    total: int | None = None,
) -> Tensor:
    """Normalise ``(B, C, ...)`` by the statistics of the batch, as ``F.batch_norm`` does in training mode.

    Examples:
        >>> batch_norm(torch.tensor([[1.0], [3.0]]), None, None, eps=0.0).tolist()
        [[-1.0], [1.0]]

    Args:
        inputs: this process's rows.
        running_mean: updated in place, unless None; so is ``running_var``.
        running_var: see there.
        weight: ``(C,)`` or None.
        bias: ``(C,)`` or None.
        momentum: weight of the new statistics.
        eps: added to the variance.
        group: the processes that share the batch; None if this one has all of it.
        total: rows of all processes; this process's if None.

    Raises:
        ValueError: there is one value per channel only.
    """
    total = len(inputs) if total is None else total
    count = total * (inputs.numel() // (len(inputs) * inputs.shape[1]))
    if count == 1:
        raise ValueError(f"Expected more than 1 value per channel when training, got input size {inputs.shape}")
    normalised: Tensor = _BatchNorm.apply(  # type: ignore[no-untyped-call]
        inputs if _channels_last(inputs) else inputs.contiguous(),
        weight,
        bias,
        (running_mean, running_var, momentum, eps),
        _Share(group, total, count),
    )
    return normalised


@dataclass(frozen=True)
class _Share:
    """A process's part of a batch: among whom it is divided, rows of all, values per channel of all."""

    group: ProcessGroup | None
    total: int
    count: int


class _BatchNorm(torch.autograd.Function):
    """Normalise this process's rows by mean and variance of all."""

    @staticmethod
    def forward(
        ctx: Any,
        inputs: Tensor,
        weight: Tensor | None,
        bias: Tensor | None,
        statistics: tuple[Tensor | None, Tensor | None, float, float],
        share: _Share,
    ) -> Tensor:
        running_mean, running_var, momentum, eps = statistics
        mean, variance = moments(inputs)
        if share.group is not None:
            mean, variance = _joined(mean, variance, share.group, share.total)
        if running_mean is not None and running_var is not None:
            running_mean.mul_(1 - momentum).add_(mean, alpha=momentum)
            running_var.mul_(1 - momentum).add_(variance, alpha=momentum * share.count / (share.count - 1))
        scale = (variance + eps).rsqrt_()
        factor = scale if weight is None else scale * weight
        shift = -mean * factor if bias is None else torch.addcmul(bias.to(mean.dtype), mean, factor, value=-1)
        ctx.save_for_backward(inputs, weight, mean, scale)
        ctx.share, ctx.bias_type = share, None if bias is None else bias.dtype
        return torch.addcmul(_along(shift, inputs), _float(inputs), _along(factor, inputs)).to(inputs.dtype)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor | None, ...]:
        inputs, weight, mean, scale = ctx.saved_tensors
        own = slope_sums(gradient, inputs, mean) * torch.stack([torch.ones_like(scale), scale])
        of_inputs = of_weight = of_bias = None
        if ctx.needs_input_grad[0]:
            factor, share = scale if weight is None else scale * weight, ctx.share
            first, second = (own if share.group is None else share.group.sum(own)) * (factor / -share.count)
            tilt = second * scale
            level = torch.addcmul(first, mean, tilt, value=-1)
            slopes = torch.addcmul(_along(level, inputs), _float(inputs), _along(tilt, inputs))
            of_inputs = slopes.addcmul_(_float(gradient), _along(factor, inputs)).to(inputs.dtype)
        if weight is not None:
            of_weight = own[1].to(weight.dtype)
        if ctx.bias_type is not None:
            of_bias = own[0].to(ctx.bias_type)
        return of_inputs, of_weight, of_bias, None, None


def moments(inputs: Tensor) -> tuple[Tensor, Tensor]:
    """Return mean and variance ``(C,)`` of ``(B, C, ...)`` over all else; in float64 on a CPU.

    Examples:
        >>> mean, variance = moments(torch.tensor([[1.0, 0.0], [3.0, 0.0]]))
        >>> mean.tolist(), variance.tolist()
        ([2.0, 0.0], [1.0, 0.0])
    """
    if not is_summed_by_position(inputs):
        values = _wide(inputs)
        variance, mean = torch.var_mean(values, dim=_axes(values), correction=0)
        return mean, variance
    shape = (-1, inputs.shape[1])
    means, variances = _aten.batch_norm_update_stats(_by_position(_float(inputs), _SUMS), None, None, 0.0)
    mean = means.view(shape).mean(dim=0, dtype=torch.float64)
    between = (means.view(shape) - mean).square_().mean(dim=0)
    return mean, between.add_(variances.view(shape).mean(dim=0, dtype=torch.float64))


def slope_sums(gradient: Tensor, inputs: Tensor, mean: Tensor) -> Tensor:
    """Return, as ``(2, C)``, the sums of a gradient and of its products with inputs minus mean.

    Examples:
        >>> slopes, inputs = torch.tensor([[1.0], [2.0]]), torch.tensor([[1.0], [3.0]])
        >>> slope_sums(slopes, inputs, torch.tensor([2.0])).tolist()
        [[3.0], [1.0]]
    """
    if not is_summed_by_position(inputs):
        slopes = _wide(gradient)
        products = slopes * (_wide(inputs) - mean.view(1, -1, *[1] * (inputs.dim() - 2)))
        return torch.stack([slopes.sum(dim=_axes(slopes)), products.sum(dim=_axes(slopes))])
    values, slopes = (_by_position(_float(part), _SLOPE_SUMS) for part in (inputs, gradient))
    means = mean.to(values.dtype).repeat(values.shape[1] // len(mean))
    # With a scale of one, what it calls the gradients of weight and bias are the two sums.
    _, products, plain = _aten.native_batch_norm_backward(
        slopes, values, None, None, None, means, torch.ones_like(means), True, 0.0, [False, True, True]
    )
    return torch.stack([plain, products]).view(2, -1, len(mean)).sum(dim=1, dtype=torch.float64)


def is_summed_by_position(inputs: Tensor) -> bool:
    """Tell whether these are images whose channels come last, on a CPU.

    Examples:
        >>> images = torch.zeros(2, 3, 4, 4)
        >>> is_summed_by_position(images), is_summed_by_position(images.to(memory_format=torch.channels_last))
        (False, True)
    """
    return inputs.device.type == "cpu" and inputs.dim() > 2 and _channels_last(inputs)


def _by_position(values: Tensor, sums: int) -> Tensor:
    """Return images as others of fewer positions and more channels, each of which is a channel at some positions."""
    images, channels = values.shape[:2]
    positions = values[0, 0].numel()
    most = max(1, sums // channels)
    merged = next(size for size in range(min(most, positions), 0, -1) if positions % size == 0)
    rows = values.movedim(1, -1).reshape(images, positions // merged, 1, merged * channels)
    return rows.movedim(-1, 1)


def _joined(mean: Tensor, variance: Tensor, group: ProcessGroup, total: int) -> tuple[Tensor, Tensor]:
    """Return mean and variance over the rows of all processes, from those of each (Chan et al., 1979)."""
    own = torch.stack([mean, variance])[None]
    means, variances = group.gather(own, group.processes).unbind(dim=1)
    sizes = torch.tensor(group.sizes(total), device=mean.device, dtype=mean.dtype)
    shares = sizes[:, None] / total
    joined = (shares * means).sum(dim=0)
    return joined, (shares * (variances + (means - joined).square())).sum(dim=0)


def _channels_last(values: Tensor) -> bool:
    return values.movedim(1, -1).is_contiguous()


def _axes(values: Tensor) -> list[int]:
    return [axis for axis in range(values.dim()) if axis != 1]


def _along(numbers: Tensor, values: Tensor) -> Tensor:
    """Return ``(C,)`` numbers in the shape and precision to meet values."""
    kind = torch.float64 if values.dtype == torch.float64 else torch.float32
    return numbers.to(kind).view(1, -1, *[1] * (values.dim() - 2))


def _float(values: Tensor) -> Tensor:
    """Return values in the precision in which they are normalised: float32 at least."""
    return values if values.dtype == torch.float64 else values.float()


def _wide(values: Tensor) -> Tensor:
    """Return values in the precision in which they are added up: float64 on a CPU, float32 elsewhere."""
    return values.double() if values.device.type == "cpu" or values.dtype == torch.float64 else values.float()
