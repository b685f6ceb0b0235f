"""What a robust epoch of LOND-DRS costs beside the bare network passes it needs, and beside its fast variant.

    python benchmarks/robust_step.py --root DATA [--threads 2] [--out FILE]

An epoch at mini80 is one identification (all images through the network, neighbours, margins) and 79 steps, of the fast
variant twice as many in half batches, each with views, targets, losses, backward and optimiser. Bare is what LOND-DRS
cannot leave out: 8B samples forward and backward and 4B forward a step (B = 128), on fixed tensors with a trivial loss.
A step of LOND-DRS, one of the fast variant and the bare passes take turns, so all meet the same load of the machine.
Times are CPU seconds of the process; medians are taken.
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
    """Return the CPU seconds of a call."""
    started = time.process_time()
    work()
    return time.process_time() - started


def bare_step(net: torch.nn.Module, images: torch.Tensor, size: int) -> None:
    """Run the passes of one step on fixed images."""
    net.train()
    with torch.no_grad():
        net(images)
    for count in BARE_GROUPS:
        out = net(images[: count * size])
        (out.embedding.sum() + out.ova_logits.sum()).backward()
    net.zero_grad(set_to_none=True)


class Epoch:
    """One robust epoch of a trained method, step by step."""

    def __init__(self, trainer: Trainer, epoch: int) -> None:
        """Time the identification, and prepare the steps."""
        method = trainer.method
        self.trainer, self.epoch, self.steps = trainer, epoch, list[float]()
        self.identify = [seconds(lambda: method.before_epoch(epoch, trainer.survey)) for _ in range(3)]
        (self.phase,) = method.before_epoch(epoch, trainer.survey)
        method.train()
        self.random = generator(0, "benchmark", epoch)
        self.count = trainer.batches.steps(self.phase)
        self.batches = trainer.batches.batches(self.phase, 0, epoch)

    def step(self, at: int) -> None:
        """Time one step, the making of its batch included."""
        clock = Clock(self.epoch, at, self.count)
        work = lambda: self.trainer.step(self.phase, next(self.batches), clock, self.random)  # noqa: E731
        self.steps.append(seconds(work))

    @property
    def total(self) -> float:
        """Median of the identification, and of a step times their number."""
        return statistics.median(self.identify) + self.count * statistics.median(self.steps)


def trained(method: str, root: str) -> Trainer:
    """Return a method after one epoch of warm-up on mini80."""
    config = preset("mini80-sym50", method)
    data = replace(config.data, benchmark=replace(config.data.benchmark, root=root))
    settings, length = replace(config.settings, warmup_epochs=1), replace(config.train, epochs=1)
    config = replace(config, data=data, settings=settings, train=length)
    samples, _, _ = load_data(config)
    built, views = build(config, shape_of(samples), samples.labels)
    trainer = Trainer(built, samples, views, config.train, config.optimiser, Runtime(), show_progress=False)
    trainer.run()
    return trainer


def main() -> None:
    """Measure, print and store the ratios."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--root", default="data", help="folder that holds cifar-100-python")
    parser.add_argument("--threads", type=int, default=0, help="CPU threads; 0 = PyTorch's choice")
    parser.add_argument("--out", type=Path, help="JSON file to write")
    args = parser.parse_args()
    if args.threads:
        torch.set_num_threads(args.threads)
    whole, fast = (Epoch(trained(name, args.root), epoch=1) for name in ("lond-drs", "lond-drs-fast"))
    pixels, size = whole.trainer.samples.pixels, whole.trainer.settings.batch_size
    images = torch.randn(4 * size, pixels.channels, *pixels.size).to(memory_format=torch.channels_last)
    bare = []
    for at in range(min(whole.count, fast.count)):
        whole.step(at)
        fast.step(at)
        bare.append(seconds(lambda: bare_step(whole.trainer.method.net, images, size)))
    floor = whole.count * statistics.median(bare)
    result = {
        "ratio": whole.total / floor,
        "fast": whole.total / fast.total,
        "cpu_seconds": {"lond-drs": whole.total, "lond-drs-fast": fast.total, "bare": floor},
        **machine(),
    }
    store(result, args.out)


if __name__ == "__main__":
    main()
