"""Batch normalisation and dropout of a batch whose rows are divided among processes."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor
from torch.overrides import TorchFunctionMode

from lond.errors import ConfigError
from lond.processes.batch_norm import batch_norm, is_summed_by_position
from lond.processes.group import ProcessGroup

DROPOUTS = (F.dropout, F.dropout1d, F.dropout2d, F.dropout3d)
ALPHA_DROPOUTS = (F.alpha_dropout, F.feature_alpha_dropout)


class BatchRows(TorchFunctionMode):
    """While it lasts, what couples the rows of a batch sees those of all processes.

    Batch normalisation takes mean and variance over the whole batch, on every device (PyTorch's own synchronised layer
    refuses the CPU); dropout draws for the whole batch, so that a row gets what it would get in one process; RReLU,
    which cannot, is refused in training. It catches the functions rather than replace layers, so subclasses of layers
    and modules of a user's own are served, too.
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
        if func in ALPHA_DROPOUTS:
            return self._alpha_dropout(func, *args, **named)
        if func is F.rrelu and (args[3] if len(args) > 3 else named.get("training", False)):
            raise ConfigError(
                "RReLU draws its random slopes for negative values only, so several processes cannot draw as one does: "
                "train on one process, or use LeakyReLU"
            )
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
        return batch_norm(
            inputs, running_mean, running_var, weight, bias, momentum, eps, group=self.group, total=self.total
        )

    def _dropout(
        self, func: Callable[..., Tensor], inputs: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False
    ) -> Tensor:
        if not training or not p:
            return func(inputs, p, training, inplace)
        kept = func(self._whole(inputs).fill_(1), p, True, True)
        return inputs * kept[self.group.rows(self.total)]

    def _alpha_dropout(
        self, func: Callable[..., Tensor], inputs: Tensor, p: float = 0.5, training: bool = False, inplace: bool = False
    ) -> Tensor:
        if not training or not p:
            return func(inputs, p, training, inplace)
        rows = self.group.rows(self.total)
        whole = self._whole(inputs).zero_()
        whole[rows] = inputs
        return func(whole, p, True, False)[rows]

    def _bernoulli(self, values: Tensor, *args: Any, **kwargs: Any) -> Tensor:
        """Draw as stochastic depth does: one number per row."""
        if len(values) != self.group.sizes(self.total)[self.group.rank]:
            return values.bernoulli_(*args, **kwargs)
        return values.copy_(self._whole(values).bernoulli_(*args, **kwargs)[self.group.rows(self.total)])

    def _whole(self, part: Tensor) -> Tensor:
        """Return an empty tensor for the whole batch, in the same order of memory."""
        whole = part.new_empty(self.total, *part.shape[1:])
        return whole.contiguous(memory_format=torch.channels_last) if _channels_last(part) else whole


def _channels_last(values: Tensor) -> bool:
    """Tell whether these are images whose channels come last in memory, and not first at the same time."""
    return values.dim() == 4 and values.is_contiguous(memory_format=torch.channels_last) and not values.is_contiguous()


class OwnRows(TorchFunctionMode):
    """While it lasts, batch normalisation of images adds up as several processes do.

    For one process on a CPU: PyTorch's own batch normalisation adds up images in float32, one position after the other,
    which loses digits. On other devices, and for rows of numbers, its sums are good enough.
    """

    def __torch_function__(
        self,
        func: Callable[..., Any],
        types: Iterable[type],
        args: tuple[Any, ...] = (),
        kwargs: Mapping[str, Any] | None = None,
    ) -> Any:
        """Answer a call of PyTorch's."""
        if func is F.batch_norm:
            return _batch_norm_alone(*args, **(kwargs or {}))
        return func(*args, **(kwargs or {}))


def _batch_norm_alone(
    inputs: Tensor,
    running_mean: Tensor | None,
    running_var: Tensor | None,
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    training: bool = False,
    momentum: float = 0.1,
    eps: float = 1e-5,
) -> Tensor:
    if not training or not is_summed_by_position(inputs):
        return F.batch_norm(inputs, running_mean, running_var, weight, bias, training, momentum, eps)
    return batch_norm(inputs, running_mean, running_var, weight, bias, momentum, eps)
