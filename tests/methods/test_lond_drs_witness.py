"""The witness of LOND-DRS: a head beside the others that learns every given label and tells foreign images."""

from __future__ import annotations

import math

import pytest
import torch
from methods.test_lond_drs import noisy_samples, parts_with_gradient, prepared, seeded, survey_images
from methods.tiny import first_batches, survey_of, tiny_lond, tiny_samples

from lond.losses import draw_mix, negative_probabilities
from lond.types import UNLABELLED, Clock


def loss_by_hand(logits: torch.Tensor, label: int) -> float:
    """Eq. 2 of one row, class by class."""
    total = 0.0
    for place, (no, yes) in enumerate(logits.tolist()):
        share = 1 / (1 + math.exp(no - yes))
        total -= math.log(share if place == label else 1 - share)
    return total


@pytest.mark.parametrize("phase_name", ["warm-up", "robust"])
def test_it_learns_the_given_labels_of_all_samples(phase_name: str) -> None:
    method, samples, phase = prepared(witness_weight=0.7)
    if phase_name == "warm-up":
        (phase,) = method.before_epoch(0, survey_of(method, samples))
    batches = first_batches(samples, phase, 9)
    batch = batches["all"]
    # The robust step draws for the supervised terms first; without those streams the draws are the same for both.
    random = seeded()
    terms = (
        method.step("warm-up", batches, Clock(0), random)
        if phase_name == "warm-up"
        else method._terms_of_all(batch, random)
    )
    random = seeded()
    mixes = [draw_mix(len(batch.labels), 1.0, random) for _ in batch.views]
    expected = []
    for view, mix in zip(batch.views, mixes, strict=True):
        for row, partner in enumerate(mix.partners.tolist()):
            mixed = mix.ratio * view[row] + (1 - mix.ratio) * view[partner]
            with torch.no_grad():
                logits = method.net.witness_logits(method.net(mixed[None]).features)[0].double()
            own, other = (loss_by_hand(logits, int(batch.labels[place])) for place in (row, partner))
            expected.append(mix.ratio * own + (1 - mix.ratio) * other)
    assert terms["witness"].weight == 0.7
    assert terms["witness"].values.tolist() == pytest.approx(expected, rel=1e-4)


def test_it_teaches_nothing_but_itself() -> None:
    method, samples, phase = prepared(witness_weight=1.0)
    method.train()
    terms = method.step("robust", first_batches(samples, phase), Clock(2), seeded())
    assert parts_with_gradient(method, terms["witness"].values.mean()) == set()
    assert all(parameter.grad is not None for parameter in method.net.witness_head.parameters())


def test_the_foreign_score_is_read_from_it() -> None:
    method, samples, _ = prepared(witness_weight=1.0)
    images = survey_images(samples)
    with torch.no_grad():
        out, told = method.predict(images), method.net(images)
        witness = negative_probabilities(method.net.witness_logits(told.features))
        nearest = (told.embedding @ method.net.unit_prototypes().T).argmax(dim=1)
    assert torch.allclose(out.scores, witness.gather(1, nearest[:, None]).squeeze(1), atol=1e-6)


def test_everything_else_stays_as_it_is_without_it() -> None:
    samples = noisy_samples()
    plain, with_witness = tiny_lond(samples), tiny_lond(samples, witness_weight=1.0)
    assert {name for name in with_witness.state_dict() if "witness" in name}
    shared = plain.state_dict()
    assert not {name for name in shared if "witness" in name}
    assert all(torch.equal(value, with_witness.state_dict()[name]) for name, value in shared.items())
    with pytest.raises(ValueError, match="without a witness"):
        plain.net.witness_logits(torch.zeros(2, plain.net.feature_size))


def test_unlabelled_rows_and_what_is_mixed_with_them_are_left_out() -> None:
    labels = torch.arange(40) % 3
    labels[::4] = UNLABELLED
    method, samples, phase = prepared(tiny_samples(40, 3, labels=labels), witness_weight=1.0)
    batch = first_batches(samples, phase, 40)["all"]
    values = method._terms_of_all(batch, seeded())["witness"].values
    random = seeded()
    expected = 0
    for _ in batch.views:
        partners = draw_mix(len(batch.labels), 1.0, random).partners
        expected += int(((batch.labels >= 0) & (batch.labels[partners] >= 0)).sum())
    assert len(values) == expected < 2 * len(batch.labels)
    assert values.isfinite().all()


def test_without_a_contrastive_term_it_still_sees_all_samples() -> None:
    method, samples, phase = prepared(witness_weight=1.0, contrastive_weight=0.0)
    assert len(phase.streams["all"].indices) == len(samples)
    terms = method.step("robust", first_batches(samples, phase), Clock(2), seeded())
    assert "witness" in terms
    assert "contrastive" not in terms
