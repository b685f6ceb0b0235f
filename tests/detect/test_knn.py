"""KNN against scikit-learn."""

from __future__ import annotations

import pytest
import torch
from reference import detectors as ref
from torch import Tensor

from lond.detect import KNN, Evidence
from lond.detect import knn as module
from lond.errors import ConfigError


def features(rows: int, seed: int = 0) -> Tensor:
    return 3 * torch.randn(rows, 6, generator=torch.Generator().manual_seed(seed))


@pytest.mark.parametrize(("rows", "k"), [(80, 1), (80, 50), (80, 80), (80, 500), (1, 50), (2, 1)])
def test_equals_scikit_learn(rows: int, k: int) -> None:
    scores = KNN(k=k).fit_features(Evidence(features(rows))).score_features(Evidence(features(13, 1)))
    expected = ref.knn(features(13, 1).double().numpy(), features(rows).double().numpy(), k)
    assert scores.tolist() == pytest.approx(expected.tolist(), abs=2e-6)


@pytest.mark.parametrize("size", [1, 4 * 80, 4 * 80 * 5])
def test_blocks_do_not_matter(size: int, monkeypatch: pytest.MonkeyPatch) -> None:
    detector = KNN().fit_features(Evidence(features(80)))
    whole = detector.score_features(Evidence(features(13, 1)))
    monkeypatch.setattr(module, "BLOCK_BYTES", size)
    blocks = detector.score_features(Evidence(features(13, 1)))
    assert torch.allclose(blocks, whole, atol=1e-6)


def test_length_does_not_matter_and_a_copy_is_at_distance_zero() -> None:
    detector = KNN(k=1).fit_features(Evidence(features(80)))
    scores = detector.score_features(Evidence(17 * features(80)))
    assert scores.min() >= 0
    assert scores.max() < 1e-6


def test_a_feature_of_length_zero_is_orthogonal_to_all() -> None:
    assert KNN(k=3).fit_features(Evidence(features(9))).score_features(Evidence(torch.zeros(2, 6))).tolist() == [2, 2]


def test_open_set_images_in_the_bank_make_their_like_look_known() -> None:
    """Why ``trusted_only`` exists."""
    known, foreign = features(60) + 20 * torch.eye(6)[0], features(60, 1) + 20 * torch.eye(6)[1]
    queries = Evidence(features(5, 2) + 20 * torch.eye(6)[1])
    trusted = KNN().fit_features(Evidence(known)).score_features(queries)
    everything = KNN().fit_features(Evidence(torch.cat([known, foreign]))).score_features(queries)
    assert (everything < trusted / 2).all()


def test_refuses_k_below_one() -> None:
    with pytest.raises(ConfigError, match="at least 1"):
        KNN(k=0)


def test_a_block_of_similarities_keeps_to_its_size(monkeypatch: pytest.MonkeyPatch) -> None:
    sizes: list[int] = []
    monkeypatch.setattr(module, "in_blocks", lambda function, values, rows: sizes.append(rows) or function(values))
    monkeypatch.setattr(module, "BLOCK_BYTES", 4 * 80 * 5 + 3)
    KNN().fit_features(Evidence(features(80))).score_features(Evidence(features(13, 1)))
    assert sizes == [5]
