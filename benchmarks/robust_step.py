"""How much a robust epoch costs beyond the bare network passes it needs, both measured in turns in the same run.

    python benchmarks/robust_step.py --root DATA [--threads 2] [--out FILE]

An epoch at mini80 is one identification (all images through the network, neighbours, margins) and 79 steps, each with
views, targets, losses, backward and optimiser. Bare is what no implementation can leave out: 8B samples forward and
backward and 4B forward a step (B = 128), on fixed tensors with a trivial loss. Each step is followed by its bare
counterpart, so both meet the same load of the machine; medians are taken.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch
from store import machine, store

from lond.presets.benchmarks import preset
from lond.runs import build, load_data, shape_of
from lond.seeds import generator
from lond.train import Runtime, Trainer
from lond.types import Clock

BARE_GROUPS = (4, 2, 2)
"""Forward and backward passes of a step, in batches: supervised, consistency, contrastive."""


def seconds(work: Callable[[], Any]) -> float:
    """Return the duration of a call."""
    started = time.perf_counter()
    work()
    return time.perf_counter() - started


def bare_step(net: torch.nn.Module, images: torch.Tensor, size: int) -> None:
    """Run the passes of one step on fixed images."""
    net.train()
    with torch.no_grad():
        net(images)
    for count in BARE_GROUPS:
        out = net(images[: count * size])
        (out.embedding.sum() + out.ova_logits.sum()).backward()
    net.zero_grad(set_to_none=True)


def measure(trainer: Trainer, epoch: int) -> dict[str, float]:
    """Return seconds of one robust epoch: its identification (median of three), its steps and its bare passes.

    Steps and bare passes are medians times their number, so that a moment's load of the machine does not count.
    """
    size, method = trainer.settings.batch_size, trainer.method
    channels, (height, width) = trainer.samples.pixels.channels, trainer.samples.pixels.size
    images = torch.randn(4 * size, channels, height, width).to(memory_format=torch.channels_last)
    identify = [seconds(lambda: method.before_epoch(epoch, trainer.survey)) for _ in range(3)]
    (phase,) = method.before_epoch(epoch, trainer.survey)
    method.train()
    random = generator(0, "benchmark", epoch)
    count = trainer.batches.steps(phase)
    batches = trainer.batches.batches(phase, 0, epoch)
    steps, bare = [], []
    for step in range(count):
        clock = Clock(epoch, step, count)
        steps.append(seconds(lambda clock=clock: trainer.step(phase, next(batches), clock, random)))
        bare.append(seconds(lambda: bare_step(method.net, images, size)))
    medians = [statistics.median(times) for times in (identify, steps, bare)]
    return {"identify": medians[0], "steps": count * medians[1], "bare": count * medians[2]}


def main() -> None:
    """Measure, print and store the ratio."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--root", default="data", help="folder that holds cifar-100-python")
    parser.add_argument("--threads", type=int, default=0, help="CPU threads; 0 = PyTorch's choice")
    parser.add_argument("--out", type=Path, help="JSON file to write")
    args = parser.parse_args()
    if args.threads:
        torch.set_num_threads(args.threads)
    config = preset("mini80-sym50")
    data = replace(config.data, benchmark=replace(config.data.benchmark, root=args.root))
    settings, length = replace(config.settings, warmup_epochs=1), replace(config.train, epochs=1)
    config = replace(config, data=data, settings=settings, train=length)
    samples, _, _ = load_data(config)
    method, views = build(config, shape_of(samples), samples.labels)
    trainer = Trainer(method, samples, views, config.train, config.optimiser, Runtime(), show_progress=False)
    trainer.run()
    times = measure(trainer, epoch=1)
    result = {
        "ratio": (times["identify"] + times["steps"]) / times["bare"],
        "seconds": times,
        **machine(),
    }
    store(result, args.out)


if __name__ == "__main__":
    main()
