"""DISC: the loss of every set against a loop, the end of an epoch, samples that were not shown, checkpoints."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import pytest
import torch
from methods.tiny import first_batches, survey_of, tiny_method, tiny_samples, tiny_task, tiny_trainer
from torch import Tensor

from lond.errors import ConfigError
from lond.identify import InstanceSelection, follow_confidence, select_by_threshold
from lond.losses import draw_mix
from lond.methods import Disc, DiscSettings, Task
from lond.types import UNLABELLED, Batch, Clock, Samples, Term

SETTINGS = DiscSettings(warmup_epochs=1, hidden=16)
KINDS = {"clean": 0, "hard": 1, "purified": 2, "none": 3}


def make(samples: Samples, **changes: Any) -> Disc:
    method = tiny_method(samples, "disc", replace(SETTINGS, **changes))
    assert isinstance(method, Disc)
    return method


def force(method: Disc, kinds: list[str], targets: Tensor | None = None) -> None:
    """Set the selection by name."""
    codes = torch.tensor([KINDS[kind] for kind in kinds])
    masks = [codes == code for code in range(3)]
    targets = method.labels if targets is None else targets
    method.selection = InstanceSelection(*masks, targets, torch.full((len(kinds),), 0.5))
    method.judged = True


def robust_batch(method: Disc, samples: Samples, size: int = 8) -> Batch:
    (phase,) = method.before_epoch(1, survey_of(method, samples))
    assert phase.name == "robust"
    return first_batches(samples, phase, size)["all"]


def robust(method: Disc, batch: Batch, seed: int = 0) -> dict[str, Term]:
    return method.step("robust", {"all": batch}, Clock(1), torch.Generator().manual_seed(seed))


@torch.no_grad()
def probabilities(method: Disc, images: Tensor) -> list[list[float]]:
    return method.net(images).logits.double().softmax(dim=1).tolist()  # type: ignore[no-any-return]


def test_warm_up_is_cross_entropy_of_both_views_and_notes_them() -> None:
    samples = tiny_samples(20)
    method = make(samples).eval()
    (phase,) = method.before_epoch(0, survey_of(method, samples))
    assert (phase.name, phase.streams["all"].views) == ("warm-up", ("weak", "strong"))
    batch = first_batches(samples, phase, 8)["all"]
    (term,) = method.step("warm-up", {"all": batch}, Clock(0), torch.Generator()).values()
    weak, strong = (probabilities(method, view) for view in batch.views)
    for i, label in enumerate(batch.labels.tolist()):
        expected = -math.log(weak[i][label]) - math.log(strong[i][label])
        assert term.values[i].item() == pytest.approx(expected, abs=1e-4)
    method.after_epoch(0)
    rows = method.probabilities.rows[batch.indices]
    assert torch.allclose(rows, torch.cat([torch.tensor(weak), torch.tensor(strong)], dim=1).float(), atol=1e-5)
    assert method.partition is None


def test_robust_step_equals_the_loop() -> None:
    samples = tiny_samples(24)
    method = make(samples, clean_weight=0.7, hard_weight=0.3).eval()
    kinds = [list(KINDS)[i % 4] for i in range(24)]
    targets = torch.where(torch.arange(24) % 4 == 2, (samples.labels + 1) % 3, samples.labels)
    force(method, kinds, targets)
    batch = robust_batch(method, samples, 12)
    terms = robust(method, batch)
    views = [probabilities(method, view) for view in batch.views]
    for i, index in enumerate(batch.indices.tolist()):
        p = [view[i][int(samples.labels[index])] for view in views]
        clean = -math.log(p[0]) - math.log(p[1]) if kinds[index] == "clean" else 0
        hard = (1 - p[0] ** 0.7) / 0.7 + (1 - p[1] ** 0.7) / 0.7 if kinds[index] == "hard" else 0
        assert terms["clean"].values[i].item() == pytest.approx(clean, abs=1e-4)
        assert terms["hard"].values[i].item() == pytest.approx(hard, abs=1e-4)
    assert (terms["clean"].weight, terms["hard"].weight) == (0.7, 0.3)
    # MixUp inside the learned samples, one draw a view, mean over them.
    learned = [i for i, index in enumerate(batch.indices.tolist()) if kinds[index] != "none"]
    random = torch.Generator().manual_seed(0)
    for name, view in zip(("mixed_weak", "mixed_strong"), batch.views, strict=True):
        mix = draw_mix(len(learned), 5.0, random)
        images = torch.stack([
            mix.ratio * view[learned[a]] + (1 - mix.ratio) * view[learned[b]]
            for a, b in enumerate(mix.partners.tolist())
        ])  # fmt: skip
        p_mixed = probabilities(method, images)
        wanted = [int(targets[batch.indices[i]]) for i in learned]
        for a, b in enumerate(mix.partners.tolist()):
            expected = -mix.ratio * math.log(p_mixed[a][wanted[a]])
            expected -= (1 - mix.ratio) * math.log(p_mixed[a][wanted[b]])
            assert terms[name].values[a].item() == pytest.approx(expected, abs=1e-4)
        assert terms[name].weight == 1.0


@pytest.mark.parametrize("learned", [0, 1])
def test_a_batch_with_hardly_a_selected_sample_is_not_mixed(learned: int) -> None:
    samples = tiny_samples(12)
    method = make(samples).train()
    force(method, ["clean"] * 12)
    batch = robust_batch(method, samples)
    kinds = ["none"] * 12
    for index in batch.indices[:learned].tolist():
        kinds[index] = "clean"
    force(method, kinds)
    terms = robust(method, batch)
    assert set(terms) == {"clean", "hard"}
    assert int((terms["clean"].values > 0).sum()) == learned
    torch.stack([term.weight * term.values.mean() for term in terms.values()]).sum().backward()
    assert all(parameter.grad is not None for parameter in method.parameters())


def test_the_epoch_end_judges_by_the_old_thresholds() -> None:
    samples = tiny_samples(60)
    method = make(samples, confidence_memory=0.8, purify_margin=0.3, purify_cap=0.9)
    assert torch.equal(method.thresholds, torch.full((60, 2), 1 / 60))
    random = torch.Generator().manual_seed(0)
    thresholds = method.thresholds
    for epoch in range(3):
        rows = torch.rand(60, 2, 3, generator=random).pow(3)
        rows /= rows.sum(dim=2, keepdim=True)
        method.probabilities.write(torch.arange(60), rows.flatten(1))
        method.after_epoch(epoch)
        expected = select_by_threshold(rows[:, 0], rows[:, 1], samples.labels, thresholds, margin=0.3, cap=0.9)
        for got, wanted in zip(method.selection, expected, strict=True):
            assert torch.equal(got, wanted)
        thresholds = follow_confidence(thresholds, rows[:, 0], rows[:, 1], 0.8)
        assert torch.allclose(method.thresholds, thresholds)
        partition = method.partition
        assert (partition is None) == (epoch == 0)
    assert partition is not None
    assert torch.equal(partition.clean, expected.clean | expected.hard)
    assert torch.equal(partition.closed, expected.purified)
    assert torch.equal(partition.open, ~(expected.clean | expected.hard | expected.purified))
    assert torch.equal(partition.corrected, expected.targets)
    assert (partition.weights[partition.open] == 0).all()
    assert torch.equal(partition.weights[~partition.open], expected.belief[~partition.open])
    assert all(part.any() for part in (partition.clean, partition.closed, partition.open))


def test_samples_that_were_not_shown_stay_as_they_are() -> None:
    samples = tiny_samples(6)
    method = make(samples)
    sure = torch.nn.functional.one_hot(samples.labels, 3).float()
    method.probabilities.write(torch.arange(6), torch.cat([sure, sure], dim=1))
    method.after_epoch(0)
    before, thresholds, rows = method.selection, method.thresholds, method.probabilities.rows
    assert before.clean.all()
    wrong = sure.roll(1, dims=1)
    method.probabilities.write(torch.tensor([1, 4]), torch.cat([wrong, wrong], dim=1)[[1, 4]])
    method.after_epoch(1)
    kept = torch.tensor([0, 2, 3, 5])
    for old, new in zip(before, method.selection, strict=True):
        assert torch.equal(old[kept], new[kept])
    assert torch.equal(thresholds[kept], method.thresholds[kept])
    assert torch.equal(rows[kept], method.probabilities.rows[kept])
    assert method.selection.purified.tolist() == [False, True, False, False, True, False]


def test_a_limit_of_steps_leaves_samples_unjudged() -> None:
    trainer = tiny_trainer(tiny_samples(40), "disc", settings=SETTINGS, epochs=2, batch_size=8, max_steps=1)
    thresholds = []

    def note(epoch: int) -> None:
        thresholds.append(trainer.method.thresholds.clone())
        Disc.after_epoch(trainer.method, epoch)

    trainer.method.after_epoch = note
    trainer.run()
    # Warm-up shows every sample, the limited epoch eight.
    changed = (trainer.method.thresholds != thresholds[1]).any(dim=1)
    assert (thresholds[1] != 1 / 40).any(dim=1).all()
    assert changed.sum() == 8


def test_nobody_selected_means_another_warm_up() -> None:
    samples = tiny_samples(12)
    method = make(samples)
    survey = survey_of(method, samples)
    # Not judged yet, as with warmup_epochs=0: no reason to worry.
    assert [phase.name for phase in make(samples, warmup_epochs=0).before_epoch(0, survey)] == ["warm-up"]
    force(method, ["none"] * 12)
    with pytest.warns(UserWarning, match="no sample is selected"):
        (phase,) = method.before_epoch(1, survey)
    assert phase.name == "warm-up"


def test_unlabelled_samples_wait_for_a_sure_prediction() -> None:
    labels = torch.arange(12) % 3
    labels[:4] = UNLABELLED
    samples = tiny_samples(12, labels=labels)
    method = make(samples)
    (phase,) = method.before_epoch(0, survey_of(method, samples))
    assert phase.streams["all"].indices.tolist() == list(range(4, 12))
    force(method, ["none"] * 4 + ["clean"] * 8, labels.clamp_min(0))
    (phase,) = method.before_epoch(1, survey_of(method, samples))
    assert phase.lead == 12
    robust(method.train(), first_batches(samples, phase, 12)["all"])
    method.after_epoch(1)
    assert not (method.selection.clean | method.selection.hard)[:4].any()
    assert (method.selection.targets >= 0).all()


def test_two_classes() -> None:
    trainer = tiny_trainer(tiny_samples(24, classes=2), "disc", settings=SETTINGS, epochs=3)
    assert all(math.isfinite(record["loss"]) for record in trainer.run().history)


def test_every_setting_has_an_effect() -> None:
    samples = tiny_samples(24)
    kinds = [list(KINDS)[i % 4] for i in range(24)]

    def loss(**changes: Any) -> float:
        method = make(samples, **changes).eval()
        force(method, kinds)
        terms = robust(method, robust_batch(method, samples, 12))
        return float(sum(term.weight * term.values.detach().mean() for term in terms.values()))

    start = loss()
    for changes in ({"clean_weight": 0.0}, {"hard_weight": 0.0}, {"gce_exponent": 0.2}, {"mixup": 0.0}):
        assert loss(**changes) != pytest.approx(start, abs=1e-4), changes


def test_a_checkpoint_loads_into_a_method_without_labels() -> None:
    samples = tiny_samples(40)
    trainer = tiny_trainer(samples, "disc", settings=SETTINGS)
    trainer.run()
    task = tiny_task(samples)
    empty = Disc(SETTINGS, Task(task.labels[:0], task.num_classes, task.build_backbone))
    empty.load_state_dict(trainer.method.state_dict())
    empty.load_extra_state(trainer.method.extra_state())
    assert len(empty.thresholds) == len(empty.selection.clean) == 40
    assert empty.partition is not None


@pytest.mark.parametrize(
    "changes",
    [
        {"warmup_epochs": -1},
        {"confidence_memory": 1.0},
        {"clean_weight": -1.0},
        {"hard_weight": -0.1},
        {"purify_margin": -0.1},
        {"purify_cap": 0.0},
        {"gce_exponent": 0.0},
        {"gce_exponent": 1.5},
        {"mixup": -1.0},
        {"hidden": 0},
    ],
)
def test_nonsense_is_refused(changes: dict[str, Any]) -> None:
    with pytest.raises(ConfigError):
        DiscSettings(**changes)
