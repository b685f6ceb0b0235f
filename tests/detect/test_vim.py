"""ViM against singular vectors and loops."""

from __future__ import annotations

import pytest
import torch
from detect.last_layer_samples import SIZE, Head, features
from reference import detectors as ref

from lond.detect import Evidence, NoNetworkError, ViM
from lond.detect.vim import usual_dimension
from lond.errors import ConfigError, DataError


def evidence(head: Head, rows: int, seed: int = 0) -> Evidence:
    return Evidence(features(rows, seed), head(features(rows, seed)))


@pytest.mark.parametrize("classes", [2, 3, 11])
@pytest.mark.parametrize("dimension", [None, 0, 1, 7])
def test_equals_singular_vectors(classes: int, dimension: int | None) -> None:
    head = Head(classes)
    detector = ViM(head=head, dimension=dimension).fit_features(evidence(head, 50))
    expected = ref.vim(
        features(9, 1).double().numpy(),
        features(50).double().numpy(),
        *head.arrays,
        SIZE // 2 if dimension is None else dimension,
    )
    assert detector.score_features(evidence(head, 9, 1)).tolist() == pytest.approx(expected, rel=1e-4, abs=1e-4)


def test_the_usual_dimensions() -> None:
    assert [usual_dimension(size) for size in (1, 64, 767, 768, 2047, 2048)] == [0, 32, 383, 512, 512, 1000]


def test_a_direction_never_seen_is_foreign() -> None:
    head, fit = Head(), features(50)
    fit[:, -1] = 0
    detector = ViM(head=head).fit_features(Evidence(fit, head(fit)))
    query = features(2, 1)
    query[1] = query[0]
    query[1, -1] += 50
    known, foreign = detector.score_features(Evidence(query, torch.zeros(2, 3))).tolist()
    assert foreign > known


def test_samples_that_fill_the_subspace_only_are_said() -> None:
    head = Head()
    with pytest.raises(DataError, match="fit it on more samples"):
        ViM(head=head).fit_features(evidence(head, 3))
    with pytest.raises(ConfigError, match="dimension 8 leaves nothing of 8 features"):
        ViM(head=head, dimension=8).fit_features(evidence(head, 50))
    with pytest.raises(ConfigError, match="dimension -1"):
        ViM(dimension=-1)


@pytest.mark.parametrize("length", [1e-4, 1.0, 1e4])
def test_what_is_left_is_measured_by_the_length_of_the_features(length: float) -> None:
    """Features (1, r) and (1, -r) times any length: r must exceed a millionth."""

    def fitted(r: float) -> ViM:
        pair = length * torch.tensor([[1.0, r], [1.0, -r]], dtype=torch.float64)
        return ViM(head=lambda h: h, dimension=1).fit_features(Evidence(pair, pair))

    assert fitted(2e-6).state["alpha"].item() == pytest.approx(1 / 2e-6)
    with pytest.raises(DataError, match="fit it on more samples"):
        fitted(5e-7)


def test_needs_a_head_or_a_network() -> None:
    with pytest.raises(NoNetworkError, match="ViM needs a network"):
        ViM().fit_features(evidence(Head(), 9))
