"""How much a robust epoch costs beyond the bare network passes it needs, both measured in turns in the same run.

    python benchmarks/robust_step.py --root DATA [--rounds 3] [--steps 26] [--threads 2]

An epoch at mini80 is one identification (all images through the network, neighbours, margins) and 79 steps, each with
views, targets, losses, backward and optimiser. Bare is what no implementation can leave out: 8B samples forward and
backward and 4B forward a step (B = 128), on fixed tensors with a trivial loss. Prints and stores the ratio.
"""

from __future__ import annotations

import argparse
import json
import platform
import statistics
import time
from dataclasses import replace
from pathlib import Path

import torch

from lond.presets import preset
from lond.runs import build, load_data, shape_of
from lond.train import Runtime, Trainer
from lond.train.progress import ProgressBar


def bare_seconds(trainer: Trainer, steps: int) -> float:
    """Return the time of the bare passes of ``steps`` steps: 4B, 2B and 2B with gradient, 4B without."""
    net, size = trainer.method.net, trainer.settings.batch_size
    channels, (height, width) = trainer.samples.pixels.channels, trainer.samples.pixels.size
    images = torch.randn(4 * size, channels, height, width).to(memory_format=torch.channels_last)
    net.train()
    started = time.perf_counter()
    for _ in range(steps):
        with torch.no_grad():
            net(images)
        for count in (4, 2, 2):
            out = net(images[: count * size])
            (out.embedding.sum() + out.ova_logits.sum()).backward()
        net.zero_grad(set_to_none=True)
    return time.perf_counter() - started


def epoch_seconds(trainer: Trainer, epoch: int) -> float:
    """Return the time of a whole robust epoch without its evaluation."""
    started = time.perf_counter()
    with ProgressBar("", 1, show=False) as bar:
        for phase in trainer.method.before_epoch(epoch, trainer._survey):
            trainer._phase(phase, epoch, bar)
    return time.perf_counter() - started


def main() -> None:
    """Measure in turns and print the ratio."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--root", default="data", help="folder that holds cifar-100-python")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--threads", type=int, default=0)
    parser.add_argument("--out", type=Path, help="JSON file to write")
    args = parser.parse_args()
    if args.threads:
        torch.set_num_threads(args.threads)
    config = preset("mini80-sym50")
    benchmark = replace(config.data.benchmark, root=args.root)
    config = replace(config, data=replace(config.data, benchmark=benchmark), settings=replace(config.settings, warmup_epochs=0))
    samples, _, _ = load_data(config)
    method, views = build(config, shape_of(samples), samples.labels)
    trainer = Trainer(method, samples, views, config.train, config.optimiser, Runtime(), show_progress=False)
    steps = -(-len(samples) // config.train.batch_size)
    bare_seconds(trainer, 3)
    rounds = []
    for epoch in range(args.rounds):
        before = bare_seconds(trainer, steps // 2)
        whole = epoch_seconds(trainer, epoch)
        bare = before + bare_seconds(trainer, steps - steps // 2)
        rounds.append({"bare": bare, "epoch": whole, "ratio": whole / bare})
        print(f"round {epoch}: bare {bare:.1f} s, epoch {whole:.1f} s, ratio {whole / bare:.3f}", flush=True)
    result = {
        "ratio": statistics.median(r["ratio"] for r in rounds),
        "rounds": rounds,
        "threads": torch.get_num_threads(),
        "torch": torch.__version__,
        "machine": platform.processor() or platform.machine(),
    }
    print(f"median ratio {result['ratio']:.3f} on {result['threads']} thread(s)")
    if args.out:
        args.out.write_text(json.dumps(result, indent=2) + "\n")


if __name__ == "__main__":
    main()
