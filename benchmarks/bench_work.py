"""What ``benchmarks.bench`` measures: each function is work that one process does and is timed for.

    python -m benchmarks.bench_work FUNCTION SIZE

A function imports what it needs, prepares its data and returns the work. The last line printed is the CPU seconds of
the work and the peak memory.
"""

from __future__ import annotations

import contextlib
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

Work = Callable[[], Any]

NEIGHBOURS, WIDTH = 50, 256
VOTERS, EMBEDDING, CLASSES = 200, 128, 80
NETWORK_WIDTH = 1280
"""Width of the features of the audit's own network."""
NARROW = 10, 256
"""Classes and width of small embeddings."""
STEPS = 8
"""Robust steps that are timed."""


def unit_rows(size: int, width: int) -> Any:
    """Return unit vectors around a class for every thousand."""
    import torch

    random = torch.Generator().manual_seed(0)
    centres = torch.randn(max(10, size // 1000), width, generator=random)
    own = torch.randint(len(centres), (size,), generator=random)
    return torch.nn.functional.normalize(centres[own] + 1.5 * torch.randn(size, width, generator=random), dim=1)


def search(size: int) -> Work:
    """Search as the package does."""
    from lond.identify import nearest_neighbours

    bank = unit_rows(size, WIDTH)
    return lambda: nearest_neighbours(bank, NEIGHBOURS)


def faiss_flat(size: int) -> Work:
    """Search with a flat index of faiss."""
    import faiss
    import torch

    faiss.omp_set_num_threads(torch.get_num_threads())
    bank = unit_rows(size, WIDTH).numpy()

    def work() -> Any:
        index = faiss.IndexFlatIP(WIDTH)
        index.add(bank)
        return index.search(bank, NEIGHBOURS)

    return work


def identification(size: int) -> Work:
    """Identify noise with the paper's settings."""
    import torch

    from lond.identify import identify

    random = torch.Generator().manual_seed(1)
    embeddings, positives = unit_rows(size, EMBEDDING), torch.rand(size, CLASSES, generator=random)
    labels = torch.randint(CLASSES, (size,), generator=random)
    return lambda: identify(labels, positives, embeddings)


def bare_product(size: int) -> Work:
    """Multiply all pairs and take the largest, in blocks."""
    bank = unit_rows(size, EMBEDDING)

    def work() -> None:
        for start in range(0, size, 512):
            (bank[start : start + 512] @ bank.T).topk(VOTERS, dim=1)

    return work


def made(size: int, classes: int, width: int) -> tuple[Any, Any]:
    """Return embeddings and given labels, made up as for the large audits."""
    import numpy as np
    from benchmarks.large_audit import blocks

    parts = list(blocks(size, classes, width))
    return np.concatenate([part[0] for part in parts]), np.concatenate([part[1] for part in parts])


def audit(size: int, classes: int = CLASSES, width: int = NETWORK_WIDTH) -> Work:
    """Audit embeddings as ``lond audit`` does, with map, model, table and page."""
    import torch

    from lond.audit.run import audit as run_audit
    from lond.train.runtime import RuntimeSettings

    # The package imports these when they are first needed; here, as on the other side, no import is timed.
    for name in ("lightning_fabric", "openTSNE", "pandas", "pyarrow.parquet"):
        import_module(name)
    values, labels = made(size, classes, width)

    def work() -> None:
        with tempfile.TemporaryDirectory() as place:
            runtime = RuntimeSettings(threads=torch.get_num_threads())
            run_audit((values, labels), folder=Path(place) / "heads", runtime=runtime).save(place)

    return work


def audit_narrow(size: int) -> Work:
    """Audit narrow embeddings of few classes."""
    return audit(size, *NARROW)


def cleanlab_narrow(size: int) -> Work:
    """Let cleanlab look at the same."""
    return cleanlab(size, *NARROW)


def cleanlab(size: int, classes: int = CLASSES, width: int = NETWORK_WIDTH) -> Work:
    """Find label issues and outliers with cleanlab, by a cross-validated logistic regression."""
    from cleanlab import Datalab
    from cleanlab.filter import find_label_issues
    from sklearn.linear_model import LogisticRegression
    from sklearn.model_selection import cross_val_predict
    from sklearn.preprocessing import StandardScaler

    values, labels = made(size, classes, width)

    def work() -> None:
        scaled = StandardScaler().fit_transform(values)
        probe = LogisticRegression(max_iter=200)
        chances = cross_val_predict(probe, scaled, labels, cv=5, method="predict_proba")
        find_label_issues(labels, chances, return_indices_ranked_by="self_confidence")
        lab = Datalab({"labels": labels.tolist()}, label_name="labels", verbosity=0)
        with contextlib.redirect_stdout(sys.stderr):
            lab.find_issues(features=scaled, issue_types={"outlier": {}})

    return work


def _trainer() -> Any:
    """Return a trainer of LOND-DRS at mini80, ready for a robust epoch."""
    from dataclasses import replace

    from lond.presets.benchmarks import preset
    from lond.runs import build, load_data, shape_of
    from lond.train import Runtime, Trainer

    config = preset("mini80-sym50")
    data = replace(config.data, benchmark=replace(config.data.benchmark, root=os.environ["LOND_DATA"]))
    settings = replace(config.settings, warmup_epochs=0)
    config = replace(config, data=data, settings=settings, train=replace(config.train, epochs=1))
    samples, _, _ = load_data(config)
    method, views = build(config, shape_of(samples), samples.labels)
    return Trainer(method, samples, views, config.train, config.optimiser, Runtime(), show_progress=False)


def robust_step(size: int) -> Work:
    """Take some robust steps: views, targets, losses, backward and optimiser."""
    from lond.seeds import generator
    from lond.types import Clock

    trainer = _trainer()
    (phase,) = trainer.method.before_epoch(0, trainer.survey)
    trainer.method.train()
    random, batches = generator(0, "benchmark"), trainer.batches.batches(phase, 0, 0)

    def work() -> None:
        for step in range(STEPS):
            trainer.step(phase, next(batches), Clock(0, step, STEPS), random)

    return work


def bare_step(size: int) -> Work:
    """Run the passes of the network that the same steps need, on fixed images."""
    import torch

    trainer = _trainer()
    batch, pixels = trainer.settings.batch_size, trainer.samples.pixels
    images = torch.randn(4 * batch, pixels.channels, *pixels.size).to(memory_format=torch.channels_last)
    net = trainer.method.net

    def work() -> None:
        net.train()
        for _ in range(STEPS):
            with torch.no_grad():
                net(images)
            for count in (4, 2, 2):
                out = net(images[: count * batch])
                (out.embedding.sum() + out.ova_logits.sum()).backward()
            net.zero_grad(set_to_none=True)

    return work


def _command(*words: str) -> Work:
    return lambda: subprocess.run([sys.executable, *words], check=True, stdout=subprocess.DEVNULL)


def help_page(size: int) -> Work:
    """Print the help of the command line."""
    return _command("-m", "lond.cli", "--help")


def import_typer(size: int) -> Work:
    """Import what the command line stands on."""
    return _command("-c", "import typer")


WORKS: dict[str, Callable[[int], Work]] = {
    work.__name__: work
    for work in (
        *(search, faiss_flat, identification, bare_product),
        *(audit, cleanlab, audit_narrow, cleanlab_narrow),
        *(robust_step, bare_step, help_page, import_typer),
    )
}


def _cpu_seconds() -> float:
    """Return CPU seconds of this process and of those it waited for."""
    own, children = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return own.ru_utime + own.ru_stime + children.ru_utime + children.ru_stime


def main() -> None:
    """Prepare, work, and tell what the work took."""
    work = WORKS[sys.argv[1]](int(sys.argv[2]))
    before, started = _cpu_seconds(), time.perf_counter()
    work()
    seconds, wall = _cpu_seconds() - before, time.perf_counter() - started
    peak = max(resource.getrusage(who).ru_maxrss for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    print(json.dumps({"cpu_seconds": seconds, "wall_seconds": wall, "peak_gigabytes": peak / 2**20}))


if __name__ == "__main__":
    main()
