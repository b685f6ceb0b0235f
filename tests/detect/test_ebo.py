"""Energy against a loop."""

from __future__ import annotations

import pytest
import torch
from reference import detectors as ref

from lond.detect import EBO, Evidence
from lond.errors import ConfigError


@pytest.mark.parametrize("classes", [1, 2, 7])
@pytest.mark.parametrize("temperature", [0.5, 1.0, 10.0])
def test_equals_a_loop(classes: int, temperature: float) -> None:
    logits = 4 * torch.randn(9, classes, generator=torch.Generator().manual_seed(classes))
    scores = EBO(temperature=temperature).score_features(Evidence(logits=logits))
    assert scores.tolist() == pytest.approx(ref.ebo(logits.double().numpy(), temperature), rel=1e-6, abs=1e-6)


def test_large_logits_do_not_overflow_even_in_half_precision() -> None:
    logits = torch.tensor([[6e4, 0.0], [-6e4, -6e4]])
    assert EBO().score_features(Evidence(logits=logits.half())).tolist() == pytest.approx([-6e4, 6e4], rel=1e-3)


def test_larger_means_more_foreign() -> None:
    sure, unsure = EBO().score_features(Evidence(logits=torch.tensor([[9.0, 0.0], [1.0, 0.0]]))).tolist()
    assert unsure > sure


@pytest.mark.parametrize("temperature", [0.0, -1.0, float("nan")])
def test_refuses_a_temperature_that_is_none(temperature: float) -> None:
    with pytest.raises(ConfigError, match="must be positive"):
        EBO(temperature=temperature)
