"""NNGuide against loops."""

from __future__ import annotations

import pytest
import torch
from detect.last_layer_samples import Head, features
from reference import detectors as ref

from lond.detect import Evidence, NNGuide
from lond.detect import nnguide as module
from lond.errors import ConfigError


@pytest.mark.parametrize(("rows", "k", "classes"), [(60, 1, 3), (60, 10, 2), (60, 60, 3), (60, 500, 3), (1, 10, 3)])
def test_equals_loops(rows: int, k: int, classes: int) -> None:
    head, fit, queries = Head(classes), features(rows), features(9, 1)
    scores = NNGuide(k=k).fit_features(Evidence(fit, head(fit))).score_features(Evidence(queries, head(queries)))
    arrays = [part.double().numpy() for part in (queries, head(queries), fit, head(fit))]
    assert scores.tolist() == pytest.approx(ref.nnguide(*arrays, k), rel=1e-4, abs=1e-4)


def test_blocks_do_not_matter(monkeypatch: pytest.MonkeyPatch) -> None:
    head, queries = Head(), features(13, 1)
    detector = NNGuide().fit_features(Evidence(features(60), head(features(60))))
    whole = detector.score_features(Evidence(queries, head(queries)))
    monkeypatch.setattr(module, "BLOCK_BYTES", 4 * 60 * 5)
    assert torch.allclose(detector.score_features(Evidence(queries, head(queries))), whole, atol=1e-5)


def test_refuses_k_below_one() -> None:
    with pytest.raises(ConfigError, match="at least 1"):
        NNGuide(k=0)
