"""Odd pictures in sets whose usual is known."""

from __future__ import annotations

import numpy as np
import pytest
from PIL import Image, ImageFilter

from lond.audit.quality.oddities import ODDITIES, OddityRules, find_oddities, usual_range
from lond.frozen.measures import MEASURES, measure_picture

USUAL = {
    "width": 640, "height": 480, "several": 0, "highlights": 0.9, "shadows": 0.1, "contrast": 0.25, "blur": 0.3,
    "colour": 0.4,
}  # fmt: skip


def measures(*odd: dict[str, float], usual: int = 50, spread: float = 0.02) -> np.ndarray:
    """Return usual pictures, and odd ones behind them that differ from the usual in what is given."""
    random = np.random.default_rng(0)
    rows = [[*USUAL.values()] for _ in range(usual)] + [[*(USUAL | own).values()] for own in odd]
    found = np.asarray(rows, dtype=np.float32)
    found[:usual, 3:] += random.normal(0, spread, (usual, 5)).astype(np.float32)
    return found


@pytest.mark.parametrize(
    ("odd", "name"),
    [
        ({"highlights": 0.3}, "dark"),
        ({"shadows": 0.8}, "bright"),
        ({"blur": 0.8}, "blurred"),
        ({"contrast": 0.005, "blur": 1.0}, "uniform"),
        ({"width": 64, "height": 48}, "odd size"),
        ({"width": 6400, "height": 4800}, "odd size"),
        ({"width": 1920, "height": 160}, "odd shape"),
        ({"several": 1}, "animated"),
        ({"colour": 0.01}, "grey"),
    ],
)
def test_each_oddity_is_found_and_nothing_else(odd: dict[str, float], name: str) -> None:
    found = find_oddities(measures(odd), [True] * 51)
    assert found.names == ((),) * 50 + ((name,),)
    assert found.summary()["counts"] == {name: 1}
    assert set(found.limits) == set(ODDITIES) - {"animated", "seen in part"}


def test_pictures_seen_in_part_are_listed_unless_unreadable() -> None:
    found = find_oddities(measures(usual=3), [True, True, False], seen_in_part=np.array([True, False, True]))
    assert found.names == (("seen in part",), (), ())


def test_a_picture_seen_in_part_is_no_odd_shape_besides() -> None:
    long = {"width": 1920, "height": 160}
    found = find_oddities(measures(long, long), [True] * 52, seen_in_part=np.arange(52) == 50)
    assert found.names[50:] == (("seen in part",), ("odd shape",))


def test_what_follows_from_an_oddity_is_not_said() -> None:
    dark = {"highlights": 0.1, "shadows": 0.0, "contrast": 0.03, "colour": 0.01, "blur": 0.9}
    assert find_oddities(measures(dark), [True] * 51).names[-1] == ("dark", "blurred")
    black = dark | {"highlights": 0.0, "contrast": 0.0, "blur": 1.0}
    assert find_oddities(measures(black), [True] * 51).names[-1] == ("dark", "uniform")


def test_limits_come_from_the_set() -> None:
    """Drawings on white are all bright, and night pictures all dark: nothing is odd about one more."""
    bright = [{"shadows": 0.95, "highlights": 1.0}] * 30
    assert find_oddities(measures(*bright, usual=0), [True] * 30).names == ((),) * 30
    dark = [{"highlights": 0.2, "shadows": 0.0}] * 30
    assert find_oddities(measures(*dark, {"highlights": 0.9}, usual=0), [True] * 31).names == ((),) * 31
    wide = measures({"highlights": 0.5}, spread=0.2)
    assert "dark" not in find_oddities(wide, [True] * 51).names[-1]
    assert find_oddities(measures({"highlights": 0.5}), [True] * 51).names[-1] == ("dark",)


def scene(low: int, high: int, seed: int = 0) -> Image.Image:
    """Return a picture of squares of many sizes and colours, whose values lie between ``low`` and ``high``."""
    random = np.random.default_rng(seed)
    canvas = np.full((144, 192, 3), (low + high) // 2, dtype=np.uint8)
    for _ in range(120):
        top, left, side = random.integers(0, 144), random.integers(0, 192), random.integers(3, 40)
        canvas[top : top + side, left : left + side] = random.integers(low, high + 1, 3)
    return Image.fromarray(canvas)


def varied(*odd: Image.Image, usual: int = 60) -> np.ndarray:
    """Return the measures of pictures from dim to glaring and from sharp to soft, and of others behind them."""
    ends = [(0, 60), (0, 130), (60, 255), (0, 255), (100, 255), (10, 160)]
    blurs = [0, 0.4, 0.8, 1.2, 1.6]
    usuals = [
        scene(*ends[at % len(ends)], seed=at).filter(ImageFilter.GaussianBlur(blurs[at % len(blurs)]))
        for at in range(usual)
    ]
    return np.stack([measure_picture(picture, *picture.size) for picture in (*usuals, *odd)])


@pytest.mark.parametrize(
    ("picture", "name"),
    [
        (scene(0, 6), "dark"),
        (scene(252, 255), "bright"),
        (scene(0, 255).filter(ImageFilter.GaussianBlur(6)), "blurred"),
        (Image.new("RGB", (192, 144), (90, 120, 90)), "uniform"),
    ],
)
def test_extreme_pictures_are_odd_in_sets_as_varied_as_can_be(picture: Image.Image, name: str) -> None:
    wide = OddityRules(deviations=20.0)
    found = find_oddities(varied(picture), [True] * 61, wide)
    assert name in found.names[-1] and not any(name in names for names in found.names[:-1])
    without = OddityRules(deviations=20.0, black=0.0, white=1.0, smooth=1.0, flat=0.0)
    assert name == "uniform" or name not in find_oddities(varied(picture), [True] * 61, without).names[-1]


@pytest.mark.parametrize(
    ("extreme", "usual", "name"),
    [
        ({"highlights": 0.03, "shadows": 0.0}, {"highlights": 0.3}, "dark"),
        ({"shadows": 0.99, "highlights": 1.0}, {"shadows": 0.7}, "bright"),
        ({"blur": 0.9}, {"blur": 0.6}, "blurred"),
    ],
)
def test_what_a_tenth_of_the_set_is_counts_as_its_style(
    extreme: dict[str, float], usual: dict[str, float], name: str
) -> None:
    loose = OddityRules(brightness=0.6, blur=0.6)
    for count, expected in ((10, name), (11, None)):
        found = measures(*[usual] * (100 - count), *[extreme] * count, usual=0)
        told = find_oddities(found, [True] * 100, loose)
        assert set(told.names[:-count]) == {()}
        assert set(told.names[-count:]) == {(expected,) if expected else ()}


def test_a_set_that_is_all_dark_is_not_flagged() -> None:
    night = np.stack([measure_picture(scene(0, 12, seed), 192, 144) for seed in range(20)])
    assert not any("dark" in names for names in find_oddities(night, [True] * 20).names)


def test_an_extreme_picture_is_odd_among_few() -> None:
    few = measures({"highlights": 0.02}, usual=5)
    assert find_oddities(few, [True] * 6).names == ((),) * 5 + (("dark",),)
    assert find_oddities(measures(*[{"highlights": 0.02}] * 2, usual=4), [True] * 6).names == ((),) * 6


def test_grey_is_odd_among_colour_only() -> None:
    mixed = measures(*[{"colour": 0.0}] * 20, usual=30)
    assert find_oddities(mixed, [True] * 50).names == ((),) * 50
    assert find_oddities(mixed, [True] * 50, OddityRules(grey_share=0.5)).names[-1] == ("grey",)


def test_unreadable_pictures_have_no_oddities_and_do_not_count() -> None:
    found = measures({"highlights": 0.3})
    found = np.concatenate([found, np.zeros((200, len(MEASURES)), dtype=np.float32)])
    told = find_oddities(found, [True] * 51 + [False] * 200)
    assert told.names[50] == ("dark",) and told.names[51:] == ((),) * 200


def test_few_pictures_do_not_say_what_is_usual() -> None:
    few = measures({"highlights": 0.1}, {"several": 1}, {"contrast": 0.001, "blur": 1.0}, usual=3)
    assert find_oddities(few, [True] * 6).names == ((), (), (), (), ("animated",), ("uniform",))
    assert find_oddities(np.zeros((0, len(MEASURES))), []).names == ()


def test_the_usual_range_by_hand() -> None:
    values = np.asarray([1.0, 2.0, 3.0, 4.0, 100.0])
    assert usual_range(values, 2.0, 0.5) == pytest.approx((3 - 2 * 1.4826, 3 + 2 * 1.4826))
    assert usual_range(values, 2.0, 7.0) == (-4.0, 10.0)
