"""Maps in two dimensions."""

from __future__ import annotations

import sys

import pytest
import torch

from lond import layout_map
from lond.errors import ConfigError, MissingDependencyError
from lond.layout_map import between_landmarks, principal_components, two_dimensions, used_kind

CLOUD = torch.randn(40, 6, generator=torch.Generator().manual_seed(0)) * torch.tensor([9.0, 4, 1, 1, 1, 1])


def test_principal_components_against_a_singular_value_decomposition() -> None:
    plane = principal_components(CLOUD, 2)
    left, values, _ = torch.linalg.svd(CLOUD - CLOUD.mean(dim=0), full_matrices=False)
    expected = left[:, :2] * values[:2]
    assert torch.allclose(plane.abs(), expected.abs(), atol=1e-3)
    assert torch.equal(plane, principal_components(CLOUD, 2))


def test_vectors_of_one_dimension() -> None:
    assert principal_components(torch.arange(5.0)[:, None], 2).shape == (5, 2)


def test_kinds() -> None:
    assert two_dimensions(CLOUD, "none") is None
    assert two_dimensions(CLOUD[:2], "pca") is None
    points = two_dimensions(CLOUD, "pca")
    assert points is not None
    assert len(points) == 40
    with pytest.raises(ConfigError, match="globe"):
        two_dimensions(CLOUD, "globe")  # type: ignore[arg-type]


def test_t_sne_keeps_clusters_apart() -> None:
    pytest.importorskip("openTSNE")
    vectors = torch.cat([CLOUD, CLOUD + 60])
    points = torch.tensor(two_dimensions(vectors, "tsne", seed=1))
    assert points.shape == (80, 2)
    distances = torch.cdist(points, points)
    assert distances[:40, :40].mean() < distances[:40, 40:].mean()


def test_t_sne_of_wide_vectors_works_on_their_components() -> None:
    pytest.importorskip("openTSNE")
    wide = torch.cat([CLOUD, torch.zeros(40, 90)], dim=1)
    narrow = two_dimensions(principal_components(wide, 6), "tsne")
    assert narrow is not None
    points = two_dimensions(wide, "tsne", components=6)
    torch.testing.assert_close(torch.tensor(points), torch.tensor(narrow), atol=1e-3, rtol=1e-3)


def test_auto_stands_for_what_is_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    assert used_kind("none") == "none" and used_kind("pca") == "pca"
    monkeypatch.setattr("lond.layout_map.find_spec", lambda name: None)
    assert used_kind("auto") == "pca"


def test_without_its_package_t_sne_is_refused_and_auto_takes_the_plane(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "openTSNE", None)
    with pytest.raises(MissingDependencyError, match=r"lond\[audit\]"):
        two_dimensions(CLOUD, "tsne")


def test_others_lie_between_the_landmarks_they_resemble() -> None:
    landmarks = torch.eye(4)
    places = torch.tensor([[0.0, 0.0], [4.0, 0.0], [0.0, 4.0], [40.0, 40.0]])
    vectors = torch.tensor([[2.0, 0.0, 0.0, 0.0], [0.6, 0.6, 0.52915, 0.0]])
    found = between_landmarks(vectors, landmarks, places)
    assert torch.allclose(found[0], places[0], atol=1e-3)
    weights = torch.tensor([1 / 0.4, 1 / 0.4, 1 / (1 - 0.52915)])
    expected = (places[:3] * weights[:, None]).sum(dim=0) / weights.sum()
    assert torch.allclose(found[1], expected, atol=1e-3)


def test_a_large_set_is_placed_by_landmarks() -> None:
    pytest.importorskip("openTSNE")
    vectors = torch.cat([CLOUD, -CLOUD])
    points = two_dimensions(vectors, "tsne", landmarks=20)
    assert points is not None and len(points) == 80
    alone = two_dimensions(vectors[torch.arange(20) * 4], "tsne", landmarks=20)
    assert alone is not None
    assert points[4] == pytest.approx(alone[1], abs=0.05)


def test_principal_components_in_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = principal_components(CLOUD, 2)
    monkeypatch.setattr(layout_map, "ROWS", 7)
    assert torch.allclose(principal_components(CLOUD, 2), whole, atol=1e-5)


def test_the_quick_map_keeps_as_many_neighbours_as_the_usual_one() -> None:
    pytest.importorskip("openTSNE")
    random = torch.Generator().manual_seed(0)
    vectors = 3 * torch.randn(12, 10, generator=random).repeat_interleave(25, dim=0)
    vectors += torch.randn(vectors.shape, generator=random)

    def kept(landmarks: int | None) -> float:
        points = torch.tensor(two_dimensions(vectors, "tsne", landmarks=landmarks))
        near, shown = (torch.cdist(x, x).topk(11, largest=False).indices[:, 1:] for x in (vectors, points))
        return float((near[:, :, None] == shown[:, None]).any(dim=2).float().mean())

    assert kept(300) > kept(None) - 0.03
