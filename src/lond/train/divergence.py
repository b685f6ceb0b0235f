"""What to tell, and to keep, when a loss is not finite."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Self

import torch
from torch import Tensor

from lond.errors import CollapseError
from lond.io.json_files import json_line, parse_object, write_json
from lond.train.runtime import Runtime
from lond.types import Batch, Samples

DIVERGED = "not_finite.json"
"""File in the run folder that names the images of the batch whose loss was not finite."""

STEPS = 50
"""Steps between two looks at the losses where each look would make devices or processes wait."""


@dataclass(frozen=True)
class Divergence:
    """The first step whose loss was not finite.

    ``losses`` are its terms; ``ids`` the images of its batches, by stream; ``bad_inputs`` those whose pixels or
    features are not finite themselves; ``without_labels`` the streams that held no labelled image.
    """

    epoch: int
    phase: str
    step: int
    process: int
    losses: dict[str, str]
    ids: dict[str, list[str]]
    bad_inputs: list[str]
    without_labels: list[str]

    def advice(self, precision: str) -> str:
        """Return what to do about the likeliest cause."""
        if self.bad_inputs:
            return f"The input of {_few(self.bad_inputs)} is not finite: mend or leave out these images or features."
        lower = "lower optimiser.learning_rate" + (
            "" if precision == "32-true" else " or use runtime.precision=32-true"
        )
        if self.without_labels:
            streams = ", ".join(self.without_labels)
            return f"The batch holds no labelled image (in {streams}): raise train.batch_size, label more, or {lower}."
        return f"Training diverged: {lower}."


@dataclass(frozen=True)
class _Seen:
    """What is kept of a batch: without its views, which would fill the memory of a device."""

    indices: Tensor
    labels: Tensor
    broken: Tensor

    @classmethod
    def of(cls, batch: Batch) -> Self:
        # A sum shows any NaN or infinity at a fraction of the cost of isfinite() on all values.
        sums = torch.stack([view.float().flatten(1).sum(dim=1) for view in batch.views])
        return cls(batch.indices, batch.labels, ~sums.isfinite().all(dim=0))


class LossWatch:
    """Keeps what the last steps of a phase were made of until their losses have been looked at."""

    def __init__(self, samples: Samples, runtime: Runtime, epoch: int, phase: str) -> None:
        """Watch a phase of an epoch."""
        self.samples, self.runtime, self.epoch, self.phase = samples, runtime, epoch, phase
        self._waiting: list[tuple[int, dict[str, _Seen], dict[str, Tensor]]] = []
        self._every = 1 if runtime.processes == 1 and runtime.device.type == "cpu" else STEPS

    def add(self, step: int, steps: int, batches: dict[str, Batch], losses: dict[str, Tensor]) -> Divergence | None:
        """Take note of a step; return the first one that went wrong, in any process, if it is time to look."""
        if self._every == 1 and bool(torch.stack(list(losses.values())).isfinite().all()):
            return None
        self._waiting.append((step, {stream: _Seen.of(batch) for stream, batch in batches.items()}, losses))
        if len(self._waiting) < self._every and step + 1 < steps:
            return None
        waiting, self._waiting = self._waiting, []
        good = torch.stack([torch.stack(list(losses.values())).isfinite().all() for _, _, losses in waiting])
        if not float(self.runtime.total((~good).any().float())):
            return None
        own = [] if bool(good.all()) else [self._describe(*waiting[int((~good).nonzero()[0])])]
        # Every process hears of all, so that all stop with the same message.
        texts = self.runtime.union([json_line(asdict(found)) for found in own])
        return min((Divergence(**parse_object(text)) for text in texts), key=lambda found: (found.step, found.process))

    def _describe(self, step: int, batches: dict[str, _Seen], losses: dict[str, Tensor]) -> Divergence:
        ids = {stream: [self.samples.ids[index] for index in seen.indices.tolist()] for stream, seen in batches.items()}
        broken = [
            name
            for stream, seen in batches.items()
            for name, bad in zip(ids[stream], seen.broken.tolist(), strict=True)
            if bad
        ]
        return Divergence(
            self.epoch,
            self.phase,
            step,
            self.runtime.rank,
            {name: f"{float(value):g}" for name, value in losses.items()},
            ids,
            list(dict.fromkeys(broken)),
            [stream for stream, seen in batches.items() if not bool((seen.labels >= 0).any())],
        )


def collapse(found: Divergence, folder: Path | None, checkpoint: Path | None, runtime: Runtime) -> CollapseError:
    """Write the images of the step into the run folder, and return the error to raise.

    Args:
        found: what went wrong.
        folder: of the run; None writes nothing.
        checkpoint: the file to go on from, if there is one.
        runtime: of the run.
    """
    if folder is not None and runtime.is_main:
        write_json(folder / DIVERGED, asdict(found))
    terms = ", ".join(f"{name} {value}" for name, value in found.losses.items() if not math.isfinite(float(value)))
    where = "" if folder is None else f" The images of the batch are in {folder / DIVERGED}."
    kept = "" if checkpoint is None else f" {checkpoint} holds the epoch before it."
    return CollapseError(
        f"the loss of epoch {found.epoch}, step {found.step} is not finite ({terms}).{where}{kept} "
        + found.advice(runtime.precision)
    )


def _few(ids: list[str]) -> str:
    return ", ".join(repr(name[:80]) for name in ids[:3]) + (f" and {len(ids) - 3} others" if len(ids) > 3 else "")
