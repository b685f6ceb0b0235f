"""Odd pictures in sets whose usual is known."""

from __future__ import annotations

import numpy as np
import pytest

from lond.audit.quality.oddities import ODDITIES, OddityRules, find_oddities, usual_range
from lond.frozen.measures import MEASURES

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
    assert set(found.limits) == {each for each in ODDITIES if each != "animated"}


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
