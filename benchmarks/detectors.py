"""Seconds and extra memory of every detector: fit on 50,000 samples, score 10,000; 512 features, 100 classes.

    python benchmarks/detectors.py [--threads 2] [--only knn] [--out FILE]

Each detector runs in its own process. Extra memory is the highest resident size during fit and score (VmHWM) beyond
the resident size before (VmRSS), the data being there already; what the detector keeps (KNN's bank) counts. RankFeat
has no fit; its maps are ResNet18's at 32 pixels (256 x 8 x 8 and 512 x 4 x 4), scored in batches of 250, and of the
network only pooling and the last layer run.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import torch
import torch.nn.functional as F
from store import machine, store
from torch import Tensor

from lond.detect import DETECTORS, Evidence

CLASSES, SIZE = 100, 512
MAP_BATCH = 250


class LinearNetwork:
    """A linear head on pooled maps, all that ReAct and RankFeat need of a network here."""

    def __init__(self) -> None:
        """Draw the weights."""
        random = torch.Generator().manual_seed(0)
        self.weight = torch.randn(CLASSES, SIZE, generator=random) / SIZE**0.5

    def evidence(self, images: Tensor, *, maps: bool = False) -> Evidence:
        """Return nothing: the benchmark starts from evidence."""
        return Evidence()

    def head(self, features: Tensor) -> Tensor:
        """Map features ``(B, 512)`` to logits ``(B, 100)``."""
        return F.linear(features, self.weight)

    def finish(self, block: int, maps: Tensor) -> Tensor:
        """Pool and map to logits."""
        pooled = maps.mean(dim=(2, 3))
        return F.linear(pooled, self.weight[:, : pooled.shape[1]])


def made(rows: int, seed: int, network: LinearNetwork) -> Evidence:
    """Return features around 100 class means (a ReLU behind them), logits and labels."""
    random = torch.Generator().manual_seed(seed)
    means = torch.randn(CLASSES, SIZE, generator=torch.Generator().manual_seed(99))
    labels = torch.randint(CLASSES, (rows,), generator=random)
    features = torch.randn(rows, SIZE, generator=random).add_(means[labels]).relu_()
    # A head that reads off the class means, so that most predictions are correct.
    network.weight = means / SIZE**0.5
    logits = network.head(features)
    return Evidence(features, logits, labels, class_scores=logits)


def memory(field: str) -> int:
    """Return a size in bytes from /proc/self/status."""
    line = next(line for line in Path("/proc/self/status").read_text().splitlines() if line.startswith(field))
    return int(line.split()[1]) * 1024


def measure(name: str, train_rows: int, test_rows: int) -> dict[str, float]:
    """Return seconds and extra megabytes of one detector."""
    network = LinearNetwork()
    detector = DETECTORS[name](network)
    train, test = made(train_rows, 0, network), made(test_rows, 1, network)
    if "maps" in detector.needs:
        random = torch.Generator().manual_seed(2)
        shapes = ((MAP_BATCH, 256, 8, 8), (MAP_BATCH, 512, 4, 4))
        earlier, last = (torch.randn(*shape, generator=random).relu_() for shape in shapes)
        batches = [Evidence(maps=(earlier, last))] * (test_rows // MAP_BATCH)
    else:
        batches = [test]
    Path("/proc/self/clear_refs").write_text("5")  # VmHWM starts anew at VmRSS
    before = memory("VmRSS")
    started = time.perf_counter()
    detector.fit_features(train)
    fitted = time.perf_counter()
    scores = torch.cat([detector.score_features(batch) for batch in batches])
    done = time.perf_counter()
    assert len(scores) == test_rows
    extra = (memory("VmHWM") - before) / 2**20
    return {"fit_seconds": fitted - started, "score_seconds": done - fitted, "extra_megabytes": extra}


def child(name: str, threads: int) -> dict[str, Any]:
    """Measure one detector in a process of its own."""
    command = [sys.executable, __file__, "--child", name, "--threads", str(threads)]
    result: dict[str, Any] = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
    return result


def main() -> None:
    """Measure, print and store."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--threads", type=int, default=0, help="CPU threads; 0 = PyTorch's choice")
    parser.add_argument("--only", nargs="*", choices=DETECTORS, help="detectors to measure; all if not given")
    parser.add_argument("--out", type=Path, help="JSON file to write")
    parser.add_argument("--child", choices=DETECTORS, help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.threads:
        torch.set_num_threads(args.threads)
    if args.child:
        print(json.dumps(measure(args.child, 50_000, 10_000)))
        return
    result = {
        "detectors": {name: child(name, args.threads) for name in args.only or DETECTORS},
        **machine(),
    }
    store(result, args.out)


if __name__ == "__main__":
    main()
