"""NPN: votes by hand, every term against a loop, both variants, both readings, verdicts, checkpoints."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import replace
from typing import Any

import pytest
import torch
from methods.tiny import first_batches, survey_of, tiny_method, tiny_samples, tiny_task, tiny_trainer
from torch import Tensor

from lond.errors import ConfigError
from lond.methods import Npn, NpnHardSettings, NpnSoftSettings, Task
from lond.methods.npn import partition_of
from lond.train.schedule import OptimiserSettings
from lond.types import UNLABELLED, Batch, Clock, Samples, Term

VARIANTS = {"npn-hard": NpnHardSettings, "npn-soft": NpnSoftSettings}


def make(samples: Samples, name: str = "npn-hard", **changes: Any) -> Npn:
    settings = replace(VARIANTS[name](warmup_epochs=1, hidden=16), **changes)
    method = tiny_method(samples, name, settings)
    assert isinstance(method, Npn)
    return method


def batch_of(method: Npn, samples: Samples, epoch: int, size: int = 8) -> Batch:
    (phase,) = method.before_epoch(epoch, survey_of(method, samples))
    return first_batches(samples, phase, size)["all"]


def step(method: Npn, batch: Batch, phase: str = "robust") -> dict[str, Term]:
    return method.step(phase, {"all": batch}, Clock(1), torch.Generator())


@torch.no_grad()
def rows_of(method: Npn, images: Tensor) -> list[list[float]]:
    return method.net(images).logits.double().softmax(dim=1).tolist()  # type: ignore[no-any-return]


def ranked(row: list[float]) -> list[int]:
    return sorted(range(len(row)), key=lambda c: -row[c])


@pytest.mark.parametrize("clamp", [False, True])
def test_warm_up_equals_the_loop(clamp: bool) -> None:
    samples = tiny_samples(20)
    method = make(samples, clamp_logits=clamp, label_smoothing=0.3).eval()
    batch = batch_of(method, samples, 0)
    assert len(batch.views) == 1
    terms = step(method, batch, "warm-up")
    with torch.no_grad():
        logits = method.net(batch.views[0]).logits.double().tolist()
    for i, (row, label) in enumerate(zip(logits, batch.labels.tolist(), strict=True)):
        log_sum = math.log(math.fsum(math.exp(x) for x in row))
        expected = math.fsum((0.1 + 0.7 * (c == label)) * (log_sum - x) for c, x in enumerate(row))
        assert terms["cross_entropy"].values[i].item() == pytest.approx(expected, abs=1e-4)
        lifted = [max(x, 1e-12) for x in row] if clamp else row
        p = [math.exp(x) for x in lifted]
        p = [x / math.fsum(p) for x in p]
        assert terms["penalty"].values[i].item() == pytest.approx(math.fsum(x * math.log(x) for x in p), abs=1e-4)


@pytest.mark.parametrize(("ramp", "weight"), [(0, 2.0), (1, 2.0), (4, 0.75), (6, 0.5)])
def test_the_consistency_term_rises_after_warm_up(ramp: int, weight: float) -> None:
    """One and a half epochs after a warm-up of one."""
    samples = tiny_samples(20)
    method = make(samples, "npn-soft", ramp_epochs=ramp, consistency_weight=2.0).eval()
    terms = method.step("robust", {"all": batch_of(method, samples, 1)}, Clock(2, 1, 2), torch.Generator())
    assert terms["consistency"].weight == pytest.approx(weight)
    assert (terms["partial_label"].weight, terms["negative"].weight) == (1.0, 1.0)


def test_a_short_run_needs_the_ramp() -> None:
    """At full weight from its start, the consistency term of NPN-soft leads a barely trained network to few classes."""
    samples = tiny_samples(60)

    def accuracy(seed: int, ramp: int) -> float:
        settings = NpnSoftSettings(warmup_epochs=2, ramp_epochs=ramp, hidden=32)
        optimiser = OptimiserSettings(learning_rate=0.05, constant_epochs=99)
        trainer = tiny_trainer(
            samples,
            "npn-soft",
            settings=settings,
            optimiser=optimiser,
            test=samples,
            epochs=8,
            evaluate_every=9,
            seed=seed,
        )
        return float(trainer.run().history[-1]["accuracy"])

    assert min(accuracy(seed, ramp=6) for seed in range(3)) > 0.9
    assert max(accuracy(seed, ramp=0) for seed in range(3)) < 0.8


@pytest.mark.parametrize("top_k", [1, 2])
def test_votes_add_up_over_epochs_and_a_repeated_step_counts_once(top_k: int) -> None:
    samples = tiny_samples(20, classes=4)
    method = make(samples, top_k=top_k).eval()
    counts: dict[int, Counter[int]] = {}
    for epoch, phase in enumerate(("warm-up", "robust", "robust")):
        batch = batch_of(method, samples, epoch)
        for _ in range(2):
            step(method, batch, phase)
        for index, row in zip(batch.indices.tolist(), rows_of(method, batch.views[0]), strict=True):
            counts.setdefault(index, Counter()).update(ranked(row)[:top_k])
        method.after_epoch(epoch)
        with torch.no_grad():
            method.net.last.weight.neg_()
    for index in range(20):
        expected = [float(counts.get(index, Counter())[c]) for c in range(4)]
        assert method.votes.rows[index].tolist() == expected
    assert max(method.votes.rows.sum(dim=1)) > top_k


@pytest.mark.parametrize("candidates", ["top-1", "top-k"])
@pytest.mark.parametrize("weighting", [False, True])
@pytest.mark.parametrize("name", VARIANTS)
def test_robust_step_equals_the_loop(name: str, candidates: str, weighting: bool) -> None:
    samples = tiny_samples(20, classes=5)
    changes = {"vote_weighting": weighting} if name == "npn-hard" else {}
    method = make(samples, name, candidates=candidates, label_smoothing=0.1, negative_weight=0.4, **changes).eval()
    old = torch.randint(0, 4, (20, 5), generator=torch.Generator().manual_seed(0)).float()
    method.votes.load(old)
    batch = batch_of(method, samples, 1)
    terms = step(method, batch)
    weak, strong = (rows_of(method, view) for view in batch.views)
    for i, (index, label) in enumerate(zip(batch.indices.tolist(), batch.labels.tolist(), strict=True)):
        order = ranked(weak[i])
        votes = [old[index, c].item() + (c in order[:2]) for c in range(5)]
        if name == "npn-soft":
            target = [vote / sum(votes) for vote in votes]
        else:
            winner = max(range(5), key=lambda c: votes[c] + weak[i][c] / 2)
            target = [float(c == winner) for c in range(5)]
        partial = math.fsum(-(0.02 + 0.9 * t) * math.log(p) for t, p in zip(target, weak[i], strict=True))
        partial *= max(votes) / sum(votes) if weighting and name == "npn-hard" else 1
        kept = {label, *order[: 2 if candidates == "top-k" else 1]}
        negative = -math.fsum(math.log(1 - weak[i][c]) for c in range(5) if c not in kept)
        consistency = -math.fsum((0.02 + 0.9 * (c == order[0])) * math.log(p) for c, p in enumerate(strong[i]))
        assert terms["partial_label"].values[i].item() == pytest.approx(partial, abs=1e-4)
        assert terms["negative"].values[i].item() == pytest.approx(negative, abs=1e-4)
        assert terms["consistency"].values[i].item() == pytest.approx(consistency, abs=1e-4)
    beta = 2.0 if name == "npn-soft" else 1.0
    weights = {key: term.weight for key, term in terms.items()}
    assert weights == {"partial_label": 1.0, "negative": 0.4, "consistency": beta}


def test_equal_votes_are_decided_by_the_prediction() -> None:
    samples = tiny_samples(20)
    method = make(samples, top_k=1).eval()
    batch = batch_of(method, samples, 1)
    weak = rows_of(method, batch.views[0])
    # This step's vote goes to the first choice; the second one has as many from before.
    old = torch.zeros(20, 3)
    for index, row in zip(batch.indices.tolist(), weak, strict=True):
        old[index, ranked(row)[1]] = 1
    method.votes.load(old)
    step(method, batch)
    method.after_epoch(1)
    assert method.winners.rows[batch.indices].squeeze(1).tolist() == [ranked(row)[0] for row in weak]
    # One vote more outweighs any probability.
    method.votes.load(2 * old)
    step(method, batch)
    method.after_epoch(1)
    assert method.winners.rows[batch.indices].squeeze(1).tolist() == [ranked(row)[1] for row in weak]


@pytest.mark.parametrize("name", VARIANTS)
@pytest.mark.parametrize("top_k", [2, 9])
def test_two_classes_get_one_vote_a_step(name: str, top_k: int) -> None:
    samples = tiny_samples(24, classes=2)
    settings = VARIANTS[name](warmup_epochs=1, hidden=16, top_k=top_k, candidates="top-k")
    trainer = tiny_trainer(samples, name, settings=settings, epochs=3)
    assert all(math.isfinite(record["loss"]) for record in trainer.run().history)
    assert isinstance(trainer.method, Npn)
    assert trainer.method.votes.rows.sum() == 3 * 24


@pytest.mark.parametrize("switch", ["partial_label", "negative", "consistency"])
def test_a_weight_of_zero_switches_its_term_off(switch: str) -> None:
    samples = tiny_samples(20)
    method = make(samples, **{f"{switch}_weight": 0.0})
    assert set(step(method, batch_of(method, samples, 1))) == {"partial_label", "negative", "consistency"} - {switch}


def test_verdicts_by_hand() -> None:
    votes = torch.tensor([[3.0, 1.0], [1.0, 4.0], [2.0, 2.0], [0.0, 0.0], [0.0, 5.0], [0.0, 0.0]])
    labels = torch.tensor([0, 0, 1, 1, UNLABELLED, UNLABELLED])
    got = partition_of(labels, votes, torch.tensor([0, 1, 1, 0, 1, 0]))
    assert got.clean.tolist() == [True, False, True, False, False, False]
    assert torch.equal(got.closed, ~got.clean)
    assert not got.open.any()
    assert got.corrected.tolist() == [0, 1, 1, 1, 1, 0]
    assert got.weights.tolist() == pytest.approx([0.75, 0.8, 0.5, 0, 1, 0])


@pytest.mark.parametrize("name", VARIANTS)
def test_labels_are_judged_after_warm_up_only(name: str) -> None:
    labels = torch.arange(60) % 3
    labels[:6] = (labels[:6] + 1) % 3
    samples = tiny_samples(60, labels=labels)
    settings = VARIANTS[name](warmup_epochs=6, hidden=32)
    warm = tiny_trainer(samples, name, settings=settings, epochs=6)
    warm.run()
    assert warm.method.partition is None
    trainer = tiny_trainer(samples, name, settings=settings, epochs=9)
    trainer.run()
    assert isinstance(trainer.method, Npn) and trainer.method.partition is not None
    assert trainer.method.votes.rows.sum(dim=1).max() == 2 * 9
    partition = trainer.method.partition
    winners = trainer.method.winners.rows.squeeze(1).long()
    assert torch.equal(partition.clean, winners == labels)
    assert torch.equal(partition.corrected, winners)


def test_unlabelled_samples_vote_and_are_never_clean() -> None:
    labels = torch.arange(12) % 3
    labels[:4] = UNLABELLED
    samples = tiny_samples(12, labels=labels)
    method = make(samples).eval()
    assert set(batch_of(method, samples, 0, 12).indices.tolist()) == set(range(4, 12))
    batch = batch_of(method, samples, 1, 12)
    assert set(batch.indices.tolist()) == set(range(12))
    terms = step(method, batch)
    # Without a label, every class but the predicted one is pushed down.
    i = batch.indices.tolist().index(0)
    row = rows_of(method, batch.views[0])[i]
    expected = -math.fsum(math.log(1 - row[c]) for c in ranked(row)[1:])
    assert terms["negative"].values[i].item() == pytest.approx(expected, abs=1e-4)
    method.after_epoch(1)
    assert method.partition is not None
    assert method.partition.closed[:4].all()


@pytest.mark.parametrize("name", VARIANTS)
def test_a_checkpoint_loads_into_a_method_without_labels(name: str) -> None:
    samples = tiny_samples(40)
    trainer = tiny_trainer(samples, name)
    trainer.run()
    task = tiny_task(samples)
    assert isinstance(trainer.method, Npn)
    empty = Npn(trainer.method.settings, Task(task.labels[:0], task.num_classes, task.build_backbone))
    empty.load_state_dict(trainer.method.state_dict())
    empty.load_extra_state(trainer.method.extra_state())
    assert torch.equal(empty.votes.rows, trainer.method.votes.rows)


def test_the_variants_differ_where_published() -> None:
    hard, soft = NpnHardSettings(), NpnSoftSettings()
    assert (hard.negative_weight, hard.consistency_weight) == (1, 1)
    assert (soft.negative_weight, soft.consistency_weight) == (1, 2)
    assert hard.top_k == soft.top_k == 2
    assert hard.warmup_epochs == soft.warmup_epochs == 200


@pytest.mark.parametrize(
    "changes",
    [
        {"warmup_epochs": -1},
        {"top_k": 0},
        {"candidates": "all"},
        {"negative_weight": -1.0},
        {"partial_label_weight": 0.0, "negative_weight": 0.0, "consistency_weight": 0.0},
        {"label_smoothing": 1.0},
        {"hidden": 0},
    ],
)
@pytest.mark.parametrize("settings", VARIANTS.values())
def test_nonsense_is_refused(settings: type[Any], changes: dict[str, Any]) -> None:
    with pytest.raises(ConfigError):
        settings(**changes)


@pytest.mark.parametrize("settings", VARIANTS.values())
def test_settings_at_their_ends_are_allowed(settings: type[Any]) -> None:
    least = settings(warmup_epochs=0, ramp_epochs=0, top_k=1, negative_weight=0.0, consistency_weight=0.0)
    assert (least.warmup_epochs, least.ramp_epochs, least.top_k) == (0, 0, 1)
