"""DivideMix: division, step and verdicts against slow references, history, edges and refused settings."""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from methods.tiny import first_batches, survey_of, tiny_method, tiny_samples, tiny_task, tiny_trainer
from sklearn.mixture import GaussianMixture

from lond.errors import ConfigError
from lond.identify import small_loss_posterior
from lond.losses import draw_mix
from lond.methods import DivideMix, DivideMixSettings, Task
from lond.train.checkpoint import same_state
from lond.types import UNLABELLED, Clock, Samples

NOISY = torch.arange(30) % 3
NOISY[[0, 4, 8, 12]] = torch.tensor([1, 2, 0, 2])


def make(samples: Samples, **changes: Any) -> DivideMix:
    settings = DivideMixSettings(**{"warmup_epochs": 0, "hidden": 16, "ramp_epochs": 2} | changes)
    method = tiny_method(samples, "dividemix", settings)
    assert isinstance(method, DivideMix)
    return method


def fixed_survey(method: DivideMix, first: torch.Tensor, second: torch.Tensor) -> Any:
    return lambda describe: (first, second)


def confident_logits(labels: torch.Tensor, wrong: Iterable[int] = (), strength: float = 5.0) -> torch.Tensor:
    """Logits that agree with the labels but for some samples, each a little different."""
    answer = labels.clamp_min(0).clone()
    for index in wrong:
        answer[index] = (answer[index] + 1) % 3
    noise = torch.randn(len(labels), 3, generator=torch.Generator().manual_seed(0))
    return strength * torch.nn.functional.one_hot(answer, 3) + 0.3 * noise


def softmax(rows: np.ndarray) -> np.ndarray:
    powers = np.exp(rows - rows.max(axis=1, keepdims=True))
    return powers / powers.sum(axis=1, keepdims=True)


def sharp(rows: np.ndarray, temperature: float) -> np.ndarray:
    powers = rows ** (1 / temperature)
    return powers / powers.sum(axis=1, keepdims=True)


def test_warmup_trains_each_network_alone() -> None:
    samples = tiny_samples(30, labels=NOISY)
    method = make(samples, warmup_epochs=1).train()
    phases = method.before_epoch(0, survey_of(method, samples))
    assert [phase.name for phase in phases] == ["warm-up net1", "warm-up net2"]
    for index, phase in enumerate(phases):
        assert phase.lead == 30 and phase.share == 1
        method.zero_grad()
        batches = first_batches(samples, phase)
        (term,) = method.step(phase.name, batches, Clock(0), torch.Generator()).values()
        rows = softmax(method.net(index)(batches["all"].views[0]).logits.detach().double().numpy())
        expected = [-math.log(row[label]) for row, label in zip(rows, batches["all"].labels.tolist(), strict=True)]
        assert term.values.tolist() == pytest.approx(expected, abs=1e-5)
        term.values.mean().backward()
        assert all(p.grad is not None for p in method.net(index).parameters())
        assert all(p.grad is None for p in method.net(1 - index).parameters())


def test_the_confidence_penalty_is_the_negative_entropy() -> None:
    samples = tiny_samples(30)
    method = make(samples, warmup_epochs=1, confidence_penalty=True).train()
    phase = method.before_epoch(0, survey_of(method, samples))[0]
    batches = first_batches(samples, phase)
    terms = method.step(phase.name, batches, Clock(0), torch.Generator())
    rows = softmax(method.net(0)(batches["all"].views[0]).logits.detach().double().numpy())
    assert terms["confidence"].values.tolist() == pytest.approx((rows * np.log(rows)).sum(axis=1), abs=1e-5)
    assert terms["confidence"].weight == 1


def test_division_equals_scikit_learn_and_each_learns_from_the_other() -> None:
    samples = tiny_samples(30, labels=NOISY)
    method = make(samples)
    logits = confident_logits(NOISY, [3, 5, 9]), confident_logits(NOISY, [3, 7, 11, 20])
    phases = method.before_epoch(0, fixed_survey(method, *logits))
    for index, phase in enumerate(phases):
        rows = softmax(logits[1 - index].double().numpy())
        losses = -np.log(rows[np.arange(30), NOISY])[:, None]
        losses = (losses - losses.min()) / (losses.max() - losses.min())
        mixture = GaussianMixture(2, max_iter=10, tol=1e-2, reg_covar=5e-4, random_state=0).fit(losses)
        posterior = mixture.predict_proba(losses)[:, mixture.means_.argmin()]
        assert phase.name == f"net{index + 1}"
        assert phase.share == 0.5
        assert phase.streams["labelled"].indices.tolist() == np.flatnonzero(posterior > 0.5).tolist()
        assert phase.streams["unlabelled"].indices.tolist() == np.flatnonzero(posterior <= 0.5).tolist()
        assert all(stream.share == 0.5 and stream.views == ("weak", "weak") for stream in phase.streams.values())
        assert phase.lead == len(phase.streams["labelled"].indices)
        assert np.allclose(method.trust(phase.name), posterior, atol=1e-5)
    assert method.partition is not None
    wrong = torch.zeros(30, dtype=torch.bool)
    wrong[[3, 5, 7, 9, 11, 20]] = True
    assert torch.equal(method.partition.clean, ~wrong)
    assert torch.equal(method.partition.closed, wrong)
    assert not method.partition.open.any()
    assert torch.equal(method.partition.corrected[~wrong], NOISY[~wrong])
    assert torch.equal(method.partition.corrected[wrong], (logits[0] + logits[1]).argmax(dim=1)[wrong])
    rows = softmax((logits[0] + logits[1]).double().numpy())
    for i in range(30):
        belief = (
            rows[i, method.partition.corrected[i]] if wrong[i] else (method.posteriors[0] + method.posteriors[1])[i] / 2
        )
        assert method.partition.weights[i].item() == pytest.approx(float(belief), abs=1e-5)


@pytest.mark.parametrize("weight", [25.0, 0.0])
@pytest.mark.parametrize(("time", "rise", "mixup"), [(0.5, 0.25, 4.0), (1.0, 0.5, 0.5), (4.0, 1.0, 0.0)])
def test_step_equals_the_slow_reference(weight: float, time: float, rise: float, mixup: float) -> None:
    samples = tiny_samples(30, labels=NOISY)
    method = make(samples, unlabelled_weight=weight, sharpening=0.7, mixup=mixup)
    logits = confident_logits(NOISY, [3, 5, 9, 13]), confident_logits(NOISY, [3, 7, 11, 20])
    phase = method.before_epoch(0, fixed_survey(method, *logits))[1]
    batches = first_batches(samples, phase, 8)
    clock = Clock(int(time), round((time % 1) * 2), 2)
    terms = method.train().step("net2", batches, clock, torch.Generator().manual_seed(3))
    assert method.net(1).training and not method.net(0).training

    def run(net: int, images: torch.Tensor) -> np.ndarray:
        with torch.no_grad():
            return softmax(method.net(net)(images).logits.double().numpy())

    labelled, unlabelled = batches["labelled"], batches["unlabelled"]
    own_x = run(1, torch.cat(labelled.views)).reshape(2, -1, 3).mean(axis=0)
    both_u = (run(1, torch.cat(unlabelled.views)) + run(0, torch.cat(unlabelled.views))).reshape(2, -1, 3).mean(axis=0)
    trust = method.posteriors[0][labelled.indices].double().numpy()[:, None]
    targets = sharp(trust * np.eye(3)[labelled.labels] + (1 - trust) * own_x, 0.7)
    guesses = sharp(both_u / 2, 0.7)
    stacked, wanted = (
        torch.cat([*labelled.views, *unlabelled.views]),
        np.concatenate([targets, targets, guesses, guesses]),
    )
    mix = draw_mix(len(stacked), mixup, torch.Generator().manual_seed(3))
    assert (mix.ratio < 1) == bool(mixup)
    mixed = mix.ratio * stacked + (1 - mix.ratio) * stacked[mix.partners]
    wanted = mix.ratio * wanted + (1 - mix.ratio) * wanted[mix.partners.numpy()]
    rows = 2 * len(labelled.labels)
    if not weight:
        mixed, wanted = mixed[:rows], wanted[:rows]
    out = run(1, mixed)
    assert terms["labelled"].values.tolist() == pytest.approx(-(wanted * np.log(out)).sum(axis=1)[:rows], abs=1e-4)
    prior = float((np.log(1 / 3 / out.mean(axis=0)) / 3).sum())
    assert terms["prior"].values.tolist() == pytest.approx([prior], abs=1e-5)
    if weight:
        distance = ((out - wanted) ** 2).mean(axis=1)[rows:]
        assert terms["unlabelled"].values.tolist() == pytest.approx(distance, abs=1e-5)
        assert terms["unlabelled"].weight == pytest.approx(weight * rise)
    else:
        assert set(terms) == {"labelled", "prior"}


def test_only_the_network_of_the_phase_gets_gradients() -> None:
    samples = tiny_samples(30, labels=NOISY)
    method = make(samples)
    logits = confident_logits(NOISY, [3, 5]), confident_logits(NOISY, [3, 7])
    for index, phase in enumerate(method.before_epoch(0, fixed_survey(method, *logits))):
        method.train().zero_grad()
        terms = method.step(phase.name, first_batches(samples, phase, 8), Clock(1), torch.Generator())
        sum(term.weight * term.values.mean() for term in terms.values()).backward()  # type: ignore[union-attr]
        assert all(p.grad is not None for p in method.net(index).parameters())
        assert all(p.grad is None for p in method.net(1 - index).parameters())


def test_history_averages_scaled_losses_and_survives_a_checkpoint(tmp_path: Path) -> None:
    samples = tiny_samples(30, labels=NOISY)
    method = make(samples, loss_history=2)
    runs = [
        (confident_logits(NOISY, [index, index + 1]), confident_logits(NOISY, [index], strength=4.0))
        for index in (2, 9, 15)
    ]
    for epoch, logits in enumerate(runs):
        method.before_epoch(epoch, fixed_survey(method, *logits))
    scaled = []
    for first, _ in runs[1:]:
        losses = torch.nn.functional.cross_entropy(first, NOISY, reduction="none").double()
        scaled.append((losses - losses.min()) / (losses.max() - losses.min()))
    mean = torch.stack(scaled).mean(dim=0)[:, None].numpy()
    mixture = GaussianMixture(2, max_iter=10, tol=1e-2, reg_covar=5e-4, random_state=0).fit(mean)
    assert np.allclose(method.posteriors[0], mixture.predict_proba(mean)[:, mixture.means_.argmin()], atol=1e-5)
    state = method.extra_state()
    assert len(state["past_losses"]) == 2
    fresh = make(samples, loss_history=2)
    fresh.load_extra_state(state)
    again = confident_logits(NOISY, [21, 22]), confident_logits(NOISY, [21])
    for one in (method, fresh):
        one.before_epoch(3, fixed_survey(one, *again))
    assert torch.equal(method.posteriors, fresh.posteriors)
    assert same_state(method.extra_state(), fresh.extra_state())
    assert make(samples).extra_state()["past_losses"] == []


def test_the_floor_of_the_variance_meets_averaged_losses_not_their_sum() -> None:
    """Losses that overlap: chances between 0 and 1 follow the floor, which is for losses from 0 to 1."""
    method = make(tiny_samples(30, labels=NOISY), loss_history=3)
    random, scaled = torch.Generator().manual_seed(0), []
    for _ in range(3):
        logits = torch.randn(30, 3, generator=random)
        posteriors = method._divide(logits, logits)
        losses = torch.nn.functional.cross_entropy(logits, NOISY, reduction="none").double()
        scaled.append((losses - losses.min()) / (losses.max() - losses.min()))
    mean = sum(scaled, torch.zeros(30)) / 3
    expected = small_loss_posterior(mean)
    assert torch.allclose(posteriors[0], expected, atol=1e-4)
    assert not torch.allclose(small_loss_posterior(3 * mean), expected, atol=1e-3)


def test_a_run_with_history_is_resumed_exactly(tmp_path: Path) -> None:
    samples = tiny_samples(30, labels=NOISY)
    settings = DivideMixSettings(warmup_epochs=1, hidden=16, loss_history=3, unlabelled_weight=1.0, clean_threshold=0.3)
    whole = tiny_trainer(samples, "dividemix", settings=settings, epochs=4)
    whole.run()
    cut = tiny_trainer(samples, "dividemix", settings=settings, epochs=4, folder=tmp_path)
    go_on = cut.method.before_epoch

    def stop(epoch: int, survey: Any) -> Any:
        if epoch == 3:
            raise KeyboardInterrupt
        return go_on(epoch, survey)

    cut.method.before_epoch = stop  # type: ignore[method-assign]
    with pytest.raises(KeyboardInterrupt):
        cut.run()
    resumed = tiny_trainer(samples, "dividemix", settings=settings, epochs=4, folder=tmp_path)
    assert resumed.resume()
    resumed.run()
    assert same_state(resumed.method.state_dict(), whole.method.state_dict())
    assert same_state(resumed.method.extra_state(), whole.method.extra_state())


def test_nothing_clean_means_another_warmup_epoch() -> None:
    samples = tiny_samples(30, labels=NOISY)
    method = make(samples, clean_threshold=0.999)
    # One sample alone is right, so that the Gaussian of small losses holds but one.
    alone = confident_logits(NOISY, range(1, 30), strength=9.0)
    with pytest.warns(UserWarning, match="fewer than two"):
        phases = method.before_epoch(0, fixed_survey(method, alone, alone))
    assert [phase.name for phase in phases] == ["warm-up net1", "warm-up net2"]
    assert method.partition is None


def test_nothing_unlabelled_means_no_unlabelled_stream() -> None:
    samples = tiny_samples(12)
    method = make(samples)
    flat = torch.zeros(12, 3)
    phases = method.before_epoch(0, fixed_survey(method, flat, flat))
    assert all(set(phase.streams) == {"labelled"} and phase.lead == 12 for phase in phases)
    terms = method.train().step("net1", first_batches(samples, phases[0], 8), Clock(1), torch.Generator())
    assert set(terms) == {"labelled", "prior"}
    assert all(term.values.isfinite().all() for term in terms.values())


def test_unlabelled_images_are_never_trusted() -> None:
    labels = NOISY.clone()
    labels[[1, 2]] = UNLABELLED
    samples = tiny_samples(30, labels=labels)
    method = make(samples, clean_threshold=0.0)
    phases = method.before_epoch(0, fixed_survey(method, confident_logits(labels, [3]), confident_logits(labels, [5])))
    assert method.posteriors[:, [1, 2]].eq(0).all()
    for phase in phases:
        assert {1, 2} <= set(phase.streams["unlabelled"].indices.tolist())
    assert method.partition is not None
    assert method.partition.closed[[1, 2]].all()
    assert (method.partition.corrected >= 0).all()


def test_two_classes_and_classes_of_one_sample() -> None:
    labels = torch.zeros(16, dtype=torch.long)
    labels[5] = 1
    trainer = tiny_trainer(tiny_samples(16, 2, labels=labels), "dividemix", batch_size=8, epochs=3)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert all(math.isfinite(record["loss"]) for record in trainer.run().history)


def test_a_trained_method_loads_without_labels() -> None:
    samples = tiny_samples(30, labels=NOISY)
    trainer = tiny_trainer(samples, "dividemix", epochs=2)
    trainer.run()
    task = tiny_task(samples)
    settings = trainer.method.settings
    bare = DivideMix(settings, Task(torch.empty(0, dtype=torch.long), 3, task.build_backbone))
    bare.load_state_dict(trainer.method.state_dict())
    bare.load_extra_state(trainer.method.extra_state())
    images = torch.randn(4, 1, 8, 8)
    out, expected = bare.eval().predict(images), trainer.method.eval().predict(images)
    assert torch.allclose(out.logits, expected.logits, atol=1e-5)
    single = sum(bare.net(index)(images).logits for index in range(2))
    assert torch.allclose(out.logits, single, atol=1e-5)


@pytest.mark.parametrize(
    "wrong",
    [
        {"warmup_epochs": -1},
        {"ramp_epochs": -1},
        {"clean_threshold": 1.0},
        {"clean_threshold": -0.1},
        {"sharpening": 0.0},
        {"mixup": -1.0},
        {"unlabelled_weight": -1.0},
        {"loss_history": -1},
        {"hidden": 0},
    ],
)
def test_nonsense_is_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(ConfigError):
        DivideMixSettings(**wrong)
