"""How an audit grows with the number of images: time, peak memory and quality of the verdicts on made-up embeddings.

    python -m benchmarks.large_audit [--images 10000 50000 200000 1000000] [--kill] [--out results/large_audit.jsonl]

Each size is audited by the command ``lond audit`` in a process of its own, on one thread unless told otherwise.
Where the process is killed, the same command runs again and goes on; CPU seconds are those of both.
A fifth of the labels of known images is wrong; a tenth of the images is of other classes. Sizes that the file holds
already are left out, so a stopped measurement goes on where it was.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import torch
from benchmarks.store import machine
from sklearn.metrics import average_precision_score

from lond.audit.judge.stage_files import FOLDER
from lond.audit.result import PARTS, SUMMARY, TABLE
from lond.audit.table import AuditTable, read_audit

WIDTH = 256
SPREAD = 3.0
"""Deviation of the images of a class in the first direction, less in later ones; that of the classes is 1 in all."""

WRONG, FOREIGN = 0.2, 0.1
"""Share of known images with a wrong label, and of images of no class."""


def classes_of(images: int) -> int:
    """Return the number of classes: 1,000 at a million images, and at least 10."""
    return max(10, images // 1000)


def blocks(images: int, classes: int = 0, width: int = WIDTH, seed: int = 0) -> Iterator[tuple[Any, Any, Any]]:
    """Yield embeddings, given labels and true labels (-1 = foreign) of some images at a time; 0 classes = by images."""
    classes = classes or classes_of(images)
    random = torch.Generator().manual_seed(seed)
    centres = torch.randn(classes + classes // 2, width, generator=random)
    deviations = SPREAD / (1 + torch.arange(width) / 16).sqrt()
    for start in range(0, images, 50_000):
        count = min(50_000, images - start)
        true = torch.randint(classes, (count,), generator=random)
        foreign = torch.rand(count, generator=random) < FOREIGN
        other = classes + torch.randint(classes // 2, (count,), generator=random)
        # Half of the foreign images are of classes of their own, half lie between two known ones.
        between = (centres[true] + centres[torch.randint(classes, (count,), generator=random)]) / 2
        strange = torch.where((torch.rand(count, generator=random) < 0.5)[:, None], centres[other], between)
        values = torch.where(foreign[:, None], strange, centres[true])
        values = values + deviations * torch.randn(count, width, generator=random)
        wrong = torch.rand(count, generator=random) < WRONG
        moved = (true + torch.randint(1, classes, (count,), generator=random)) % classes
        given = torch.where(wrong | foreign, moved, true)
        yield values.numpy(), given.numpy(), torch.where(foreign, -1, true).numpy()


def make(path: Path, images: int) -> np.ndarray[Any, Any]:
    """Write embeddings and given labels as .npz, and return the true labels."""
    values = np.empty((images, WIDTH), dtype=np.float32)
    given, true = np.empty(images, dtype=np.int64), np.empty(images, dtype=np.int64)
    at = 0
    for part in blocks(images):
        rows = slice(at, at + len(part[1]))
        values[rows], given[rows], true[rows] = part
        at = rows.stop
    np.savez(path, embeddings=values, labels=given)
    return true


def quality(table: AuditTable, true: np.ndarray[Any, Any]) -> dict[str, float]:
    """Return precision and recall of wrong labels and foreign images, and how well the scores rank them."""
    verdict, label = np.array(table.verdict), np.array([int(name) for name in table.label])
    suggested = np.array([int(name) if name else -1 for name in table.suggested_label])
    found: dict[str, float] = {}
    kinds = {
        "wrong": ((true >= 0) & (label != true), verdict == "mislabelled", table.wrong_score),
        "foreign": (true < 0, verdict == "foreign", table.foreign_score),
    }
    for name, (is_so, called, scores) in kinds.items():
        found[f"{name}_precision"] = float(is_so[called].mean()) if called.any() else 0.0
        found[f"{name}_recall"] = float(called[is_so].mean())
        found[f"{name}_average_precision"] = float(average_precision_score(is_so, np.array(scores)))
    right = suggested[verdict == "mislabelled"] == true[verdict == "mislabelled"]
    return found | {"suggestions_right": float(right.mean()) if len(right) else 0.0}


def recall_of(notes: list[str]) -> float:
    """Return the share of the true neighbours that an audit says it found; 1 where it says nothing."""
    found = [re.search(r"searched by cells, which finds about ([\d.]+) %", note) for note in notes]
    return next((float(match[1]) / 100 for match in found if match), 1.0)


def run(command: list[str], threads: int, kill_once: str) -> int:
    """Run a command, again where it was killed, and return how often that was.

    It is killed here once, as soon as the file ``kill_once`` is there; never if that is empty.
    """
    environment = os.environ | {"OMP_NUM_THREADS": str(threads), "OMP_WAIT_POLICY": "PASSIVE"}
    killed = 0
    while True:
        process = subprocess.Popen([*command, "--threads", str(threads)], env=environment, stdout=subprocess.DEVNULL)
        while kill_once and not killed and process.poll() is None:
            if Path(kill_once).exists():
                process.kill()
            time.sleep(0.5)
        if (code := process.wait()) >= 0:
            break
        killed += 1
        print(f"killed ({-code}); the same command again", file=sys.stderr, flush=True)
    if code:
        raise subprocess.CalledProcessError(code, command)
    return killed


def measure(images: int, threads: int, kill: bool) -> dict[str, Any]:
    """Return what one audit took and found; the process and its peak memory are its own."""
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        true = make(folder / "made.npz", images)
        out = folder / "audit"
        command = [sys.executable, "-m", "lond.cli", "audit", str(folder / "made.npz"), "--out", str(out)]
        before, started = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
        killed = run(command, threads, str(out / "heads" / FOLDER / "heads.safetensors") if kill else "")
        wall, after = time.perf_counter() - started, resource.getrusage(resource.RUSAGE_CHILDREN)
        table = read_audit(out / TABLE if (out / TABLE).is_file() else out / PARTS)
        summary = json.loads((out / SUMMARY).read_text())
        rates = summary["rates"]
        written = sum(path.stat().st_size for path in out.rglob("*") if path.is_file())
        return {
            "images": images,
            "classes": classes_of(images),
            "width": WIDTH,
            "cpu_seconds": after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime,
            "wall_seconds": wall,
            "killed_and_resumed": killed,
            "peak_gigabytes": after.ru_maxrss / 2**20,
            "written_gigabytes": written / 2**30,
            **quality(table, true),
            "neighbours_recall": recall_of(summary["notes"]),
            "estimated_wrong": rates["wrong"]["estimate"],
            "estimated_foreign": rates["foreign"]["estimate"],
            "true_wrong": WRONG * (1 - FOREIGN),
            "true_foreign": FOREIGN,
            **(machine() | {"threads": threads}),
        }


def main() -> None:
    """Measure the sizes that the file does not hold yet, the smallest first."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--images", type=int, nargs="+", default=[10_000, 50_000, 200_000, 1_000_000])
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--kill", action="store_true", help="kill each audit once, after its heads, and resume it")
    parser.add_argument("--out", type=Path, default=Path("results/large_audit.jsonl"))
    args = parser.parse_args()
    held = args.out.read_text().splitlines() if args.out.is_file() else []
    done = {json.loads(line)["images"] for line in held}
    for images in sorted(set(args.images) - done):
        # Peak memory of children is that of the largest so far, so the smallest set goes first.
        result = measure(images, args.threads, args.kill)
        args.out.parent.mkdir(parents=True, exist_ok=True)
        with args.out.open("a") as file:
            file.write(json.dumps(result) + "\n")
        print(json.dumps(result, indent=2), flush=True)


if __name__ == "__main__":
    main()
