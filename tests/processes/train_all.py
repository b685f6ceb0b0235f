"""Train methods on tiny images and features with some processes, and keep what each ends with.

python train_all.py PROCESSES FOLDER [METHOD ...]
"""

from __future__ import annotations

import sys
import warnings
from dataclasses import replace
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))

import numpy as np
import torch
from methods.tiny import VIEWS, default_settings, tiny_samples

from lond.data.feature_views import FeaturePixels, FeatureViews, FeatureViewSettings
from lond.data.views import ViewMaker
from lond.methods import METHODS, Task, sed
from lond.nets import build_backbone
from lond.seeds import own_random_state
from lond.train import OptimiserSettings, Runtime, RuntimeSettings, Trainer, TrainSettings
from lond.train.checkpoint import save_state
from lond.types import Samples

COUNT = 21
"""Images: batches of 16 leave 5, which two processes cannot share evenly. So few since processes wait much."""

INPUTS = ("images", "features")


def noisy_samples(kind: str) -> Samples:
    """Return images of three classes, or features of them, of which some have a wrong label."""
    labels = torch.arange(COUNT) % 3
    labels[:6] = (labels[:6] + 1) % 3
    samples = tiny_samples(COUNT, labels=labels)
    if kind == "images":
        return samples
    centres = 3 * np.eye(3, 8)
    values = centres[np.arange(COUNT) % 3][:, None] + np.random.default_rng(0).normal(size=(COUNT, 2, 8))
    return replace(samples, pixels=FeaturePixels(values.astype("float32")))


def trainer_of(name: str, kind: str, runtime: Runtime, folder: Path | None = None) -> Trainer:
    """Return a trainer of two epochs, a warm-up and one after it."""
    samples, settings = noisy_samples(kind), default_settings(name)
    if name == "cir-plus":
        settings = replace(settings, iterations=2, rotation_weight=float(kind == "images"))
    if name == "lond-drs":
        settings = replace(settings, witness=True)
    backbone, width = ("features", 0.03) if kind == "features" else ("seven-layer", 0.25)
    pixels = samples.pixels
    task = Task(
        samples.labels,
        3,
        lambda: build_backbone(backbone, in_channels=pixels.channels, image_size=pixels.size, width=width),
    )
    with own_random_state(0, "initial weights"):
        method = METHODS[name](settings, task)
    return Trainer(
        method,
        samples,
        FeatureViews(FeatureViewSettings()) if kind == "features" else ViewMaker(VIEWS, 1),
        TrainSettings(epochs=2, batch_size=16, average_last=1),
        OptimiserSettings(learning_rate=0.02, constant_epochs=1),
        runtime,
        test=samples,
        folder=folder,
        show_progress=False,
    )


def end_of(name: str, kind: str, runtime: Runtime) -> dict[str, Any]:
    """Return what a method ends with: weights, verdicts, predictions, history."""
    trainer = trainer_of(name, kind, runtime)
    history = trainer.run().history
    return {
        "method": trainer.method.state_dict(),
        "extra": trainer.method.extra_state(),
        "told": vars(trainer.predict(trainer.samples)),
        "history": history,
    }


def prepare() -> None:
    """Be silent, and leave warm-up however little is known."""
    warnings.simplefilter("ignore")
    torch.set_num_threads(1)
    sed.PATIENCE = 0


def main() -> None:
    """Train all and write one file per method, input and process; leave a run that was cut, too."""
    prepare()
    folder = Path(sys.argv[2])
    runtime = Runtime(RuntimeSettings("cpu", devices=int(sys.argv[1]), threads=1, timeout=60))
    for name in sys.argv[3:] or METHODS:
        for kind in INPUTS:
            save_state(folder / f"{name}-{kind}-{runtime.rank}", end_of(name, kind, runtime))
    cut = trainer_of("standard", "images", runtime, folder=folder)
    cut.settings = replace(cut.settings, epochs=1)
    cut.run()
    runtime.barrier()
    runtime.close()


if __name__ == "__main__":
    main()
