"""Views: settings, normalisation, memory order, repeatability."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor

from lond.data.augment.policies import STRONG_POLICIES
from lond.data.views import ViewMaker, ViewSettings
from lond.errors import ConfigError


def seeded(seed: int = 0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def random_images(*shape: int) -> Tensor:
    return torch.randint(0, 256, shape, generator=seeded(3)).to(torch.uint8)


def levels_of(views: Tensor, settings: ViewSettings) -> Tensor:
    """Undo the normalisation."""
    mean, std = torch.tensor(settings.mean), torch.tensor(settings.std)
    if views.shape[1] == 1:
        mean, std = mean.mean()[None], std.mean()[None]
    return (views * std.view(1, -1, 1, 1) + mean.view(1, -1, 1, 1)) * 255


def test_unknown_policy_names_the_known_ones() -> None:
    with pytest.raises(ConfigError, match="autoaugment, randaugment, augmix, geometric, none"):
        ViewSettings(strong="autoaugmnet")


@pytest.mark.parametrize(
    "wrong", [{"padding": -1}, {"std": (0.2, 0.0, 0.2)}, {"mean": (0.5,)}], ids=["padding", "std", "mean"]
)
def test_impossible_settings_are_refused(wrong: dict[str, object]) -> None:
    with pytest.raises(ConfigError):
        ViewSettings(**wrong)  # type: ignore[arg-type]


def test_other_channel_numbers_are_refused() -> None:
    with pytest.raises(ConfigError, match="1 or 3"):
        ViewMaker(ViewSettings(), 2)


@pytest.mark.parametrize("channels", [1, 3])
def test_test_views_only_normalise(channels: int) -> None:
    images = random_images(5, channels, 6, 9)
    settings = ViewSettings()
    views = ViewMaker(settings, channels).test(images)
    mean = torch.tensor(settings.mean).view(1, 3, 1, 1)
    std = torch.tensor(settings.std).view(1, 3, 1, 1)
    if channels == 1:
        mean, std = mean.mean(), std.mean()
    assert torch.allclose(views, (images / 255 - mean) / std, atol=1e-5)
    assert views.dtype == torch.float32


@pytest.mark.parametrize("name", STRONG_POLICIES)
@pytest.mark.parametrize("shape", [(20, 3, 16, 16), (20, 1, 10, 7), (1, 3, 8, 8), (0, 3, 8, 8)], ids=str)
def test_views_are_channels_last_whole_levels_and_repeat(name: str, shape: tuple[int, ...]) -> None:
    images = random_images(*shape)
    before = images.clone()
    settings = ViewSettings(strong=name)
    maker = ViewMaker(settings, shape[1])
    for make in (maker.weak, maker.strong):
        for crop in (True, False):
            views = make(images, seeded(1), crop=crop)
            assert views.shape == images.shape
            assert views.is_contiguous(memory_format=torch.channels_last)
            levels = levels_of(views, settings)
            assert torch.allclose(levels, levels.round().clamp(0, 255), atol=1e-3)
            assert torch.equal(views, make(images, seeded(1), crop=crop))
    assert torch.equal(images, before)


def test_without_crop_weak_views_are_the_image_or_its_mirror_half_the_time() -> None:
    images = random_images(2000, 1, 4, 4)
    maker = ViewMaker(ViewSettings(), 1)
    views, plain = maker.weak(images, seeded(2), crop=False), maker.test(images)
    same = (views == plain).flatten(1).all(dim=1)
    mirrored = (views == plain.flip(3)).flatten(1).all(dim=1)
    assert bool((same | mirrored).all())
    assert mirrored.float().mean().item() == pytest.approx(0.5, abs=0.05)


def test_crops_reach_every_offset_and_nothing_else() -> None:
    images = torch.full((4000, 1, 6, 6), 255, dtype=torch.uint8)
    settings = ViewSettings(padding=1, flip=False)
    levels = levels_of(ViewMaker(settings, 1).weak(images, seeded(3)), settings).round()
    shown = (levels == 255).flatten(1).sum(dim=1)
    counts = {size: int((shown == size).sum()) for size in (36, 30, 25)}
    assert sum(counts.values()) == 4000
    assert counts[36] / 4000 == pytest.approx(1 / 9, abs=0.02)
    assert counts[25] / 4000 == pytest.approx(4 / 9, abs=0.03)


def test_weak_without_padding_and_flip_is_the_test_view() -> None:
    images = random_images(6, 3, 8, 8)
    maker = ViewMaker(ViewSettings(padding=0, flip=False, strong="none"), 3)
    assert torch.equal(maker.weak(images, seeded()), maker.test(images))
    assert torch.equal(maker.strong(images, seeded()), maker.test(images))


def test_strong_draws_crops_and_flips_as_weak_does() -> None:
    images = random_images(30, 3, 8, 8)
    maker = ViewMaker(ViewSettings(strong="none"), 3)
    assert torch.equal(maker.weak(images, seeded(5)), maker.strong(images, seeded(5)))


def test_strong_views_are_weak_ones_changed_by_the_policy(monkeypatch: pytest.MonkeyPatch) -> None:
    """The policy of this test turns bright pixels dark."""
    monkeypatch.setitem(STRONG_POLICIES, "none", lambda images, generator: 255 - images)
    images, settings = random_images(30, 3, 8, 8), ViewSettings(strong="none")
    maker = ViewMaker(settings, 3)
    weak, strong = maker.weak(images, seeded(5)), maker.strong(images, seeded(5))
    assert torch.allclose(levels_of(strong, settings), 255 - levels_of(weak, settings), atol=1e-2)
