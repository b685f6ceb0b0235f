"""ASH against loops."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from detect.last_layer_samples import Head, features
from reference import detectors as ref

from lond.detect import ASH, Evidence, NoNetworkError
from lond.detect.ash import shape_features
from lond.errors import ConfigError


@pytest.mark.parametrize("variant", ["s", "b", "p"])
@pytest.mark.parametrize("percentile", [0.0, 50.0, 65.0, 90.0, 99.9])
def test_equals_loops(variant: Any, percentile: float) -> None:
    head, queries = Head(), features(9, 1)
    shaped = ref.ash(queries.double().numpy(), percentile, variant)
    scores = ASH(head=head, percentile=percentile, variant=variant).score_features(Evidence(queries))
    assert scores.tolist() == pytest.approx(ref.ebo(ref.logits_of(shaped, *head.arrays)), rel=1e-4, abs=1e-4)


def test_a_row_by_hand() -> None:
    row = torch.tensor([[3.0, 1.0, 0.0, 4.0]])
    assert shape_features(row, 50, "p").tolist() == [[3, 0, 0, 4]]
    assert shape_features(row, 50, "b").tolist() == [[4, 0, 0, 4]]
    factor = torch.tensor(8 / 7).exp().item()
    assert shape_features(row, 50, "s").tolist()[0] == pytest.approx([3 * factor, 0, 0, 4 * factor])


@pytest.mark.parametrize("variant", ["s", "b", "p"])
def test_features_that_are_all_zero_stay_so(variant: Any) -> None:
    assert not shape_features(torch.zeros(2, 5), 90, variant).any()
    assert shape_features(-torch.ones(2, 5), 90, variant).isfinite().all()


def test_refusals() -> None:
    with pytest.raises(ConfigError, match="percentile"):
        ASH(percentile=100)
    with pytest.raises(ConfigError, match="variant 'x'"):
        ASH(variant="x")  # type: ignore[arg-type]
    with pytest.raises(NoNetworkError, match="ASH needs a network"):
        ASH().score_features(Evidence(features(2)))
