"""When two images are near copies, pair by pair."""

from __future__ import annotations

import io
import math

import numpy as np
import pytest
import torch
from PIL import Image, ImageDraw, ImageEnhance
from torch import Tensor

from lond.audit.copies.near import (
    NearSettings,
    alone_by,
    close_pairs,
    colour_differences,
    features_agree,
    first_of_equal,
    first_places,
    look_alike,
    near_pairs,
    usual_distance,
)
from lond.errors import ConfigError
from lond.frozen.hashes import SMALL, PerceptualHashes, perceptual_hashes


def turned(*degrees: float) -> Tensor:
    """Return unit vectors ``(N, 768)`` of mean zero at these angles in one plane."""
    across, along = torch.zeros(2, 3 * SMALL**2)
    across[:2] = along[2:4] = torch.tensor([1.0, -1.0]) / math.sqrt(2)
    angles = torch.tensor(degrees).deg2rad()[:, None]
    return angles.cos() * across + angles.sin() * along


def pairs(found: tuple[Tensor, Tensor]) -> set[tuple[int, int]]:
    return {(a, b) for a, b in zip(*(part.tolist() for part in found), strict=True) if a != b}


def test_nothing_equals_an_unreadable_image() -> None:
    assert first_places(["a", "", "b", "a", ""]) == {"a": 0, "b": 2}
    assert first_of_equal(["a", "", "b", "a", ""]).tolist() == [0, 1, 2, 0, 4]
    assert first_of_equal([]).shape == (0,)


def test_the_threshold_is_a_cosine() -> None:
    bank = turned(0, 10, 90)
    assert pairs(close_pairs(bank, None, NearSettings(threshold=0.98))) == {(0, 1), (1, 0)}
    assert pairs(close_pairs(bank, None, NearSettings(threshold=0.99))) == set()
    rows, columns = close_pairs(bank, turned(91, 45), NearSettings(threshold=0.98))
    assert (rows.tolist(), columns.tolist()) == ([0], [2])


def test_where_neighbours_are_close_copies_must_be_closer() -> None:
    """Steps of five degrees: the second neighbours lie 0.004 apart, of which copies may use a tenth."""
    bank = turned(*range(0, 50, 5))
    settings = NearSettings(threshold=0.9, neighbours=2)
    assert pairs(close_pairs(bank, None, settings)) == set()
    assert len(pairs(close_pairs(bank[:2], None, settings))) == 2
    assert pairs(close_pairs(turned(*range(0, 50, 5), 20.5), None, settings)) == {(4, 10), (10, 4)}


def test_bits_are_counted_pair_by_pair() -> None:
    bits = torch.zeros(3, 64, dtype=torch.bool)
    bits[1, :12] = bits[2, :13] = True
    seen = PerceptualHashes(bits, turned(0, 0, 0))
    one, other = torch.tensor([0, 0, 1]), torch.tensor([1, 2, 2])
    assert look_alike(seen, one, seen, other, NearSettings()).tolist() == [True, False, True]
    assert look_alike(seen, one, seen, other, NearSettings(max_bits=0)).tolist() == [False] * 3


def test_copies_and_unreadable_images_are_not_searched() -> None:
    seen = PerceptualHashes(torch.zeros(5, 64, dtype=torch.bool), turned(0, 0, 0, 1, 90))
    hashes = ["a", "a", "", "b", "c"]
    found = pairs(near_pairs(first_of_equal(hashes), hashes, seen, NearSettings()))
    assert found == {(0, 3), (3, 0)}


@pytest.mark.parametrize(
    "wrong", [{"threshold": 0.0}, {"threshold": 1.1}, {"apart": 0.0}, {"neighbours": 0}, {"max_bits": -1}]
)
def test_settings_that_mean_nothing_are_refused(wrong: dict[str, float]) -> None:
    with pytest.raises(ConfigError, match=f"need 0 < threshold <= 1.*{next(iter(wrong))}="):
        NearSettings(**wrong)  # type: ignore[arg-type]


def heart(colour: str) -> Image.Image:
    picture = Image.new("RGB", (96, 96), "white")
    draw = ImageDraw.Draw(picture)
    draw.ellipse((16, 20, 50, 54), fill=colour)
    draw.ellipse((46, 20, 80, 54), fill=colour)
    draw.polygon([(19, 46), (77, 46), (48, 82)], fill=colour)
    return picture


def flag(sign: str) -> Image.Image:
    picture = Image.new("RGB", (96, 96), (222, 41, 16))
    draw = ImageDraw.Draw(picture)
    if sign == "star":
        draw.polygon([(48, 30), (62, 66), (30, 44), (66, 44), (34, 66)], fill=(255, 222, 0))
    else:
        draw.ellipse((30, 30, 66, 66), fill="white")
        draw.ellipse((40, 34, 68, 62), fill=(222, 41, 16))
    return picture


def photo() -> Image.Image:
    """Return a picture of smooth random colours."""
    random = np.random.default_rng(0).integers(30, 220, (6, 6, 3), dtype=np.uint8)
    return Image.fromarray(random).resize((96, 96), Image.Resampling.BICUBIC)


def same(*pictures: Image.Image) -> bool:
    images = [torch.from_numpy(np.array(picture.resize((96, 96)))).permute(2, 0, 1) for picture in pictures]
    seen = perceptual_hashes(torch.stack(images))
    return bool(look_alike(seen, torch.tensor([0]), seen, torch.tensor([1]), NearSettings()))


def test_pictures_of_other_colours_are_not_the_same() -> None:
    assert not same(heart("orange"), heart("yellow"))
    assert not same(heart("red"), heart("blue"))
    assert not same(flag("star"), flag("crescent"))
    assert same(heart("orange"), heart("orange")) and same(photo(), photo())


@pytest.mark.parametrize("make", [lambda: heart("orange"), lambda: flag("star"), photo])
def test_copies_that_were_scaled_or_changed_in_brightness_are_the_same(make: object) -> None:
    assert callable(make)
    picture: Image.Image = make()
    assert same(picture, picture.resize((40, 40)))
    assert same(picture, ImageEnhance.Brightness(picture).enhance(0.8))
    assert same(picture, ImageEnhance.Contrast(picture).enhance(0.8))


def test_colour_differences_by_hand() -> None:
    """Of 50 cells six differ by a half in one colour, one of them by all of white."""
    one = torch.full((1, 3, 50), 100.0)
    one[0, :, ::2] = 200.0
    other = one.clone()
    assert [value.item() for value in colour_differences(one.view(1, -1), other.view(1, -1))] == [0.0, 0.0]
    # A common gain and offset is no difference of colour.
    most, spot = colour_differences(one.view(1, -1), (0.5 * other + 20).view(1, -1))
    assert most.item() == pytest.approx(0, abs=1e-6) and spot.item() == pytest.approx(0, abs=1e-6)
    other[0, 1, :6] += 127.5
    most, spot = colour_differences(one.view(1, -1), other.view(1, -1))
    assert 0.4 < most.item() <= spot.item() < 0.6


def ground(kind: str) -> Image.Image:
    """Return an empty picture: plain, shaded or with soft noise."""
    if kind == "plain":
        return Image.new("RGB", (96, 96), (120, 150, 90))
    if kind == "shaded":
        return Image.linear_gradient("L").resize((96, 96)).convert("RGB")
    return photo()


def with_thing(picture: Image.Image, left: int, top: int, colour: str = "black") -> Image.Image:
    """Return a picture with a thing of an eighth of its side."""
    changed = picture.copy()
    ImageDraw.Draw(changed).ellipse((left, top, left + 12, top + 12), fill=colour)
    return changed


@pytest.mark.parametrize("kind", ["plain", "shaded", "noise"])
def test_small_things_at_other_places_part_pictures_of_the_same_ground(kind: str) -> None:
    first = with_thing(ground(kind), 20, 20)
    assert not same(first, with_thing(ground(kind), 60, 30))
    assert not same(first, with_thing(ground(kind), 20, 20, "white"))
    assert not same(first, ground(kind)) and not same(ground(kind), first)


@pytest.mark.parametrize("kind", ["shaded", "noise"])
def test_changed_copies_with_small_things_stay_the_same(kind: str) -> None:
    picture = with_thing(ground(kind), 20, 20)
    for factor in (0.7, 1.25):
        brighter = ImageEnhance.Brightness(picture).enhance(factor)
        assert same(picture, brighter) and same(brighter, picture)
    file = io.BytesIO()
    picture.save(file, "JPEG", quality=40)
    assert same(picture, Image.open(file)) and same(picture, picture.resize((50, 40)))
    assert same(picture, picture.crop((1, 2, 95, 96)))


def test_how_far_a_cell_is_alone_by_hand() -> None:
    """A cell that moves to its neighbour is not alone; one that is nowhere around is, unless it lies at the border."""
    one = torch.full((1, 3, SMALL, SMALL), 100.0)
    one[..., ::2] = 150.0
    moved, other, border = one.clone(), one.clone(), one.clone()
    moved[..., 4, 4], moved[..., 4, 5] = 100.0, 150.0
    other[..., 4, 4] = 250.0
    border[..., 0, 4] = 250.0
    found = [alone_by(one.flatten(1), each.flatten(1)).item() for each in (moved, other, border)]
    assert found[0] == pytest.approx(0, abs=0.01) and found[2] == pytest.approx(0, abs=0.02)
    assert found[1] == pytest.approx(100 / 255, abs=0.05)


def test_features_of_copies_lie_much_closer_than_those_of_neighbours() -> None:
    features = turned(*range(0, 120, 10), 111)
    near, far = torch.tensor([11, 0]), torch.tensor([12, 1])
    settings = NearSettings(neighbours=2)
    assert usual_distance(features, 2) == pytest.approx(1 - math.cos(math.radians(10)), abs=1e-6)
    assert features_agree(features, near, far, settings).tolist() == [True, False]
    assert features_agree(features, near[:0], far[:0], settings).shape == (0,)


def test_features_that_disagree_part_pictures_that_look_alike() -> None:
    seen = PerceptualHashes(torch.zeros(3, 64, dtype=torch.bool), turned(0, 1, 90))
    hashes = ["a", "b", "c"]
    twins = first_of_equal(hashes)
    assert pairs(near_pairs(twins, hashes, seen, NearSettings(), turned(0, 1, 90))) == {(0, 1), (1, 0)}
    assert pairs(near_pairs(twins, hashes, seen, NearSettings(), turned(0, 90, 45))) == set()


@pytest.mark.parametrize("wrong", ["max_colour", "max_spot", "max_alone", "features_apart"])
def test_further_settings_that_mean_nothing_are_refused(wrong: str) -> None:
    with pytest.raises(ConfigError, match=f"{wrong} > 0"):
        NearSettings(**{wrong: 0.0})  # type: ignore[arg-type]
