"""Plain cross-entropy: the loss by hand, smoothing, unlabelled images, prediction."""

from __future__ import annotations

import math

import pytest
import torch
from methods.tiny import first_batches, survey_of, tiny_method, tiny_samples

from lond.errors import ConfigError
from lond.methods import StandardSettings
from lond.types import UNLABELLED, Clock


@pytest.mark.parametrize("smoothing", [0.0, 0.3])
@pytest.mark.parametrize("head", ["mlp", "linear"])
def test_step_equals_the_loop(smoothing: float, head: str) -> None:
    samples = tiny_samples(20)
    settings = StandardSettings(head=head, hidden=12, label_smoothing=smoothing)
    method = tiny_method(samples, "standard", settings).eval()
    (phase,) = method.before_epoch(0, survey_of(method, samples))
    assert phase.streams["all"].views == ("weak",)
    batch = first_batches(samples, phase, 8)["all"]
    (term,) = method.step("train", {"all": batch}, Clock(0), torch.Generator()).values()
    with torch.no_grad():
        logits = method.net(batch.views[0]).logits.double().tolist()
    for row, label, value in zip(logits, batch.labels.tolist(), term.values.tolist(), strict=True):
        log_sum = math.log(math.fsum(math.exp(x) for x in row))
        targets = [smoothing / 3 + (1 - smoothing) * (c == label) for c in range(3)]
        assert value == pytest.approx(math.fsum(t * (log_sum - x) for t, x in zip(targets, row, strict=True)), abs=1e-5)
    assert term.weight == 1.0


def test_every_part_learns_and_labels_stay_out_of_reach() -> None:
    samples = tiny_samples(20)
    method = tiny_method(samples, "standard").train()
    (phase,) = method.before_epoch(0, survey_of(method, samples))
    (term,) = method.step("train", first_batches(samples, phase), Clock(0), torch.Generator()).values()
    term.values.mean().backward()
    assert all(parameter.grad is not None for parameter in method.parameters())


def test_unlabelled_images_take_no_part() -> None:
    labels = torch.arange(20) % 3
    labels[::3] = UNLABELLED
    samples = tiny_samples(20, labels=labels)
    method = tiny_method(samples, "standard")
    (phase,) = method.before_epoch(0, survey_of(method, samples))
    assert phase.streams["all"].indices.tolist() == (labels >= 0).nonzero().squeeze(1).tolist()
    assert phase.lead == int((labels >= 0).sum())


@torch.no_grad()
def test_prediction_by_hand() -> None:
    samples = tiny_samples(20)
    method = tiny_method(samples, "standard").eval()
    images = torch.randn(5, 1, 8, 8)
    out = method.predict(images)
    expected = torch.softmax(method.net(images).logits, dim=1)
    assert torch.allclose(out.probabilities, expected)
    assert torch.allclose(out.scores, 1 - expected.max(dim=1).values, atol=1e-6)
    assert torch.equal(out.logits, method.net(images).logits)
    assert out.features.shape == (5, 32)
    assert method.partition is None


def test_an_unknown_head_is_refused() -> None:
    with pytest.raises(ConfigError, match="conv"):
        tiny_method(tiny_samples(), "standard", StandardSettings(head="conv"))  # type: ignore[arg-type]
