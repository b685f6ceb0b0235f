"""Ways to run a frozen network: all take images as they are stored, and give the same features up to rounding."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from lond.frozen.convert import compile_openvino

ROUTES = ("auto", "torch", "compiled", "openvino")
"""Ways to run a network; "auto" is openvino on a CPU if it is installed, else torch."""

COMPILED_BATCH = 64
"""Images that a network compiled by PyTorch sees at once, always."""

REQUESTS_A_STREAM = 2
"""Images that wait for each stream of OpenVINO, so that none idles while Python hands over the next one."""

Runner = Callable[[Tensor], Tensor]
"""Maps images ``(B, 3, S, S)`` with values from 0 to 255, on the CPU or on its device, to features ``(B, D)``."""


class PixelNetwork(nn.Module):
    """A network that takes images with values from 0 to 255.

    Args:
        module: takes normalised images.
        mean: of the images in [0, 1] that it was trained on, by channel.
        std: their deviation.
    """

    mean: Tensor
    std: Tensor

    def __init__(self, module: nn.Module, mean: Sequence[float], std: Sequence[float]) -> None:
        """Keep the normalisation as part of the network."""
        super().__init__()
        self.module = module
        self.register_buffer("mean", 255 * torch.tensor(mean).view(1, -1, 1, 1))
        self.register_buffer("std", 255 * torch.tensor(std).view(1, -1, 1, 1))

    def forward(self, pixels: Tensor) -> Tensor:
        """Map images ``(B, 3, S, S)`` to features ``(B, D)``."""
        features: Tensor = self.module((pixels - self.mean) / self.std)
        return features


def chosen_route(route: str, device: torch.device) -> str:
    """Return the route chosen by "auto" on a device."""
    if route != "auto":
        return route
    return "openvino" if device.type == "cpu" and find_spec("openvino") is not None else "torch"


def torch_runner(
    network: nn.Module, size: int, device: torch.device, folder: Path | None = None, precision: str = "full"
) -> Runner:
    """Return the network as PyTorch runs it."""
    fast: nn.Module = network.eval().to(device, memory_format=torch.channels_last)  # type: ignore[call-overload]
    return lambda images: _run(fast, images, device)


def compiled_runner(
    network: nn.Module, size: int, device: torch.device, folder: Path | None = None, precision: str = "full"
) -> Runner:
    """Return the network through ``torch.compile``, for batches of one size; smaller ones are filled up."""
    fast = torch.compile(network.eval().to(device, memory_format=torch.channels_last), dynamic=False)  # type: ignore[call-overload]

    def run(images: Tensor) -> Tensor:
        parts = []
        for part in images.split(COMPILED_BATCH):
            whole = F.pad(part, (0, 0, 0, 0, 0, 0, 0, COMPILED_BATCH - len(part)))
            parts.append(_run(fast, whole, device)[: len(part)])
        return torch.cat(parts)

    return run


def _run(network: Callable[[Tensor], Tensor], images: Tensor, device: torch.device) -> Tensor:
    """Send images as they are, bytes if they are bytes, and make numbers of them on the device."""
    if device.type == "cuda" and images.device.type == "cpu":
        # Only from memory that is never swapped out can the device fetch them while the processor goes on.
        images = images.pin_memory()
    moved = images.to(device, non_blocking=True).float()
    return network(moved.contiguous(memory_format=torch.channels_last))


def openvino_runner(
    network: nn.Module, size: int, device: torch.device, folder: Path | None = None, precision: str = "full"
) -> Runner:
    """Return the network as OpenVINO runs it: single images in parallel streams."""
    compiled = compile_openvino(network, size, folder, precision=precision)
    from openvino import AsyncInferQueue

    queue = AsyncInferQueue(compiled, REQUESTS_A_STREAM * int(compiled.get_property("NUM_STREAMS")))
    width = int(compiled.output(0).partial_shape[1].get_length())
    inputs = [request.get_input_tensor(0).data for request in queue]

    def run(images: Tensor) -> Tensor:
        values = images.cpu().numpy()
        found = np.empty((len(values), width), dtype=np.float32)

        def keep(request: object, row: int) -> None:
            found[row] = request.get_output_tensor(0).data[0]  # type: ignore[attr-defined]

        queue.set_callback(keep)
        for row, image in enumerate(values):
            # Bytes become floats in the memory of the request that starts next; a new array would cost as much again.
            inputs[queue.get_idle_request_id()][0] = image
            queue.start_async(None, row)
        queue.wait_all()
        return torch.from_numpy(found)

    return run


RUNNERS: dict[str, Callable[..., Runner]] = {
    "torch": torch_runner,
    "compiled": compiled_runner,
    "openvino": openvino_runner,
}
"""Route -> how a network is made ready, given network, size, device, a folder to keep it in, and precision."""
