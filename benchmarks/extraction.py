"""Images a second from JPEG files to features, beside the bare network on images that are decoded already.

    python -m benchmarks.extraction [--images 500] [--threads 2] [--rounds 5] [--network NAME] [--out FILE]

The files, 500 x 375 pixels, are made at the start. Every round takes each contender in turn, and ratios are medians
over rounds of what was measured in the same round, by the clock and by CPU seconds of the process; where other
programs take the processor, only the latter mean much. Contenders:

* bare: OpenVINO on tensors that lie ready, one image at a time in as many streams as threads, as ``lond`` runs it.
* decoded: the same network on bytes that lie ready, handed over as ``lond`` does. It copies less than "bare", which
  takes floats, and is the stricter measure of what reading costs.
* bare, batch 64: the same network on batches of 64 with all threads, the usual way.
* features: from files to stored features.
* everything: the same with hashes, quality measures and thumbnails, as an audit reads.
* decoding: the files decoded one after the other, and nothing else.
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import openvino
import torch
from benchmarks.store import machine, store
from PIL import Image

import lond.frozen.read
from lond.data.images import decode
from lond.data.options import ReadOptions
from lond.data.sources import load
from lond.frozen.convert import compile_openvino
from lond.frozen.extractor import Extractor, ExtractorSettings, frozen_backbone, normalisation
from lond.frozen.read import FeatureReader
from lond.frozen.routes import REQUESTS_A_STREAM, PixelNetwork
from lond.nets import native_size
from lond.types import Samples

BATCH, SIZE = 64, (500, 375)
QUALITY, GRAIN = 88, 12.0
"""Of the files: JPEG quality, and deviation of the noise that makes them as large as photographs are."""


def write_files(folder: Path, count: int) -> None:
    """Write JPEG files of two classes: smooth colours with grain."""
    for number in range(count):
        random = np.random.default_rng(number)
        colours = Image.fromarray(random.integers(0, 256, (9, 12, 3), dtype=np.uint8))
        smooth = np.asarray(colours.resize(SIZE, Image.Resampling.BICUBIC), dtype=np.float32)
        grained = np.clip(smooth + random.normal(0, GRAIN, smooth.shape), 0, 255).astype(np.uint8)
        path = folder / "ab"[number % 2] / f"{number}.jpg"
        path.parent.mkdir(parents=True, exist_ok=True)
        Image.fromarray(grained).save(path, quality=QUALITY)


def bare_streams(compiled: Any, size: int, images: int) -> Callable[[], None]:
    """Return a turn of the network as ``lond`` compiles it, on images that lie ready."""
    ready = np.random.default_rng(0).uniform(0, 255, (BATCH, 1, 3, size, size)).astype(np.float32)
    queue = openvino.AsyncInferQueue(compiled, REQUESTS_A_STREAM * compiled.get_property("NUM_STREAMS"))

    def turn() -> None:
        for number in range(images):
            queue.start_async([ready[number % BATCH]])
        queue.wait_all()

    return turn


def bare_batches(network: torch.nn.Module, size: int, images: int, threads: int) -> Callable[[], None]:
    """Return a turn of the network on batches that lie ready."""
    model = openvino.convert_model(network, example_input=torch.zeros(1, 3, size, size), input=[1, 3, size, size])
    model.reshape([BATCH, 3, size, size])
    hints = {"INFERENCE_NUM_THREADS": threads, "INFERENCE_PRECISION_HINT": "f32"}
    compiled = openvino.Core().compile_model(model, "CPU", hints)
    ready = np.random.default_rng(0).uniform(0, 255, (BATCH, 3, size, size)).astype(np.float32)
    request = compiled.create_infer_request()

    def turn() -> None:
        for _ in range(-(-images // BATCH)):
            request.infer([ready])

    return turn


def reading(samples: Samples, settings: ExtractorSettings, everything: bool) -> Callable[[], None]:
    """Return a turn from files to features, with a network that is loaded already and nothing stored."""
    reader = FeatureReader(None, torch.device("cpu"))
    return lambda: check(reader.read(samples, settings, perceptual=everything, thumbnails=everything))


def decoded(extractor: Extractor, size: int, images: int) -> Callable[[], None]:
    """Return a turn of the extractor on bytes that lie ready."""
    ready = torch.randint(0, 256, (BATCH, 3, size, size), dtype=torch.uint8)

    def turn() -> None:
        for start in range(0, images, BATCH):
            extractor(ready[: min(BATCH, images - start)])

    return turn


def decoding(paths: list[Path]) -> Callable[[], None]:
    """Return a turn that only decodes."""

    def turn() -> None:
        for path in paths:
            decode(path)

    return turn


def check(facts: Any) -> None:
    """Stop if an image has no features."""
    assert np.abs(facts.features).sum(axis=(1, 2)).min() > 0


def timed(turn: Callable[[], None]) -> tuple[float, float]:
    """Return seconds by the clock and CPU seconds of the process."""
    clock, work = time.perf_counter(), time.process_time()
    turn()
    return time.perf_counter() - clock, time.process_time() - work


def measure(images: int, threads: int, rounds: int, backbone: str) -> dict[str, Any]:
    """Time all contenders in turns."""
    torch.set_num_threads(threads)
    settings = ExtractorSettings(backbone, size=native_size(backbone), mirrored=False)
    module = frozen_backbone(settings).module
    network = PixelNetwork(module, *normalisation(module))
    with tempfile.TemporaryDirectory() as folder:
        write_files(Path(folder) / "images", images)
        kept = Path(folder) / "kept"
        started = {
            name: timed(lambda: Extractor(settings, folder=kept)) for name in ("first process", "later processes")
        }
        extractor = Extractor(settings, folder=kept)
        lond.frozen.read.Extractor = lambda *_: extractor  # type: ignore[assignment,misc]
        samples = load(Path(folder) / "images", options=ReadOptions())
        turns = {
            "bare": bare_streams(compile_openvino(network, settings.size, kept), settings.size, images),
            "decoded": decoded(extractor, settings.size, images),
            "bare, batch 64": bare_batches(network, settings.size, images, threads),
            "features": reading(samples, settings, everything=False),
            "everything": reading(samples, settings, everything=True),
            "decoding": decoding(sorted((Path(folder) / "images").rglob("*.jpg"))),
        }
        for turn in turns.values():
            turn()
        found = [{name: timed(turn) for name, turn in turns.items()} for _ in range(rounds)]
    rounded_up = {name: -(-images // BATCH) * BATCH if name == "bare, batch 64" else images for name in turns}
    return {
        "network": backbone,
        "images": images,
        "rounds": rounds,
        "machine": machine(),
        "start": {name: {"seconds": seconds[0], "cpu_seconds": seconds[1]} for name, seconds in started.items()},
        "contenders": {name: figures(found, rounded_up, name) for name in turns},
    }


def figures(found: list[dict[str, tuple[float, float]]], images: dict[str, int], name: str) -> dict[str, float]:
    """Return medians over rounds: images a second, CPU milliseconds per image, and both beside the bare network."""

    def rates(of: str, kind: int) -> list[float]:
        return [images[of] / one[of][kind] for one in found]

    result = {
        "images_a_second": statistics.median(rates(name, 0)),
        "cpu_ms_an_image": 1000 / statistics.median(rates(name, 1)),
    }
    for bare in ("bare", "decoded", "bare, batch 64"):
        for kind, unit in enumerate(("clock", "cpu")):
            ratios = [own / other for own, other in zip(rates(name, kind), rates(bare, kind), strict=True)]
            result[f"{unit} rate over {bare}"] = statistics.median(ratios)
    return {key: round(value, 3) for key, value in result.items()}


def main() -> None:
    """Read the options and measure."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--images", type=int, default=500)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--network", default=ExtractorSettings.backbone)
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    store(measure(options.images, options.threads, options.rounds, options.network), options.out)


if __name__ == "__main__":
    main()
