"""Features in place of pixels, and the views made of them."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from lond.data.feature_views import FeaturePixels, FeatureViews, FeatureViewSettings, is_features
from lond.data.pixels import ArrayPixels, subset
from lond.errors import ConfigError, DataError
from lond.types import Request

VALUES = np.arange(24, dtype=np.float32).reshape(4, 2, 3)


def test_features_travel_like_images() -> None:
    pixels = FeaturePixels(VALUES)
    assert (len(pixels), pixels.channels, pixels.size) == (4, 2, (1, 3))
    (out,) = pixels.stream([Request(torch.tensor([2, 0]))])
    assert out.shape == (1, 2, 2, 1, 3)
    assert torch.equal(out[0, :, :, 0], torch.from_numpy(VALUES[[2, 0]]))
    assert FeaturePixels(VALUES[:, 0]).channels == 1
    (part,) = subset(pixels, [3]).stream([Request(torch.tensor([0]))])
    assert torch.equal(part[0, 0, :, 0], torch.from_numpy(VALUES[3]))


def test_half_precision_and_mapped_files(tmp_path) -> None:
    np.save(tmp_path / "f.npy", VALUES.astype(np.float16))
    pixels = FeaturePixels(np.load(tmp_path / "f.npy", mmap_mode="r"))
    (out,) = pixels.stream([Request(torch.arange(4))])
    assert out.dtype == torch.float32
    assert torch.equal(out[0, :, :, 0], torch.from_numpy(VALUES))


def test_fingerprints_follow_the_values() -> None:
    changed = VALUES.copy()
    changed[3, 1, 2] += 1
    prints = {FeaturePixels(values).fingerprint() for values in (VALUES, changed, VALUES.astype(np.float16))}
    assert len(prints) == 3
    assert FeaturePixels(torch.from_numpy(VALUES)).fingerprint() in prints


@pytest.mark.parametrize(
    "values",
    [np.zeros(3), np.zeros((2, 0)), np.zeros((2, 3, 4, 5)), np.array([["a"]]), [[1.0, np.nan]], [[1.0, np.inf]]],
)
def test_what_is_no_feature_table_is_refused(values: object) -> None:
    with pytest.raises(DataError, match="features"):
        FeaturePixels(values)


def images(rows: int = 400, views: int = 2, size: int = 50) -> torch.Tensor:
    """View v of every image holds the value v + 1 everywhere."""
    return torch.arange(1.0, views + 1)[None, :, None, None].expand(rows, views, 1, size).clone()


def test_weak_views_draw_a_stored_view_and_drop_features() -> None:
    views = FeatureViews(FeatureViewSettings(weak_dropout=0.25))
    out = views.weak(images(), torch.Generator().manual_seed(0))
    assert out.shape == (400, 50)
    kept = out != 0
    assert 0.2 < 1 - kept.float().mean() < 0.3
    # Each row comes from one stored view, and the kept features grow so that the mean stays.
    assert all(len(row[row != 0].unique()) == 1 for row in out)
    assert set(torch.round(out[kept] * 0.75).unique().tolist()) == {1.0, 2.0}
    assert 0.4 < (out.amax(dim=1) > 2).float().mean() < 0.6


def test_strong_views_add_noise_of_the_rows_own_size() -> None:
    quiet = FeatureViews(FeatureViewSettings(strong_dropout=0, strong_noise=0))
    loud = FeatureViews(FeatureViewSettings(strong_dropout=0, strong_noise=0.5))
    rows = torch.randn(200, 1, 1, 400, generator=torch.Generator().manual_seed(1)) * 3
    assert torch.equal(quiet.strong(rows, torch.Generator()), rows[:, 0, 0])
    difference = loud.strong(rows, torch.Generator()) - rows[:, 0, 0]
    assert difference.std().item() == pytest.approx(1.5, rel=0.05)


def test_equal_generators_give_equal_views_and_tests_draw_nothing() -> None:
    views = FeatureViews(FeatureViewSettings())
    for make in (views.weak, views.strong):
        one, other = (make(images(), torch.Generator().manual_seed(3)) for _ in range(2))
        assert torch.equal(one, other)
    assert torch.allclose(views.test(images()), torch.full((400, 50), 1.5))


@pytest.mark.parametrize("values", [{"weak_dropout": 1.0}, {"strong_dropout": -0.1}, {"strong_noise": -1.0}])
def test_settings_that_mean_nothing_are_refused(values: dict[str, float]) -> None:
    with pytest.raises(ConfigError):
        FeatureViewSettings(**values)


def test_what_counts_as_features() -> None:
    features = FeaturePixels(np.zeros((4, 3)))
    images = ArrayPixels(np.zeros((4, 2, 2, 3), dtype=np.uint8))
    assert is_features(features) and is_features(subset(features, [2, 1]))
    assert not is_features(images) and not is_features(subset(images, [1]))


@pytest.mark.parametrize("stored", [1, 3])
def test_a_weak_view_draws_as_it_always_did(stored: int) -> None:
    """Runs of earlier versions are repeated bit by bit."""
    values = torch.randn(7, stored, 1, 9, generator=torch.Generator().manual_seed(1))
    random = torch.Generator().manual_seed(0)
    chosen = torch.randint(stored, (7,), generator=random)
    kept = torch.rand(7, 9, generator=random) >= 0.25
    wanted = (values[torch.arange(7), chosen, 0] * kept) / 0.75
    found = FeatureViews(FeatureViewSettings(weak_dropout=0.25)).weak(values, torch.Generator().manual_seed(0))
    assert torch.equal(found, wanted)


@pytest.mark.parametrize("stored", [1, 3])
def test_the_test_view_is_the_mean_of_all_stored_ones(stored: int) -> None:
    values = torch.randn(7, stored, 1, 9, generator=torch.Generator().manual_seed(1))
    assert torch.equal(FeatureViews(FeatureViewSettings()).test(values), values[:, :, 0].mean(dim=1))
