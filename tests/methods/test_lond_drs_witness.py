"""The witness of LOND-DRS: a plain network beside it that learns every given label and tells foreign images."""

from __future__ import annotations

import math

import pytest
import torch
from methods.test_lond_drs import noisy_samples, parts_with_gradient, prepared, seeded, survey_images
from methods.tiny import first_batches, lond_settings, survey_of, tiny_lond, tiny_samples, tiny_trainer
from torch import Tensor

from lond.types import UNLABELLED, Batch, Clock


def losses_by_hand(logits: Tensor, labels: list[int]) -> list[float]:
    rows = []
    for row, label in zip(logits.double().tolist(), labels, strict=True):
        if label >= 0:
            rows.append(math.log(sum(math.exp(value - row[label]) for value in row)))
    return rows


@pytest.mark.parametrize("phase_name", ["warm-up", "robust"])
def test_it_learns_the_given_labels_of_all_samples(phase_name: str) -> None:
    method, samples, phase = prepared(witness=True)
    if phase_name == "warm-up":
        (phase,) = method.before_epoch(0, survey_of(method, samples))
    batches = first_batches(samples, phase, 9)
    terms = method.step(phase_name, batches, Clock(2), seeded())
    batch = batches["all"]
    with torch.no_grad():
        logits = method.witness(batch.views[0]).logits
    assert terms["witness"].weight == 1
    assert terms["witness"].values.tolist() == pytest.approx(losses_by_hand(logits, batch.labels.tolist()), rel=1e-4)


def test_it_teaches_nothing_but_itself_and_is_taught_by_nothing_else() -> None:
    method, samples, phase = prepared(witness=True)
    method.train()
    terms = method.step("robust", first_batches(samples, phase), Clock(2), seeded())
    others = sum(term.values.mean() for name, term in terms.items() if name != "witness")
    assert parts_with_gradient(method, terms["witness"].values.mean()) == set()
    assert all(parameter.grad is not None for parameter in method.witness.parameters())
    method.zero_grad(set_to_none=True)
    others.backward()
    assert all(parameter.grad is None for parameter in method.witness.parameters())


def test_the_foreign_score_is_its_largest_logit() -> None:
    method, samples, _ = prepared(witness=True)
    images = survey_images(samples)
    with torch.no_grad():
        out, logits = method.predict(images), method.witness(images).logits
    assert torch.allclose(out.scores, -logits.max(dim=1).values)


def test_everything_else_is_the_same_with_and_without_it() -> None:
    samples = noisy_samples()
    plain, accompanied = tiny_lond(samples), tiny_lond(samples, witness=True)
    shared = plain.state_dict()
    assert plain.witness is None
    assert {name for name in accompanied.state_dict() if name not in shared} == {
        name for name in accompanied.state_dict() if name.startswith("witness.")
    }
    accompanied.load_state_dict({**accompanied.state_dict(), **shared})
    images = survey_images(samples)
    batch = {"all": Batch(torch.arange(len(samples)), samples.labels, (images, images))}
    one, other = (method.train().step("warm-up", batch, Clock(0), seeded()) for method in (plain, accompanied))
    assert all(torch.equal(term.values, other[name].values) for name, term in one.items())


def test_unlabelled_images_teach_it_nothing() -> None:
    labels = torch.arange(40) % 3
    labels[::4] = UNLABELLED
    method, samples, phase = prepared(tiny_samples(40, 3, labels=labels), witness=True)
    batch = first_batches(samples, phase, 40)["all"]
    terms = method.step("robust", first_batches(samples, phase, 40), Clock(2), seeded())
    assert len(terms["witness"].values) == int((batch.labels >= 0).sum()) < len(batch.labels)


def test_without_a_contrastive_term_it_still_sees_all_samples() -> None:
    method, samples, phase = prepared(witness=True, contrastive_weight=0.0)
    assert len(phase.streams["all"].indices) == len(samples)
    terms = method.step("robust", first_batches(samples, phase), Clock(2), seeded())
    assert "witness" in terms
    assert "contrastive" not in terms


def test_batches_without_any_label_train() -> None:
    labels = torch.full((40,), UNLABELLED)
    labels[:8] = torch.arange(8) % 2
    samples = tiny_samples(40, 2, labels=labels)
    history = tiny_trainer(samples, settings=lond_settings(witness=True), epochs=3).run().history
    assert all(math.isfinite(record["loss"]) for record in history)


def test_batches_without_a_labelled_image_teach_it_nothing() -> None:
    """Few labels among many images: most batches of all images hold none."""
    samples = noisy_samples()
    few = samples.labels.clone()
    few[torch.randperm(len(few), generator=seeded())[6:]] = UNLABELLED
    settings = lond_settings(witness=True, warmup_epochs=1)
    trainer = tiny_trainer(samples.with_labels(few, None), settings=settings, epochs=4, batch_size=2)
    assert all(math.isfinite(record["loss"]) for record in trainer.run().history)
