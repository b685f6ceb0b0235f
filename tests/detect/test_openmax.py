"""OpenMax against SciPy's Weibull fit and loops."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from reference import detectors as ref
from scipy.stats import weibull_min
from torch import Tensor

from lond.detect import Evidence, OpenMax
from lond.detect.openmax import SHIFT, Weibull, fit_weibull
from lond.errors import ConfigError, DataError


def made(rows: int, classes: int, seed: int = 0) -> tuple[Tensor, Tensor]:
    random = torch.Generator().manual_seed(seed)
    labels = torch.randint(classes, (rows,), generator=random)
    return 6 * torch.eye(classes)[labels] + 2 * torch.randn(rows, classes, generator=random), labels


@pytest.mark.filterwarnings("ignore:overflow encountered in power")
@pytest.mark.parametrize("size", [2, 3, 20, 200])
@pytest.mark.parametrize("spread", [1e-3, 1.0, 300.0])
def test_the_weibull_fit_equals_scipys(size: int, spread: float) -> None:
    tail = 5 + spread * torch.rand(size, generator=torch.Generator().manual_seed(size), dtype=torch.float64)
    shape, log_scale, least = fit_weibull(tail)
    x = (tail + SHIFT - tail.min()).numpy()

    def likelihood(k: float, scale: float) -> float:
        return float(weibull_min.logpdf(x, k, scale=scale).sum())

    best_shape, _, best_scale = weibull_min.fit(x, shape, floc=0, scale=SHIFT * np.exp(log_scale))
    assert likelihood(shape, SHIFT * np.exp(log_scale)) >= likelihood(best_shape, best_scale) - 1e-6
    assert shape == pytest.approx(best_shape, rel=1e-3)
    model = Weibull(*(torch.tensor([v], dtype=torch.float64) for v in (shape, log_scale, least)))
    queries = torch.linspace(0, 10 + 2 * spread, 9, dtype=torch.float64)
    expected = weibull_min.cdf(queries.numpy() + SHIFT - least, best_shape, scale=best_scale)
    assert model.cdf(torch.zeros(9, dtype=torch.long), queries).tolist() == pytest.approx(expected.tolist(), abs=1e-3)


def test_the_weibull_fit_solves_its_equation() -> None:
    tail = torch.tensor([1.0, 1.0, 1.0, 4.0], dtype=torch.float64)
    shape, log_scale, _ = fit_weibull(tail)
    x = [d + SHIFT - 1 for d in tail.tolist()]
    powers = [(value / SHIFT) ** shape for value in x]
    mean = sum(p * np.log(v) for p, v in zip(powers, x, strict=True)) / sum(powers)
    assert mean - 1 / shape - np.mean(np.log(x)) == pytest.approx(0, abs=1e-11)
    assert log_scale == pytest.approx(np.log(np.mean(powers)) / shape, rel=1e-9)


@pytest.mark.parametrize(
    ("least", "spread", "has_model"),
    [(1e6, 0.005, False), (1e6, 0.02, True), (0.0, 5e-9, False), (0.0, 2e-8, True)],
)
def test_distances_that_differ_by_rounding_have_no_model(least: float, spread: float, has_model: bool) -> None:
    """They must differ by more than 1e-8 of the largest, or 1e-8 where that is below 1."""
    shape, log_scale, smallest = fit_weibull(torch.tensor([least, least + spread], dtype=torch.float64))
    assert smallest == least
    assert shape > 0 if has_model else (shape, log_scale) == (0, 0)


@pytest.mark.parametrize("spread", [1e-3, 1.0, 300.0])
def test_the_weibull_fit_starts_near_its_end(spread: float, monkeypatch: pytest.MonkeyPatch) -> None:
    tail = spread * torch.rand(20, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    whole = fit_weibull(tail)
    monkeypatch.setattr("lond.detect.openmax._MOST_ROUNDS", 8)
    assert fit_weibull(tail) == pytest.approx(whole, rel=1e-9)


@pytest.mark.parametrize(("classes", "alpha", "tail"), [(2, 3, 20), (5, 3, 20), (5, 10, 7), (5, 1, 1000)])
def test_scores_equal_loops(classes: int, alpha: int, tail: int) -> None:
    logits, labels = made(150, classes)
    queries, _ = made(25, classes, 1)
    detector = OpenMax(alpha=alpha, tail_size=tail).fit_features(Evidence(logits=logits, labels=labels))
    expected = ref.openmax(queries.double().numpy(), logits.double().numpy(), labels.numpy(), alpha, tail)
    assert detector.score_features(Evidence(logits=queries)).tolist() == pytest.approx(expected, rel=2e-3, abs=1e-6)


def test_classes_with_no_one_and_two_correct_samples_are_not_revised() -> None:
    logits, labels = made(150, 5)
    seldom = [int(i) for i in torch.nonzero((labels == 4) & (logits.argmax(dim=1) == 4)).flatten()]
    for keep in (0, 1, 2):
        kept = torch.ones(150, dtype=torch.bool)
        kept[seldom[keep:]] = False
        part, part_labels = logits[kept], labels[kept]
        detector = OpenMax().fit_features(Evidence(logits=part, labels=part_labels))
        assert float(detector.state["shape"][4]) == 0
        expected = ref.openmax(logits.double().numpy(), part.double().numpy(), part_labels.numpy(), 3, 20)
        scores = detector.score_features(Evidence(logits=logits))
        assert scores.isfinite().all()
        assert scores.tolist() == pytest.approx(expected, rel=2e-3, abs=1e-6)


def test_wrongly_classified_samples_do_not_count() -> None:
    logits, labels = made(150, 5)
    correct = logits.argmax(dim=1) == labels
    assert not correct.all()
    everything = OpenMax().fit_features(Evidence(logits=logits, labels=labels))
    only = OpenMax().fit_features(Evidence(logits=logits[correct], labels=labels[correct]))
    assert all(torch.equal(only.state[key], value) for key, value in everything.state.items())


def test_larger_means_more_foreign() -> None:
    logits, labels = made(300, 5)
    detector = OpenMax().fit_features(Evidence(logits=logits, labels=labels))
    centre = detector.state["centres"][2]
    between = torch.tensor([12.0, 12.0, 12.0, 0.0, 0.0])
    typical, foreign = detector.score_features(Evidence(logits=torch.stack([centre.float(), between]))).tolist()
    assert foreign > 0.5 > typical


def test_large_logits_stay_finite() -> None:
    logits, labels = made(150, 5)
    detector = OpenMax().fit_features(Evidence(logits=logits, labels=labels))
    scores = detector.score_features(Evidence(logits=1e4 * torch.eye(5) - 3e3))
    assert scores.isfinite().all()


def test_a_model_may_have_a_shape_below_one() -> None:
    """Logits from a thousand to a billion, as of a network without normalisation."""
    logits = torch.tensor([[10.0**power, 0.0] for power in range(3, 10)], dtype=torch.float64)
    detector = OpenMax().fit_features(Evidence(logits=logits, labels=torch.zeros(7, dtype=torch.long)))
    shape = float(detector.state["shape"][0])
    distances = (logits[:, 0] - logits[:, 0].mean()).abs()
    x = (distances + SHIFT - distances.min()).numpy()
    assert 0 < shape < 1
    assert (x**shape @ np.log(x)) / (x**shape).sum() - 1 / shape - np.log(x).mean() == pytest.approx(0, abs=1e-9)


def test_no_class_with_a_model_is_said() -> None:
    with pytest.raises(DataError, match="OpenMax cannot be fitted"):
        OpenMax().fit_features(Evidence(logits=torch.eye(3), labels=torch.tensor([1, 2, 0])))


@pytest.mark.parametrize("settings", [{"alpha": 0}, {"tail_size": 1}])
def test_refuses_settings_that_mean_nothing(settings: dict[str, int]) -> None:
    with pytest.raises(ConfigError, match="alpha >= 1"):
        OpenMax(**settings)
