"""A loss that is not finite: which step, which images, and advice that fits the cause."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import pytest
import torch
from methods.tiny import tiny_samples, tiny_trainer

from lond.errors import CollapseError
from lond.train.divergence import DIVERGED, LossWatch, collapse
from lond.train.runtime import Runtime, RuntimeSettings
from lond.train.state import CHECKPOINT
from lond.types import UNLABELLED, Batch, Clock, Term


def spoil(trainer: Any, epoch: int, step: int) -> None:
    """Make one loss NaN."""
    original = trainer.method.step

    def spoilt(phase: str, batches: dict[str, Batch], clock: Clock, random: torch.Generator) -> dict[str, Term]:
        terms = original(phase, batches, clock, random)
        wrong = math.nan if (clock.epoch, clock.step) == (epoch, step) else 1.0
        return {name: Term(term.values * wrong, term.weight) for name, term in terms.items()}

    trainer.method.step = spoilt


def test_step_and_images_of_the_batch_are_in_a_file(tmp_path: Path) -> None:
    samples = tiny_samples(48)
    trainer = tiny_trainer(samples, "standard", folder=tmp_path)
    spoil(trainer, 0, 2)
    with pytest.raises(CollapseError, match="epoch 0, step 2 is not finite") as error:
        trainer.run()
    assert DIVERGED in str(error.value) and CHECKPOINT not in str(error.value)
    assert "learning_rate" in str(error.value) and "precision" not in str(error.value)
    stored = json.loads((tmp_path / DIVERGED).read_text())
    assert (stored["epoch"], stored["step"], stored["losses"]["loss"]) == (0, 2, "nan")
    (ids,) = stored["ids"].values()
    assert len(ids) == 16 and set(ids) <= set(samples.ids)


def test_a_checkpoint_is_named_only_if_there_is_one(tmp_path: Path) -> None:
    trainer = tiny_trainer(tiny_samples(32), "standard", folder=tmp_path)
    spoil(trainer, 1, 0)
    with pytest.raises(CollapseError, match=f"{CHECKPOINT} holds the epoch before it"):
        trainer.run()
    trainer = tiny_trainer(tiny_samples(32), "standard")
    spoil(trainer, 1, 0)
    with pytest.raises(CollapseError) as error:
        trainer.run()
    assert CHECKPOINT not in str(error.value) and DIVERGED not in str(error.value)


def batch_of(labels: list[int], bad: int | None = None) -> Batch:
    views = torch.zeros(len(labels), 3, 4, 4)
    if bad is not None:
        views[bad] = math.inf
    return Batch(torch.arange(len(labels)), torch.tensor(labels), (views,))


@pytest.mark.parametrize(
    ("batch", "precision", "advice"),
    [
        (batch_of([0, 1], bad=1), "32-true", "The input of '001' is not finite"),
        (batch_of([UNLABELLED] * 2), "32-true", "no labelled image"),
        (batch_of([0, 1]), "32-true", "lower optimiser.learning_rate.$"),
        (batch_of([0, 1]), "bf16-mixed", "learning_rate or use runtime.precision=32-true"),
    ],
)
def test_the_advice_fits_the_cause(batch: Batch, precision: str, advice: str) -> None:
    runtime = Runtime(RuntimeSettings(accelerator="cpu", precision=precision))
    watch = LossWatch(tiny_samples(4), runtime, 3, "robust")
    found = watch.add(0, 2, {"all": batch}, {"loss": torch.tensor(math.nan), "loss_fine": torch.tensor(1.0)})
    assert found is not None
    with pytest.raises(CollapseError, match=advice) as error:
        raise collapse(found, None, None, runtime)
    assert "loss_fine" not in str(error.value)


def test_where_a_look_makes_a_device_wait_the_first_of_many_steps_is_found() -> None:
    watch = LossWatch(tiny_samples(4), Runtime(RuntimeSettings(accelerator="cpu")), 0, "robust")
    watch._every = 3
    found = [
        watch.add(step, 5, {"all": batch_of([0, 1])}, {"loss": torch.tensor(math.nan if step in (1, 2, 4) else 0.0)})
        for step in range(5)
    ]
    assert [None if one is None else one.step for one in found] == [None, None, 1, None, 4]


def test_a_term_without_a_sample_adds_nothing() -> None:
    trainer = tiny_trainer(tiny_samples(32), "standard")
    original = trainer.method.step

    def with_empty(phase: str, batches: dict[str, Batch], clock: Clock, random: torch.Generator) -> dict[str, Term]:
        terms = original(phase, batches, clock, random)
        first = next(iter(terms.values()))
        return terms | {"empty": Term(first.values[:0])}

    trainer.method.step = with_empty  # type: ignore[method-assign]
    record = trainer.run().history[-1]
    assert math.isfinite(record["loss"]) and not [name for name in record if "empty" in name]
