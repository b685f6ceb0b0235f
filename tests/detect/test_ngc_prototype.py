"""NGC's prototype score against loops."""

from __future__ import annotations

import pytest
import torch
from reference import detectors as ref
from torch import Tensor

from lond.detect import Evidence, NGCPrototype


def embeddings(rows: int, seed: int = 0) -> Tensor:
    return 3 * torch.randn(rows, 6, generator=torch.Generator().manual_seed(seed))


@pytest.mark.parametrize("labels", [torch.arange(70) % 2, torch.arange(70), 3 * (torch.arange(70) % 3)])
def test_equals_loops(labels: Tensor) -> None:
    detector = NGCPrototype().fit_features(Evidence(embeddings(70), labels=labels))
    expected = ref.ngc_prototype(embeddings(9, 1).double().numpy(), embeddings(70).double().numpy(), labels.numpy())
    assert detector.score_features(Evidence(embeddings(9, 1))).tolist() == pytest.approx(expected, abs=1e-6)


def test_embeddings_go_before_features() -> None:
    labels = torch.arange(20) % 2
    both = NGCPrototype().fit_features(Evidence(torch.ones(20, 3), labels=labels, embeddings=embeddings(20)))
    alone = NGCPrototype().fit_features(Evidence(embeddings(20), labels=labels))
    assert torch.equal(both.state["prototypes"], alone.state["prototypes"])
    scores = both.score_features(Evidence(torch.ones(4, 3), embeddings=embeddings(4, 1)))
    assert torch.equal(scores, alone.score_features(Evidence(embeddings(4, 1))))


def test_a_class_without_samples_has_no_prototype() -> None:
    detector = NGCPrototype().fit_features(Evidence(embeddings(20), labels=5 * (torch.arange(20) % 2)))
    assert detector.state["prototypes"].shape == (2, 6)


def test_range_and_sign() -> None:
    detector = NGCPrototype().fit_features(Evidence(torch.eye(2), labels=torch.arange(2)))
    scores = detector.score_features(Evidence(torch.tensor([[7.0, 0.0], [1.0, 1.0], [-1.0, -1.0], [0.0, 0.0]])))
    assert scores.tolist() == pytest.approx([0.0, 1 - 0.5**0.5, 1 + 0.5**0.5, 1.0], abs=1e-6)
