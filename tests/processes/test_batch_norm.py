"""Batch normalisation against a slow reference in float64 that takes its gradient from PyTorch's basic operations."""

from __future__ import annotations

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from lond.processes.batch_norm import batch_norm, is_summed_by_position, moments, slope_sums
from lond.processes.rows import by_rows

SHAPES = {
    "two rows": (2, 3),
    "rows": (9, 5),
    "one channel": (6, 1, 4, 4),
    "images": (8, 5, 6, 7),
    "two images": (2, 3, 4, 4),
    "one image": (1, 3, 4, 4),
    "one position": (8, 3, 1, 1),
    "positions that no number divides": (4, 1500, 1, 7),
    "sequence": (5, 3, 8),
    "volume": (4, 3, 2, 3, 4),
}


def made(shape: tuple[int, ...], last: bool) -> Tensor:
    """Return values far from 0, with channels first or last in memory."""
    values = 3 + 2 * torch.randn(shape, generator=torch.Generator().manual_seed(0))
    return values.movedim(1, -1).contiguous().movedim(-1, 1) if last else values


def reference(inputs: Tensor, weight: Tensor | None, bias: Tensor | None, eps: float) -> tuple[Tensor, Tensor, Tensor]:
    """Return output, mean and variance, one channel after the other."""
    columns, means, variances = [], [], []
    for channel in range(inputs.shape[1]):
        values = inputs[:, channel]
        mean = values.sum() / values.numel()
        variance = ((values - mean) ** 2).sum() / values.numel()
        column = (values - mean) / (variance + eps) ** 0.5
        column = column if weight is None else column * weight[channel]
        columns.append(column if bias is None else column + bias[channel])
        means.append(mean)
        variances.append(variance)
    return torch.stack(columns, dim=1), torch.stack(means), torch.stack(variances)


@pytest.mark.parametrize("affine", ["both", "weight", "bias", "none"])
@pytest.mark.parametrize("last", [False, True])
@pytest.mark.parametrize("name", SHAPES)
def test_output_gradients_and_running_statistics(name: str, last: bool, affine: str) -> None:
    shape = SHAPES[name]
    inputs, channels = made(shape, last).requires_grad_(), shape[1]
    random = torch.Generator().manual_seed(1)
    weight = torch.rand(channels, generator=random).requires_grad_() if affine in ("both", "weight") else None
    bias = torch.rand(channels, generator=random).requires_grad_() if affine in ("both", "bias") else None
    slope = torch.randn(shape, generator=random)
    mean, variance = torch.full((channels,), 0.5), torch.full((channels,), 2.0)
    out = batch_norm(inputs, mean, variance, weight, bias, momentum=0.3, eps=1e-3)
    out.backward(slope)

    exact = [None if part is None else part.detach().double().requires_grad_() for part in (inputs, weight, bias)]
    assert exact[0] is not None
    wanted, wanted_mean, wanted_variance = reference(exact[0], exact[1], exact[2], 1e-3)
    wanted.backward(slope.double())
    count = inputs.numel() // channels
    assert torch.allclose(out.double(), wanted, atol=2e-6)
    assert out.stride() == inputs.stride()
    assert torch.allclose(mean.double(), 0.7 * 0.5 + 0.3 * wanted_mean, atol=1e-6)
    assert torch.allclose(variance.double(), 0.7 * 2 + 0.3 * wanted_variance * count / (count - 1), rtol=1e-6)
    for own, other in zip((inputs, weight, bias), exact, strict=True):
        if own is not None and other is not None:
            assert own.grad is not None
            # Slopes of order one cancel: what is left may be as small as their rounding.
            limit = 2e-6 + 1e-5 * float(other.grad.abs().max())
            assert torch.allclose(own.grad.double(), other.grad, rtol=1e-5, atol=limit)


def test_many_images_are_added_up_without_loss_of_digits() -> None:
    inputs = made((128, 4, 32, 32), last=True)
    slope = torch.randn(inputs.shape, generator=torch.Generator().manual_seed(1)).to(memory_format=torch.channels_last)
    exact = inputs.double()
    mean, variance = moments(inputs)
    assert torch.allclose(mean, exact.mean(dim=(0, 2, 3)), rtol=3e-7)
    assert torch.allclose(variance, exact.var(dim=(0, 2, 3), correction=0), rtol=3e-7)
    wanted = (slope.double() * (exact - mean.view(1, -1, 1, 1))).sum(dim=(0, 2, 3))
    plain, products = slope_sums(slope, inputs, mean)
    scale = float(wanted.abs().max())
    assert torch.allclose(plain, slope.double().sum(dim=(0, 2, 3)), atol=5e-6 * scale)
    assert torch.allclose(products, wanted, atol=5e-6 * scale)


def test_a_gradient_in_another_order_of_memory() -> None:
    slope = torch.randn(4, 3, 5, 5)
    found = []
    for last in (False, True):
        inputs = made((4, 3, 5, 5), last).requires_grad_()
        batch_norm(inputs, None, None).backward(slope)
        found.append(inputs.grad)
    assert torch.allclose(*found, atol=1e-6)


@pytest.mark.parametrize("kind", [torch.bfloat16, torch.float16])
@pytest.mark.parametrize("shape", [(64, 3), (8, 3, 6, 6)])
def test_half_precision_is_added_up_in_more(kind: torch.dtype, shape: tuple[int, ...]) -> None:
    inputs = (300 + made(shape, last=True)).to(kind).requires_grad_()
    weight = torch.ones(3, requires_grad=True)
    out = batch_norm(inputs, None, None, weight)
    out.float().square().sum().backward()
    assert out.dtype == inputs.grad.dtype == kind
    assert weight.grad.dtype == torch.float32
    assert torch.allclose(out.double(), reference(inputs.double(), None, None, 1e-5)[0], atol=0.02)


def test_double_precision_stays() -> None:
    inputs = (1e6 + made((8, 3, 4, 4), last=True)).double()
    assert torch.allclose(batch_norm(inputs, None, None), reference(inputs, None, None, 1e-5)[0], atol=1e-8)


def test_one_value_per_channel_is_refused_as_pytorch_does() -> None:
    with pytest.raises(ValueError, match="more than 1 value per channel"):
        batch_norm(torch.zeros(1, 3), None, None)


@pytest.mark.parametrize(
    "layer", [nn.BatchNorm2d(3, momentum=None), nn.BatchNorm2d(3, affine=False), nn.BatchNorm2d(3, eps=0.1)]
)
def test_layers_keep_their_meaning_in_one_process(layer: nn.BatchNorm2d) -> None:
    own, other = (type(layer)(3, layer.eps, layer.momentum, layer.affine) for _ in range(2))
    images = made((6, 3, 4, 4), last=True)
    assert is_summed_by_position(images)
    for part in images.split(3):
        (out,) = by_rows(lambda rows: (own(rows),), part)
        assert torch.allclose(out, other(part), atol=1e-5)
    for found, wanted in zip(own.buffers(), other.buffers(), strict=True):
        assert torch.allclose(found, wanted, rtol=1e-5)
    own.eval()
    assert torch.equal(by_rows(lambda rows: (own(rows),), images)[0], own(images))


def test_numbers_in_rows_and_channels_first_are_left_to_pytorch() -> None:
    for inputs in (made((6, 3), last=False), made((6, 3, 4, 4), last=False)):
        (out,) = by_rows(lambda rows: (F.batch_norm(rows, None, None, training=True),), inputs)
        assert torch.equal(out, F.batch_norm(inputs, None, None, training=True))
