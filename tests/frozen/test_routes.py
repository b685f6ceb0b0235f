"""Routes of a frozen network: the same features by each, for bytes and for numbers."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
import torch
from torch import nn

import lond.frozen.routes as module
from lond.frozen.routes import RUNNERS, PixelNetwork, chosen_route

CPU = torch.device("cpu")
IMAGES = torch.randint(0, 256, (5, 3, 8, 8), generator=torch.Generator().manual_seed(0), dtype=torch.uint8)


@pytest.fixture
def network() -> PixelNetwork:
    torch.manual_seed(0)
    inner = nn.Sequential(nn.Conv2d(3, 4, 3), nn.ReLU(), nn.Flatten(), nn.Linear(4 * 36, 5))
    return PixelNetwork(inner.eval(), (0.4, 0.5, 0.6), (0.2, 0.3, 0.4))


def reference(network: PixelNetwork, images: torch.Tensor) -> torch.Tensor:
    """Normalise one pixel after the other in [0, 1], and run the inner network."""
    x = images.double() / 255
    for channel, (mean, std) in enumerate(((0.4, 0.2), (0.5, 0.3), (0.6, 0.4))):
        x[:, channel] = (x[:, channel] - mean) / std
    with torch.no_grad():
        return network.module(x.float())


@pytest.mark.parametrize("route", ["torch", pytest.param("compiled", marks=pytest.mark.slow), "openvino"])
@torch.no_grad()
def test_every_route_gives_the_features_of_the_network(
    network: PixelNetwork, route: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if route == "openvino":
        pytest.importorskip("openvino")
    if route == "compiled":
        if shutil.which("g++") is None:
            pytest.skip("torch.compile needs a compiler on the CPU")
        monkeypatch.setattr(module, "COMPILED_BATCH", 2)
    expected = reference(network, IMAGES)
    run = RUNNERS[route](network, 8, CPU, tmp_path)
    assert torch.allclose(run(IMAGES), expected, atol=1e-4)
    assert torch.allclose(run(IMAGES.float()), expected, atol=1e-4)
    assert torch.allclose(run(IMAGES.flip(-1)), reference(network, IMAGES.flip(-1)), atol=1e-4)
    assert torch.allclose(run(IMAGES[3:4]), expected[3:4], atol=1e-4)


def test_rows_keep_their_order_whatever_stream_they_take(network: PixelNetwork, tmp_path: Path) -> None:
    pytest.importorskip("openvino")
    many = torch.randint(0, 256, (200, 3, 8, 8), generator=torch.Generator().manual_seed(1), dtype=torch.uint8)
    found = RUNNERS["openvino"](network, 8, CPU, tmp_path)(many)
    assert torch.allclose(found, reference(network, many), atol=1e-4)


def test_only_a_cuda_device_gets_pinned_memory(network: PixelNetwork, monkeypatch: pytest.MonkeyPatch) -> None:
    pinned: list[int] = []
    monkeypatch.setattr(torch.Tensor, "pin_memory", lambda images: pinned.append(len(images)) or images)
    moved: list[object] = []

    def to(images: torch.Tensor, device: torch.device, non_blocking: bool) -> torch.Tensor:
        moved.append((device.type, images.dtype, non_blocking))
        return images

    RUNNERS["torch"](network, 8, CPU)(IMAGES)
    assert not pinned
    monkeypatch.setattr(torch.Tensor, "to", to)
    module._run(lambda images: images, IMAGES, torch.device("cuda"))
    assert pinned == [5] and moved == [("cuda", torch.uint8, True)]


def test_auto_is_openvino_on_a_cpu_and_torch_on_a_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    assert chosen_route("auto", torch.device("cuda")) == "torch"
    assert chosen_route("torch", CPU) == "torch"
    assert chosen_route("compiled", torch.device("cuda")) == "compiled"
    monkeypatch.setattr(module, "find_spec", lambda name: object())
    assert chosen_route("auto", CPU) == "openvino"
    monkeypatch.setattr(module, "find_spec", lambda name: None)
    assert chosen_route("auto", CPU) == "torch"
