"""Batch normalisation and dropout of a batch whose rows are divided among processes."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor
from torch.autograd.function import once_differentiable
from torch.overrides import TorchFunctionMode

from lond.processes.group import ProcessGroup

DROPOUTS = (F.dropout, F.dropout1d, F.dropout2d, F.dropout3d)


class BatchRows(TorchFunctionMode):
    """While it lasts, what couples the rows of a batch sees those of all processes.

    Batch normalisation takes mean and variance over the whole batch, on every device (PyTorch's own synchronised layer
    refuses the CPU); dropout draws for the whole batch, so that a row gets what it would get in one process. It catches
    the functions rather than replace layers, so subclasses of layers and modules of a user's own are served, too.
    """

    def __init__(self, group: ProcessGroup, total: int) -> None:
        """Expect this process's share of ``total`` rows."""
        super().__init__()
        self.group, self.total = group, total

    def __torch_function__(
        self,
        func: Callable[..., Any],
        types: Iterable[type],
        args: tuple[Any, ...] = (),
        kwargs: Mapping[str, Any] | None = None,
    ) -> Any:
        """Answer a call of PyTorch's."""
        named = dict(kwargs or {})
        if func is F.batch_norm:
            return self._batch_norm(*args, **named)
        if func in DROPOUTS:
            return self._dropout(func, *args, **named)
        if func is Tensor.bernoulli_:
            return self._bernoulli(*args, **named)
        return func(*args, **named)

    def _batch_norm(
        self,
        inputs: Tensor,
        running_mean: Tensor | None,
        running_var: Tensor | None,
        weight: Tensor | None = None,
        bias: Tensor | None = None,
        training: bool = False,
        momentum: float = 0.1,
        eps: float = 1e-5,
    ) -> Tensor:
        if not training:
            return F.batch_norm(inputs, running_mean, running_var, weight, bias, False, momentum, eps)
        count = self.total * inputs[0, 0].numel()
        mean, variance = self._moments(_wide(inputs.detach()))
        if running_mean is not None and running_var is not None:
            with torch.no_grad():
                unbiased = variance * (count / max(1, count - 1))
                for running, new in ((running_mean, mean), (running_var, unbiased)):
                    running.mul_(1 - momentum).add_((momentum * new).to(running.dtype))
        normalised: Tensor = _SharedBatchNorm.apply(  # type: ignore[no-untyped-call]
            inputs, weight, bias, mean, variance, eps, count, self.group
        )
        return normalised

    def _moments(self, values: Tensor) -> tuple[Tensor, Tensor]:
        """Return mean and variance ``(C,)`` over the rows of all processes, from those of each (Chan et al., 1979)."""
        own_variance, own_mean = torch.var_mean(values, dim=_axes(values), correction=0)
        own = torch.stack([own_mean, own_variance])[None]
        means, variances = self.group.gather(own, self.group.processes).unbind(dim=1)
        sizes = torch.tensor(self.group.sizes(self.total), device=values.device, dtype=values.dtype)
        shares = sizes[:, None] / self.total
        mean = (shares * means).sum(dim=0)
        return mean, (shares * (variances + (means - mean).square())).sum(dim=0)

    def _dropout(
        self, func: Callable[..., Tensor], inputs: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False
    ) -> Tensor:
        if not training or not p:
            return func(inputs, p, training, inplace)
        kept = func(self._whole(inputs).fill_(1), p, True, True)
        return inputs * kept[self.group.rows(self.total)]

    def _bernoulli(self, values: Tensor, *args: Any, **kwargs: Any) -> Tensor:
        """Draw as stochastic depth does: one number per row."""
        if len(values) != self.group.sizes(self.total)[self.group.rank]:
            return values.bernoulli_(*args, **kwargs)
        return values.copy_(self._whole(values).bernoulli_(*args, **kwargs)[self.group.rows(self.total)])

    def _whole(self, part: Tensor) -> Tensor:
        """Return an empty tensor for the whole batch, in the same order of memory."""
        whole = part.new_empty(self.total, *part.shape[1:])
        last = part.dim() == 4 and part.is_contiguous(memory_format=torch.channels_last)
        return whole.contiguous(memory_format=torch.channels_last) if last and not part.is_contiguous() else whole


class _SharedBatchNorm(torch.autograd.Function):
    """Normalise this process's rows by mean and variance of all."""

    @staticmethod
    def forward(
        ctx: Any,
        inputs: Tensor,
        weight: Tensor | None,
        bias: Tensor | None,
        mean: Tensor,
        variance: Tensor,
        eps: float,
        count: int,
        group: ProcessGroup,
    ) -> Tensor:
        ctx.save_for_backward(inputs, weight, mean, (variance + eps).rsqrt())
        ctx.count, ctx.group, ctx.bias_type = count, group, None if bias is None else bias.dtype
        # PyTorch's own function with these statistics, so that rounding is the same, too.
        kind = torch.float64 if inputs.dtype == torch.float64 else torch.float32
        return F.batch_norm(inputs, mean.to(kind), variance.to(kind), weight, bias, False, 0.0, eps)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor | None, ...]:
        inputs, weight, mean, scale = ctx.saved_tensors
        shape, slope = [1, -1] + [1] * (inputs.dim() - 2), _wide(gradient)
        unit = (_wide(inputs) - mean.view(shape)) * scale.view(shape)
        sums = torch.stack([slope.sum(dim=_axes(slope)), (slope * unit).sum(dim=_axes(slope))])
        of_inputs = of_weight = of_bias = None
        if ctx.needs_input_grad[0]:
            first, second = (part.view(shape) / ctx.count for part in ctx.group.sum(sums))
            factor = scale if weight is None else scale * weight
            of_inputs = ((slope - first - unit * second) * factor.view(shape)).to(inputs.dtype)
        if weight is not None:
            of_weight = sums[1].to(weight.dtype)
        if ctx.bias_type is not None:
            of_bias = sums[0].to(ctx.bias_type)
        return of_inputs, of_weight, of_bias, None, None, None, None, None


def _axes(values: Tensor) -> list[int]:
    return [axis for axis in range(values.dim()) if axis != 1]


def _wide(values: Tensor) -> Tensor:
    """Return values in the precision in which PyTorch sums them: float64 on a CPU, float32 elsewhere."""
    return values.double() if values.device.type == "cpu" or values.dtype == torch.float64 else values.float()
