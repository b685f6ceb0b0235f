"""Batch normalisation and dropout over processes against PyTorch's own layers on the whole batch."""

from __future__ import annotations

import copy
import threading

import pytest
import torch
import torch.nn.functional as F
from processes.threads import run_together
from torch import Tensor, nn

from lond.errors import ConfigError
from lond.processes.rows import by_rows

LAYERS = {
    "1d": (nn.BatchNorm1d(3), (7, 3)),
    "2d": (nn.BatchNorm2d(3), (7, 3, 4, 5)),
    "3d": (nn.BatchNorm3d(3), (5, 3, 2, 2, 2)),
    "sequence": (nn.BatchNorm1d(3), (7, 3, 6)),
    "plain": (nn.BatchNorm1d(3, affine=False), (7, 3)),
    "without bias": (nn.BatchNorm1d(3, bias=False), (7, 3)),
    "cumulative": (nn.BatchNorm2d(3, momentum=None), (7, 3, 4, 5)),
    "untracked": (nn.BatchNorm1d(3, track_running_stats=False), (7, 3)),
}


@pytest.mark.parametrize("processes", [2, 3])
@pytest.mark.parametrize("name", LAYERS)
def test_batch_norm_is_that_of_the_whole_batch(name: str, processes: int) -> None:
    layer, shape = LAYERS[name]
    random = torch.Generator().manual_seed(0)
    # Far from 0 and in parts unlike each other: what a careless sum of squares gets wrong.
    start = 100 + torch.arange(shape[0]).view(-1, *[1] * (len(shape) - 1)) + torch.randn(shape, generator=random)
    target = torch.randn(shape, generator=random)

    def work(_rank: int) -> dict[str, Tensor]:
        own, inputs = copy.deepcopy(layer), start.clone().requires_grad_()
        nn.init.constant_(own.weight, 1.5) if own.weight is not None else None
        for _ in range(2):
            (out,) = by_rows(lambda rows: (torch.relu_(own(rows)),), inputs)
        (out - target).square().mean().backward()
        gradients = {name: parameter.grad for name, parameter in own.named_parameters()}
        return {"out": out.detach(), "inputs": inputs.grad, **gradients, **dict(own.named_buffers())}

    alone, found = work(0), run_together(processes, work)
    for key, wanted in alone.items():
        averaged = torch.stack([own[key].double() for own in found]).mean(dim=0)
        assert torch.allclose(averaged, wanted.double(), rtol=1e-4, atol=1e-4), key
    assert all(torch.equal(own["out"], found[0]["out"]) for own in found)


def test_a_bias_without_a_weight_has_its_gradient() -> None:
    inputs = torch.randn(6, 2, generator=torch.Generator().manual_seed(0))

    def work(_rank: int) -> Tensor | None:
        bias = torch.ones(2, requires_grad=True)
        (out,) = by_rows(lambda rows: (F.batch_norm(rows, None, None, None, bias, training=True),), inputs)
        out.square().sum().backward()
        return bias.grad

    gradients = [own for own in run_together(2, work) if own is not None]
    assert torch.allclose(torch.stack(gradients).mean(dim=0), work(0), atol=1e-4)


def test_evaluation_takes_the_running_statistics() -> None:
    layer = nn.BatchNorm1d(2).eval()
    inputs = torch.randn(6, 2)
    for (out,) in run_together(2, lambda _rank: by_rows(lambda rows: (layer(rows),), inputs)):
        assert torch.allclose(out, layer(inputs))


def test_half_precision_is_normalised_in_float32() -> None:
    # Steps of four: single precision would lose the statistics of values so far from zero.
    inputs = (1000 + 4 * torch.randn(64, 3, generator=torch.Generator().manual_seed(0))).bfloat16()
    layer = nn.BatchNorm1d(3)
    wanted = copy.deepcopy(layer).double()(inputs.double()).float()
    for (out,) in run_together(2, lambda _rank: by_rows(lambda rows: (copy.deepcopy(layer)(rows),), inputs)):
        assert out.dtype == torch.bfloat16
        assert torch.allclose(out.float(), wanted, atol=0.02)


def test_a_layer_of_ones_own_is_served_too() -> None:
    class Doubled(nn.BatchNorm1d):
        def forward(self, rows: Tensor) -> Tensor:
            return 2 * super().forward(rows)

    inputs = torch.randn(5, 2)
    wanted = Doubled(2)(inputs)
    for (out,) in run_together(2, lambda _rank: by_rows(lambda rows: (Doubled(2)(rows),), inputs)):
        assert torch.allclose(out, wanted, atol=1e-6)


class StochasticDepth(nn.Module):
    """Drops whole rows, as timm's DropPath does."""

    def forward(self, rows: Tensor) -> Tensor:
        return rows * rows.new_empty(len(rows), *[1] * (rows.dim() - 1)).bernoulli_(0.5)


DRAWING = [nn.Dropout(0.5), nn.Dropout2d(0.5), nn.AlphaDropout(0.5), nn.FeatureAlphaDropout(0.5), StochasticDepth()]


@pytest.mark.parametrize("layer", DRAWING, ids=type)
@pytest.mark.parametrize("channels_last", [False, True])
def test_dropout_draws_for_the_whole_batch(layer: nn.Module, channels_last: bool) -> None:
    inputs = torch.randn(7, 3, 4, 4)
    if channels_last:
        inputs = inputs.contiguous(memory_format=torch.channels_last)
    torch.manual_seed(0)
    wanted = layer(inputs)
    assert not torch.equal(wanted, inputs)
    # Threads share the generator that processes have each for themselves, so they draw one after the other.
    turn = threading.Lock()

    def drop(rows: Tensor) -> tuple[Tensor]:
        with turn:
            torch.manual_seed(0)
            return (layer(rows),)

    for (out,) in run_together(2, lambda _rank: by_rows(drop, inputs)):
        assert torch.equal(out, wanted)


@pytest.mark.parametrize("layer", [nn.Dropout(), nn.AlphaDropout(), nn.RReLU(1.0, 1.0)], ids=type)
def test_dropout_rests_in_evaluation(layer: nn.Module) -> None:
    inputs = torch.randn(7, 3)
    for (out,) in run_together(2, lambda _rank: by_rows(lambda rows: (layer.eval()(rows),), inputs)):
        assert torch.equal(out, inputs)


def test_a_layer_that_cannot_draw_as_one_process_does_is_refused_by_one_line() -> None:
    def work(_rank: int) -> str:
        with pytest.raises(ConfigError) as caught:
            by_rows(lambda rows: (nn.RReLU()(rows),), torch.randn(4, 2))
        return str(caught.value)

    for line in run_together(2, work):
        assert "RReLU" in line
        assert "\n" not in line


def test_one_process_adds_up_images_as_several_do() -> None:
    module = nn.BatchNorm2d(4)
    images = (1 + torch.randn(64, 4, 32, 32, generator=torch.Generator().manual_seed(0))).to(
        memory_format=torch.channels_last
    )
    (alone,) = by_rows(lambda rows: (copy.deepcopy(module)(rows),), images)
    wanted = copy.deepcopy(module).double()(images.double())
    for (out,) in run_together(2, lambda _rank: by_rows(lambda rows: (copy.deepcopy(module)(rows),), images)):
        assert torch.allclose(out, alone, rtol=1e-6, atol=1e-6)
    assert torch.allclose(alone.double(), wanted, rtol=1e-6, atol=1e-6)
