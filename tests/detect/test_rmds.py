"""RMDS against scikit-learn's covariance and loops."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from reference import detectors as ref
from torch import Tensor

from lond.detect import RMDS, Evidence
from lond.errors import ConfigError, DataError


def features(rows: int, seed: int = 0) -> Tensor:
    mixing = torch.randn(6, 6, generator=torch.Generator().manual_seed(6))
    return torch.randn(rows, 6, generator=torch.Generator().manual_seed(seed)) @ mixing + 4


@pytest.mark.parametrize("classes", [1, 2, 5])
def test_equals_scikit_learn(classes: int) -> None:
    labels = torch.arange(70) % classes
    fit = features(70) + 3 * labels[:, None]
    scores = RMDS().fit_features(Evidence(fit, labels=labels)).score_features(Evidence(features(9, 1)))
    arrays = features(9, 1).double().numpy(), fit.double().numpy()
    near, whole = ref.mds(*arrays, labels.numpy()), ref.mds(*arrays, np.zeros(70))
    assert scores.tolist() == pytest.approx([a - b for a, b in zip(near, whole, strict=True)], rel=1e-6, abs=1e-8)


def test_a_class_of_one_sample() -> None:
    labels = torch.cat([torch.zeros(40), torch.ones(1)]).long()
    scores = RMDS().fit_features(Evidence(features(41), labels=labels)).score_features(Evidence(features(41)))
    arrays = features(41).double().numpy(), features(41).double().numpy()
    whole = ref.mds(*arrays, np.zeros(41))
    assert float(scores[-1]) == pytest.approx(-whole[-1], rel=1e-6)


def test_classes_of_one_sample_only_are_said() -> None:
    with pytest.raises(DataError, match="no feature varies within a class"):
        RMDS().fit_features(Evidence(features(4), labels=torch.arange(4)))


def test_refuses_a_cutoff_that_is_none() -> None:
    with pytest.raises(ConfigError, match="cutoff"):
        RMDS(eigen_cutoff=1.0)
