"""Choosing cells by pattern."""

from __future__ import annotations

import pytest

from lond.errors import ConfigError
from lond.paper import experiment
from lond.reproduce.filters import choices, chosen_cells

CELLS = experiment("table1").cells


def test_things_are_joined_and_alternatives_added() -> None:
    assert chosen_cells(CELLS, []) == CELLS
    ours = chosen_cells(CELLS, ["LOND*", "cifar80n"])
    assert [(cell.row, cell.data, cell.noise) for cell in ours] == [
        ("Ours", "cifar80n", noise) for noise in ("sym20", "sym80", "asym40")
    ]
    two = chosen_cells(CELLS, ["SED", "ngc", "sym80", "CIFAR100N"])
    assert {(cell.row, cell.data, cell.noise) for cell in two} == {
        ("SED", "cifar100n", "sym80"),
        ("NGC", "cifar100n", "sym80"),
    }


def test_parts_and_patterns() -> None:
    assert {cell.row for cell in chosen_cells(CELLS, ["co-teaching"])} == {"Co-teaching", "Co-teaching+"}
    assert {cell.row for cell in chosen_cells(CELLS, ["co-teachin?"])} == {"Co-teaching"}
    assert {cell.noise for cell in chosen_cells(CELLS, ["sym*"])} == {"sym20", "sym80"}
    assert {cell.detector for cell in chosen_cells(experiment("table2").cells, ["mds"])} == {"mds"}


@pytest.mark.parametrize("pattern", ["foo", "", "  ", "web-*"])
def test_a_pattern_that_fits_nothing_names_the_choices(pattern: str) -> None:
    with pytest.raises(ConfigError, match="rows: Standard, .*data: cifar100n, cifar80n; noise: sym20"):
        chosen_cells(CELLS, [pattern])


def test_patterns_that_exclude_each_other() -> None:
    cells = experiment("figure5").cells
    with pytest.raises(ConfigError, match="fits nothing"):
        chosen_cells(cells, ["sym20"])
    with pytest.raises(ConfigError, match="no cell fits all of sym20, K=9|fits nothing"):
        chosen_cells(experiment("figure4").cells, ["sym20", "K=9"])
    assert choices(experiment("table3").cells).endswith("data: web-aircraft, web-bird, web-car")
