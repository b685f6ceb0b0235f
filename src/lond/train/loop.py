"""The only training loop; it knows the method protocol and no method."""

from __future__ import annotations

import time
import warnings
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from itertools import takewhile
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from lond.data.batches import BatchMaker, ordered_views
from lond.data.squares import note_unreadable, unreadable
from lond.data.views import Views
from lond.errors import ConfigError, DataError, counted
from lond.evaluate import evaluate_predictions, selection_quality
from lond.methods.base import Method
from lond.processes.group import together
from lond.processes.rows import share_rows
from lond.progress.work import Work, work_here
from lond.seeds import generator, own_random_state
from lond.train.divergence import LossWatch, collapse
from lond.train.log import JsonLines
from lond.train.runtime import Runtime
from lond.train.schedule import OptimiserSettings, build_optimiser, set_rate
from lond.train.state import RUNTIME, newest_checkpoint, read_checkpoint, save_checkpoint, told_change
from lond.types import Batch, Clock, Phase, Prediction, Samples

LOG = "log.jsonl"


@dataclass(frozen=True)
class TrainSettings:
    """Length, batch and reporting of a run; the paper's values for CIFAR."""

    epochs: int = 300
    batch_size: int = 128
    """Samples a stream and step, over all processes."""
    average_last: int = 10
    """The reported figures are means over this many last epochs."""
    max_steps: int = 0
    """At most this many steps of a phase after warm-up, drawn anew each epoch, for costly methods; 0 = all."""
    evaluate_every: int = 1
    """Epochs between two evaluations; the last ``average_last`` epochs are always evaluated."""
    evaluation_batch: int = 500
    seed: int = 0
    """Seed of the training: initial weights, order, views, mixing."""

    def __post_init__(self) -> None:
        """Check that counts of epochs, steps and images are large enough."""
        if self.epochs < 1 or self.batch_size < 2 or self.evaluation_batch < 1:
            raise ConfigError("epochs and evaluation_batch must be at least 1, batch_size at least 2")
        if self.average_last < 1 or self.evaluate_every < 1:
            raise ConfigError("average_last and evaluate_every must be at least 1")
        if self.max_steps < 0:
            raise ConfigError("max_steps must not be negative (0 = all steps)")


@dataclass(frozen=True)
class Result:
    """What a run ends with: means over the last epochs, and the record of every epoch."""

    metrics: dict[str, float]
    history: list[dict[str, Any]]


class Trainer:
    """Trains one method on one sample set, with evaluation, log and checkpoints in ``folder`` (None: keep nothing)."""

    def __init__(
        self,
        method: Method,
        samples: Samples,
        views: Views,
        settings: TrainSettings,
        optimiser: OptimiserSettings,
        runtime: Runtime,
        *,
        test: Samples | None = None,
        folder: Path | None = None,
        identity: Mapping[str, Any] | None = None,
        label: str = "training",
        show_progress: bool | None = None,
    ) -> None:
        """Put everything on the device; ``identity`` says whose the checkpoints are, and is checked on resuming."""
        if (samples.labels >= 0).sum() < 2:
            raise DataError("training needs at least two labelled images")
        if test is not None and not len(test):
            raise DataError("the test set holds no images; leave it out or mend its source")
        self.settings, self.optimiser_settings, self.runtime = settings, optimiser, runtime
        self.samples, self.test, self.views, self.folder = samples, test, views, folder
        self.method = method.to(runtime.device, memory_format=torch.channels_last)  # type: ignore[call-overload]
        self.optimiser = runtime.optimiser(build_optimiser(method.parameters(), optimiser))
        self.batches = BatchMaker(
            samples, views, settings.batch_size, runtime.device, settings.max_steps, runtime.group
        )
        self.history: list[dict[str, Any]] = []
        self.identity = dict(identity or {})
        self.label, self.show_progress = label, show_progress if runtime.is_main else False

    def resume(self) -> bool:
        """Continue from the folder's newest whole checkpoint if there is one; tell whether there was.

        Raises:
            DataError: all are damaged, or it is of another run, or does not fit the method, or not every process finds
                the same.
        """
        found = self._load()
        if self.runtime.processes > 1 and len(set(self.runtime.group.gather_objects(len(self.history)))) > 1:
            raise DataError(
                f"the processes find different checkpoints in {self.folder}: all machines must see the same run folder"
            )
        return found

    def _load(self) -> bool:
        main = self.runtime.is_main
        saved = None if self.folder is None else read_checkpoint(self.folder, self.identity, say=main)
        if saved is None:
            return False
        state = saved.state
        try:
            self.method.load_state_dict(state["method"])
            self.method.load_extra_state(state["extra"])
            self.optimiser.load_state_dict(state["optimiser"])
            self.runtime.load_state_dict(state["runtime"])
        except (RuntimeError, LookupError, TypeError, ValueError, AttributeError) as error:
            text = " ".join(str(error).split())[:300]
            raise DataError(f"the checkpoint of {self.folder} does not fit its network: {text}") from error
        self.history = state["history"]
        unfinished = len(self.history) < self.settings.epochs
        if main and unfinished and (change := told_change(saved.identity, self._way())):
            warnings.warn(f"the run resumes in another way ({change}); its result may differ a little", stacklevel=2)
        return True

    def _way(self) -> dict[str, Any]:
        """Return how it is computed, as far as it changes results."""
        return {"precision": self.runtime.precision, "processes": self.runtime.processes}

    def run(self) -> Result:
        """Train the epochs that are missing."""
        log = JsonLines(self.folder / LOG) if self.folder and self.runtime.is_main else None
        if log:
            log.restart(self.history)
        with work_here("training", show=self.show_progress) as work:
            work.begin(self.label)
            for epoch in range(len(self.history), self.settings.epochs):
                # The 0 was the rank: all processes draw alike.
                with own_random_state(self.settings.seed, "global", epoch, 0), self.runtime.together():
                    record = self._epoch(epoch, work)
                self.history.append(record)
                if log:
                    self._save()
                    log.append(record)
                if self.runtime.is_main:
                    work.record(record)
        self.runtime.barrier()
        return Result(mean_of_last(self.history, self.settings.average_last), self.history)

    def _epoch(self, epoch: int, work: Work) -> dict[str, Any]:
        started = time.perf_counter()
        rate = set_rate(self.optimiser, epoch, self.settings.epochs, self.optimiser_settings)
        in_steps = 0.0
        losses: dict[str, dict[str, float]] = {}
        for phase in self.method.before_epoch(epoch, self.survey):
            begun = time.perf_counter()
            losses[phase.name] = self._phase(phase, epoch, work)
            in_steps += time.perf_counter() - begun
        self.method.after_epoch(epoch)
        self.runtime.average_buffers(self.method)
        trained = time.perf_counter()
        record: dict[str, Any] = {
            "epoch": epoch,
            "phase": "+".join(losses),
            "learning_rate": rate,
            **_together(losses),
            **self._selection(),
            **self._evaluation(epoch),
        }
        record["seconds"] = {
            "identify": trained - started - in_steps,
            "train": in_steps,
            "evaluate": time.perf_counter() - trained,
        }
        return record

    def _phase(self, phase: Phase, epoch: int, work: Work) -> dict[str, float]:
        """Run the steps of a phase and return the mean of every loss term."""
        self.method.train()
        steps = self.batches.steps(phase)
        if not steps:
            raise DataError(f"{counted(phase.lead, 'image')} are too few to train on")
        random = generator(self.settings.seed, "step", epoch, phase.name, 0)
        sums: dict[str, Tensor] = {}
        counts: Counter[str] = Counter()
        watch = LossWatch(self.samples, self.runtime, epoch, phase.name)
        for step, batches in enumerate(self.batches.batches(phase, self.settings.seed, epoch)):
            losses = self.step(phase, batches, Clock(epoch, step, steps), random)
            if found := watch.add(step, steps, batches, losses):
                raise collapse(found, self.folder, newest_checkpoint(self.folder), self.runtime)
            for name, value in losses.items():
                sums[name] = sums.get(name, torch.zeros((), device=value.device)) + value
                counts[name] += 1
            done = (epoch + (step + 1) / steps) / self.settings.epochs
            work.move(done, f"epoch {epoch + 1}/{self.settings.epochs} {phase.name}")
        return {name: float(value.float()) / counts[name] for name, value in sums.items()}

    def step(self, phase: Phase, batches: dict[str, Batch], clock: Clock, random: torch.Generator) -> dict[str, Tensor]:
        """Make one step and return the loss and the mean of each of its terms."""
        with self.runtime.autocast():
            terms = self.method.step(phase.name, batches, clock, random)
            # A term without a sample adds nothing, but its parameters get a gradient of 0.
            means = {
                name: term.values.mean() if len(term.values) else term.values.sum() for name, term in terms.items()
            }
            total = torch.stack([terms[name].weight * mean for name, mean in means.items()]).sum()
        self.optimiser.zero_grad(set_to_none=True)
        self.runtime.backward(total, self.method.parameters())
        self.optimiser.step()
        self.method.after_step()
        counted = {f"loss_{name}": mean.detach() for name, mean in means.items() if len(terms[name].values)}
        return {"loss": total.detach(), **counted}

    def survey(self, describe: Callable[[Tensor], tuple[Tensor, ...]]) -> tuple[Tensor, ...]:
        """Map every training sample through ``describe``; see ``lond.methods.base.Survey``."""
        return self._map(self.samples, describe)

    @torch.no_grad()
    def _map(self, samples: Samples, describe: Callable[[Tensor], tuple[Tensor, ...]]) -> tuple[Tensor, ...]:
        """Map the test view of every sample through ``describe``; each process does its share."""
        self.method.eval()
        runtime, size = self.runtime, self.settings.evaluation_batch

        def describe_rows(rows: slice) -> tuple[Tensor, ...]:
            indices, parts = torch.arange(len(samples))[rows], []
            for images in ordered_views(samples.pixels, self.views, size, runtime.device, indices):
                with together(None), runtime.autocast():
                    parts.append([part.float() for part in describe(images)])
            return tuple(torch.cat(column) for column in zip(*parts, strict=True))

        # A process without a row would not know what columns there are.
        with runtime.together() if len(samples) >= runtime.processes else together(None):
            return share_rows(describe_rows, len(samples))

    def predict(self, samples: Samples) -> Prediction:
        """Return what the method says about every sample, on the CPU."""

        def describe(images: Tensor) -> tuple[Tensor, ...]:
            out = self.method.predict(images)
            return out.probabilities, out.scores, out.features, out.logits

        columns = self._map(samples, describe)
        if self.runtime.processes > 1:
            for faults in self.runtime.group.gather_objects(unreadable(samples.pixels)):
                note_unreadable(samples.pixels, faults)
        return Prediction(*(column.cpu() for column in columns))

    def _evaluation(self, epoch: int) -> dict[str, float]:
        left = self.settings.epochs - epoch
        due = left <= self.settings.average_last or (epoch + 1) % self.settings.evaluate_every == 0
        if self.test is None or not due:
            return {}
        return evaluate_predictions(self.predict(self.test), self.test.labels)

    def _selection(self) -> dict[str, float]:
        partition = self.method.partition
        if partition is None:
            return {}
        partition = partition.to("cpu")
        sizes = {f"{name}_size": int(getattr(partition, name).sum()) for name in ("clean", "closed", "open")}
        if self.samples.true_labels is None:
            return dict(sizes)
        return {**sizes, **selection_quality(partition, self.samples.labels, self.samples.true_labels)}

    def _save(self) -> None:
        assert self.folder is not None
        save_checkpoint(self.folder, self.state(), self.identity | {RUNTIME: self._way()})

    def state(self) -> dict[str, Any]:
        """Return everything a checkpoint holds."""
        return {
            "method": self.method.state_dict(),
            "extra": self.method.extra_state(),
            "optimiser": self.optimiser.state_dict(),
            "runtime": self.runtime.state_dict(),
            "history": self.history,
        }


def last_epochs(history: list[dict[str, Any]], count: int) -> list[dict[str, Any]]:
    """Return the records, latest first, that a result is averaged over: at most ``count``.

    Epochs of an earlier phase (warm-up) do not count, so a short run may average over fewer.
    """
    return list(takewhile(lambda record: record.get("phase") == history[-1].get("phase"), history[: -count - 1 : -1]))


def mean_of_last(history: list[dict[str, Any]], count: int) -> dict[str, float]:
    """Return the mean over ``last_epochs`` of every number that all of them hold."""
    last = last_epochs(history, count)
    names = [name for name, value in last[0].items() if isinstance(value, int | float)] if last else []
    skip = {"epoch", "learning_rate"}
    shared = [name for name in names if name not in skip and all(name in record for record in last)]
    return {name: sum(record[name] for record in last) / len(last) for name in shared}


def _together(losses: dict[str, dict[str, float]]) -> dict[str, float]:
    """Return the losses of all phases under the phases' names; "loss" is their mean."""
    if len(losses) == 1:
        return next(iter(losses.values()))
    named = {f"{phase}_{name}": value for phase, parts in losses.items() for name, value in parts.items()}
    return {"loss": sum(parts["loss"] for parts in losses.values()) / len(losses), **named}
