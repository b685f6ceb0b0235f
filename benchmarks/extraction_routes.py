"""Images a second of the frozen network by several routes, taken in turns in one run, and how far the features differ.

    python benchmarks/extraction_routes.py [--size 224] [--threads 2] [--rounds 5] [--out FILE]

Every round gives each route the same batches; a route's figure is its median round, relative to eager PyTorch in the
same run. ONNX Runtime (packages onnx, onnxruntime) is measured for comparison and not used by lond.
"""

from __future__ import annotations

import argparse
import io
import statistics
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from store import machine, store
from torch import Tensor, nn

from lond.frozen.extractor import RUNNERS
from lond.nets.backbones import build_backbone

BATCH, BATCHES = 64, 4

Runner = Callable[[Tensor], Tensor]


def onnx_runner(module: nn.Module, size: int, threads: int) -> Runner:
    """Return the network on ONNX Runtime."""
    import onnxruntime

    buffer = io.BytesIO()
    example = torch.zeros(BATCH, 3, size, size)
    torch.onnx.export(module, (example,), buffer, input_names=["x"], dynamic_axes={"x": {0: "batch"}}, dynamo=False)
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    session = onnxruntime.InferenceSession(buffer.getvalue(), options, providers=["CPUExecutionProvider"])
    return lambda x: torch.from_numpy(session.run(None, {"x": x.numpy()})[0])


def compiled_runner(module: nn.Module) -> Runner:
    """Return the network through torch.compile."""
    compiled = torch.compile(module)
    return lambda x: compiled(x.contiguous(memory_format=torch.channels_last))


def routes(size: int, threads: int) -> dict[str, Runner]:
    """Return route -> function."""

    def network() -> nn.Module:
        built = build_backbone("efficientnet-lite0", in_channels=3, image_size=(size, size), pretrained=True)
        return built.module.eval().requires_grad_(requires_grad=False)

    cpu = torch.device("cpu")
    return {
        "torch": RUNNERS["torch"](network(), size, cpu),
        "torch.compile": compiled_runner(network().to(memory_format=torch.channels_last)),  # type: ignore[call-overload]
        "onnxruntime": onnx_runner(network(), size, threads),
        "openvino": RUNNERS["openvino"](network(), size, cpu),
    }


@torch.no_grad()
def measure(size: int, threads: int, rounds: int) -> dict[str, Any]:
    """Time all routes in turns."""
    torch.set_num_threads(threads)
    random = torch.Generator().manual_seed(0)
    batches = [torch.randn(BATCH, 3, size, size, generator=random) for _ in range(BATCHES)]
    found, preparation = routes(size, threads), {}
    for name, run in found.items():
        began = time.perf_counter()
        run(batches[0])
        preparation[name] = time.perf_counter() - began
    expected = found["torch"](batches[0])
    speeds: dict[str, list[float]] = {name: [] for name in found}
    for _ in range(rounds):
        for name, run in found.items():
            began = time.perf_counter()
            for batch in batches:
                run(batch)
            speeds[name].append(BATCH * BATCHES / (time.perf_counter() - began))
    medians = {name: statistics.median(values) for name, values in speeds.items()}
    return {
        "size": size,
        "machine": machine(),
        "routes": {
            name: {
                "images_a_second": medians[name],
                "times_eager_torch": medians[name] / medians["torch"],
                "first_batch_seconds": preparation[name],
                "largest_difference": float((run(batches[0]) - expected).abs().max()),
                "largest_feature": float(expected.abs().max()),
            }
            for name, run in found.items()
        },
    }


def main() -> None:
    """Read the options and measure."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--size", type=int, default=224)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    store(measure(options.size, options.threads, options.rounds), options.out)


if __name__ == "__main__":
    main()
