"""MDS against scikit-learn's covariance and loops."""

from __future__ import annotations

import pytest
import torch
from reference import detectors as ref
from torch import Tensor

from lond.detect import MDS, Evidence
from lond.detect import evidence as blocks
from lond.detect.mds import whitener
from lond.errors import ConfigError, DataError


def features(rows: int, seed: int = 0, size: int = 6) -> Tensor:
    random = torch.Generator().manual_seed(seed)
    mixing = torch.randn(size, size, generator=torch.Generator().manual_seed(size))
    return torch.randn(rows, size, generator=random) @ mixing + 4


@pytest.mark.parametrize(
    "labels", [torch.arange(70) % 2, torch.arange(70) % 5, torch.zeros(70), 3 * (torch.arange(70) % 3)]
)
def test_equals_scikit_learn(labels: Tensor) -> None:
    labels = labels.long()
    scores = MDS().fit_features(Evidence(features(70), labels=labels)).score_features(Evidence(features(9, 1)))
    expected = ref.mds(features(9, 1).double().numpy(), features(70).double().numpy(), labels.numpy())
    assert scores.tolist() == pytest.approx(expected, rel=1e-8)


def test_a_class_of_one_sample_has_a_mean_but_no_spread() -> None:
    labels = torch.cat([torch.zeros(40), torch.ones(1)]).long()
    scores = MDS().fit_features(Evidence(features(41), labels=labels)).score_features(Evidence(features(41)))
    expected = ref.mds(features(41).double().numpy(), features(41).double().numpy(), labels.numpy())
    assert scores.tolist() == pytest.approx(expected, rel=1e-8, abs=1e-9)
    assert float(scores[-1]) == pytest.approx(0, abs=1e-9)


def test_dead_and_doubled_units_change_nothing() -> None:
    def widened(values: Tensor) -> Tensor:
        return torch.cat([values, torch.zeros(len(values), 3), values[:, :2] / 3], dim=1)

    labels = torch.arange(70) % 3
    narrow = MDS().fit_features(Evidence(features(70), labels=labels)).score_features(Evidence(features(9, 1)))
    wide = MDS().fit_features(Evidence(widened(features(70)), labels=labels))
    assert wide.state["whitening"].shape == (11, 6)
    assert wide.score_features(Evidence(widened(features(9, 1)))).tolist() == pytest.approx(narrow.tolist(), rel=1e-4)


def test_fewer_samples_than_features() -> None:
    labels = torch.arange(8) % 2
    scores = (
        MDS().fit_features(Evidence(features(8, size=20), labels=labels)).score_features(Evidence(features(5, 1, 20)))
    )
    expected = ref.mds(features(5, 1, 20).double().numpy(), features(8, size=20).double().numpy(), labels.numpy())
    assert scores.tolist() == pytest.approx(expected, rel=1e-5)


def test_blocks_do_not_matter(monkeypatch: pytest.MonkeyPatch) -> None:
    evidence = Evidence(features(70), labels=torch.arange(70) % 3)
    whole = MDS().fit_features(evidence).score_features(evidence)
    monkeypatch.setattr("lond.detect.mds.BLOCK_ROWS", 11)
    monkeypatch.setattr(blocks.in_blocks, "__defaults__", (11,))
    assert torch.allclose(MDS().fit_features(evidence).score_features(evidence), whole, rtol=1e-10)


def test_no_spread_at_all_is_said() -> None:
    with pytest.raises(DataError, match="no feature varies within a class"):
        MDS().fit_features(Evidence(features(4), labels=torch.arange(4)))


def test_needs_labels() -> None:
    with pytest.raises(ValueError, match="needs labels"):
        MDS().fit_features(Evidence(features(4)))


@pytest.mark.parametrize("cutoff", [-1e-3, 1.0, float("nan")])
def test_refuses_a_cutoff_that_is_none(cutoff: float) -> None:
    with pytest.raises(ConfigError, match="cutoff"):
        MDS(eigen_cutoff=cutoff)


@pytest.mark.parametrize(("cutoff", "kept"), [(1e-8, 3), (1e-6, 2), (1e-4, 1), (0.0, 3)])
def test_the_cutoff_is_a_share_of_the_largest_eigenvalue(cutoff: float, kept: int) -> None:
    """Of 40,000 a share of 1e-6 is 0.04: 0.001 lies below it, 1 above."""
    covariance = torch.diag(torch.tensor([1.0, 1e-3, 4e4], dtype=torch.float64))
    assert whitener(covariance, cutoff).shape == (3, kept)


def test_without_a_cutoff_every_direction_counts() -> None:
    """Variances of 1 and 1e-14 within one class: a cutoff of 0 keeps both, the usual one the first only."""
    spread = torch.tensor([[1.0, 1e-7], [-1.0, 1e-7], [1.0, -1e-7], [-1.0, -1e-7]], dtype=torch.float64)
    fitted, query = Evidence(spread, labels=torch.zeros(4).long()), Evidence(torch.tensor([[3.0, 2e-7]]).double())
    assert MDS(eigen_cutoff=0.0).fit_features(fitted).score_features(query).item() == pytest.approx(9 + 4)
    assert MDS().fit_features(fitted).score_features(query).item() == pytest.approx(9)


def test_an_eigenvalue_on_the_cutoff_is_left_out() -> None:
    assert whitener(torch.diag(torch.tensor([1.0, 4.0], dtype=torch.float64)), 0.25).shape == (2, 1)
