"""SHE against loops."""

from __future__ import annotations

import pytest
import torch
from detect.last_layer_samples import Head, features
from reference import detectors as ref

from lond.detect import SHE, Evidence
from lond.errors import DataError


@pytest.mark.parametrize("classes", [2, 5])
def test_equals_loops(classes: int) -> None:
    head, fit, queries = Head(classes), features(60), features(9, 1)
    labels = torch.where(torch.arange(60) % 4 == 0, 0, head(fit).argmax(dim=1))
    scores = SHE().fit_features(Evidence(fit, head(fit), labels)).score_features(Evidence(queries, head(queries)))
    arrays = [part.double().numpy() for part in (queries, head(queries), fit, head(fit))]
    assert scores.tolist() == pytest.approx(ref.she(*arrays, labels.numpy()), rel=1e-6)


def test_classes_of_one_sample_and_of_none() -> None:
    fit, logits = torch.eye(3), 5 * torch.eye(3)
    detector = SHE().fit_features(Evidence(fit, logits, torch.tensor([0, 1, 0])))
    queries = Evidence(torch.ones(3, 3), logits)
    assert detector.score_features(queries).tolist() == [-1, -1, 0]


def test_no_right_prediction_at_all_is_said() -> None:
    with pytest.raises(DataError, match="no sample is predicted as its label"):
        SHE().fit_features(Evidence(torch.eye(2), torch.eye(2), torch.tensor([1, 0])))
    with pytest.raises(DataError, match="logits of only 2 classes"):
        SHE().fit_features(Evidence(torch.eye(2), torch.eye(2), torch.tensor([1, 2])))
