"""RankFeat against NumPy's singular value decomposition."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from reference import detectors as ref
from torch import Tensor

from lond.detect import Evidence, NoNetworkError, RankFeat
from lond.detect.rankfeat import remove_rank_one
from lond.errors import ConfigError

SHAPES = [(3, 16, 2, 2), (2, 3, 4, 4), (2, 4, 2, 2), (1, 1, 3, 3), (2, 5, 1, 1), (2, 4, 2, 3)]


def maps(*shape: int) -> Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(sum(shape))).relu() + 0.1


@pytest.mark.parametrize("shape", SHAPES)
def test_removal_equals_numpy(shape: tuple[int, ...]) -> None:
    expected = torch.from_numpy(ref.without_rank_one(maps(*shape).numpy())).float()
    assert torch.allclose(remove_rank_one(maps(*shape)), expected, atol=1e-5)


@pytest.mark.parametrize("shape", SHAPES)
def test_power_iteration_comes_close(shape: tuple[int, ...]) -> None:
    assert torch.allclose(remove_rank_one(maps(*shape), 50), remove_rank_one(maps(*shape)), atol=1e-3)


def test_power_iteration_starts_at_a_row_that_is_not_empty() -> None:
    dead = maps(2, 6, 2, 2)
    dead[:, :2] = 0
    assert torch.allclose(remove_rank_one(dead, 50), remove_rank_one(dead), atol=1e-3)


@pytest.mark.parametrize("iterations", [None, 20])
def test_empty_maps_stay_empty(iterations: int | None) -> None:
    assert torch.equal(remove_rank_one(torch.zeros(2, 3, 2, 2), iterations), torch.zeros(2, 3, 2, 2))
    assert remove_rank_one(torch.zeros(0, 3, 2, 2), iterations).shape == (0, 3, 2, 2)


def test_half_precision() -> None:
    removed = remove_rank_one(maps(3, 16, 2, 2).half())
    assert removed.dtype == torch.float32
    assert torch.allclose(removed, remove_rank_one(maps(3, 16, 2, 2)), atol=1e-2)


@pytest.mark.parametrize("temperature", [1.0, 3.0])
def test_scores_equal_a_loop(temperature: float, network: Any) -> None:
    images = torch.randn(4, 3, 8, 8, generator=torch.Generator().manual_seed(5))
    previous, last = (
        torch.from_numpy(ref.without_rank_one(m.detach().numpy())).float()
        for m in network.evidence(images, maps=True).maps
    )
    logits = (network.finish(0, last) + network.finish(1, previous)) / 2
    expected = ref.ebo(logits.detach().double().numpy(), temperature)
    scores = RankFeat(network, temperature=temperature).score(images)
    assert not scores.requires_grad
    assert scores.tolist() == pytest.approx(expected, rel=1e-4, abs=1e-4)


def test_larger_means_more_foreign() -> None:
    class Sum:
        """Logits are the sums over each channel of what is left."""

        def finish(self, block: int, maps: Tensor) -> Tensor:
            return maps.clamp(min=0).sum(dim=(2, 3))

    rich = torch.diag(torch.tensor([9.0, 8.0, 7.0, 6.0])).reshape(1, 4, 2, 2)
    poor = torch.full((1, 4, 2, 2), 9.0)
    detector = RankFeat(Sum())  # type: ignore[arg-type]
    known, foreign = (float(detector.score_features(Evidence(maps=(m, m)))) for m in (rich, poor))
    assert foreign > known


def test_maps_and_network_are_needed() -> None:
    with pytest.raises(ValueError, match="needs maps"):
        RankFeat().score_features(Evidence(torch.zeros(1, 2)))
    with pytest.raises(NoNetworkError, match="RankFeat needs a network"):
        RankFeat().score_features(Evidence(maps=(maps(1, 2, 2, 2), maps(1, 2, 2, 2))))


@pytest.mark.parametrize("settings", [{"temperature": 0.0}, {"power_iterations": 0}])
def test_refuses_settings_that_mean_nothing(settings: dict[str, Any]) -> None:
    with pytest.raises(ConfigError):
        RankFeat(**settings)
