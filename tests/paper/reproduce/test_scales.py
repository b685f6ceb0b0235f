"""Scales by name, and which cells have a meaning on them."""

from __future__ import annotations

from dataclasses import replace

import pytest

from lond.errors import ConfigError
from lond.paper import Cell, all_cells
from lond.paper.reproduce.scales import COMPARABLE, SCALES, checked_scale, why_left_out

CELL = Cell("table1", "SED", "cifar80n", "sym20", "sed", "cifar80n-sym20", ("accuracy",))


def test_what_is_left_out() -> None:
    left = {scale: [cell for cell in all_cells() if why_left_out(cell, scale)] for scale in SCALES}
    assert left["full"] == left["smoke"] == []
    assert {cell.detector for cell in left["frozen"]} == {"rankfeat"}
    assert {cell.data for cell in all_cells() if cell not in left["mini"]} == {"cifar80n"}


def test_an_unknown_scale_is_refused() -> None:
    assert checked_scale("mini") == "mini"
    with pytest.raises(ConfigError, match="choose one of: full, mini, frozen, smoke"):
        checked_scale("tiny")


def test_reasons_are_told() -> None:
    assert {why_left_out(CELL, scale) for scale in SCALES} == {""}
    web = replace(CELL, data="web-bird")
    assert why_left_out(web, "mini") == "mini80 stands for CIFAR80N; there is no reduced Web-Bird"
    assert why_left_out(replace(CELL, detector="rankfeat"), "frozen").startswith("RankFeat needs the maps")


def test_differences_are_told_on_data_of_the_paper_alone() -> None:
    assert set(SCALES) - set(COMPARABLE) == {"smoke"}
