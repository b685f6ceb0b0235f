"""Temperature scaling against SciPy's minimiser and a loop."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from reference import detectors as ref
from scipy.optimize import minimize_scalar
from torch import Tensor

from lond.detect import Evidence, TempScaling
from lond.detect.temp_scaling import best_temperature, fit_temperature, loss_and_slope
from lond.errors import ConfigError, DataError


def overconfident(rows: int = 400, classes: int = 4, factor: float = 3.0) -> tuple[Tensor, Tensor]:
    """Labels drawn from softmax(z), reported as logits factor * z: the best temperature is about the factor."""
    random = torch.Generator().manual_seed(classes)
    logits = 2 * torch.randn(rows, classes, generator=random)
    labels = logits.softmax(dim=1).multinomial(1, generator=random).squeeze(1)
    return factor * logits, labels


def searched_temperature(logits: Tensor, labels: Tensor) -> float:
    rows = logits.double().numpy()

    def loss(temperature: float) -> float:
        losses = [
            ref.log_sum_exp(list(z / temperature)) - z[y] / temperature for z, y in zip(rows, labels, strict=True)
        ]
        return math.fsum(losses)

    return float(minimize_scalar(loss, bounds=(0.05, 20), method="bounded", options={"xatol": 1e-7}).x)


@pytest.mark.parametrize("block", [1, 7, 4096])
@pytest.mark.parametrize("temperature", [0.5, 1.5, 20.0])
def test_loss_and_slope_equal_autograd(temperature: float, block: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("lond.detect.temp_scaling.BLOCK_ROWS", block)
    logits, labels = overconfident(20)
    variable = torch.tensor(temperature, dtype=torch.float64, requires_grad=True)
    expected = F.cross_entropy(logits.double() / variable, labels)
    expected.backward()
    loss, slope = loss_and_slope(logits, labels, torch.tensor(temperature, dtype=torch.float64))
    assert float(loss) == pytest.approx(float(expected.detach()), rel=1e-12)
    assert float(slope) == pytest.approx(float(variable.grad), rel=1e-9)


@pytest.mark.parametrize(("classes", "factor"), [(2, 3.0), (4, 2.0), (4, 1.0)])
def test_a_full_fit_finds_the_best_temperature(classes: int, factor: float) -> None:
    logits, labels = overconfident(classes=classes, factor=factor)
    detector = TempScaling(learning_rate=0.2, iterations=200).fit_features(Evidence(logits=logits, labels=labels))
    assert float(detector.state["temperature"]) == pytest.approx(searched_temperature(logits, labels), rel=1e-3)


def test_openoods_settings_stop_between_the_start_and_the_best() -> None:
    logits, labels = overconfident()
    temperature = float(TempScaling().fit_features(Evidence(logits=logits, labels=labels)).state["temperature"])
    assert 1.5 < temperature < searched_temperature(logits, labels)


def test_scores_equal_a_loop() -> None:
    logits, labels = overconfident()
    detector = TempScaling().fit_features(Evidence(logits=logits, labels=labels))
    expected = ref.msp(logits[:20].double().numpy(), float(detector.state["temperature"]))
    assert detector.score_features(Evidence(logits=logits[:20])).tolist() == pytest.approx(expected, abs=1e-6)


def test_fits_also_where_gradients_are_off() -> None:
    expected = TempScaling().fit_features(Evidence(None, *overconfident())).state["temperature"]
    for mode in (torch.no_grad, torch.inference_mode):
        with mode():
            found = TempScaling().fit_features(Evidence(None, *overconfident())).state["temperature"]
        assert torch.equal(found, expected)


def test_a_fit_that_leaps_below_zero_is_said_and_mended() -> None:
    logits, labels = overconfident(factor=0.5)
    with pytest.raises(DataError, match="which is no temperature"):
        fit_temperature(logits, labels, learning_rate=1)
    detector = TempScaling(learning_rate=1).fit_features(Evidence(None, logits, labels))
    assert float(detector.state["temperature"]) == pytest.approx(best_temperature(logits, labels))


def test_one_sample_is_enough() -> None:
    detector = TempScaling().fit_features(Evidence(logits=torch.tensor([[1.0, 2.0]]), labels=torch.tensor([0])))
    assert np.isfinite(float(detector.state["temperature"]))


@pytest.mark.parametrize("settings", [{"start": 0}, {"learning_rate": -1}, {"iterations": 0}])
def test_refuses_settings_that_mean_nothing(settings: dict[str, float]) -> None:
    with pytest.raises(ConfigError, match="must be positive"):
        TempScaling(**settings)


def test_best_temperature_is_the_minimum_of_a_fine_grid() -> None:
    random = torch.Generator().manual_seed(3)
    logits = 4 * torch.randn(400, 5, generator=random)
    labels = torch.multinomial((logits / 2.5).softmax(dim=1), 1, generator=random).squeeze(1)
    grid = torch.linspace(0.5, 6, 2000, dtype=torch.float64)
    losses = [float(torch.nn.functional.cross_entropy(logits.double() / t, labels)) for t in grid]
    best = float(grid[losses.index(min(losses))])
    assert best_temperature(logits, labels) == pytest.approx(best, abs=0.003)


def test_best_temperature_stays_in_its_range() -> None:
    sure = 10 * torch.eye(3)
    assert 0.05 <= best_temperature(sure, torch.arange(3)) < 0.5
    assert best_temperature(sure, torch.tensor([1, 2, 0])) == pytest.approx(20, rel=1e-6)
