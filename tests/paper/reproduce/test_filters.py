"""Choosing cells by pattern."""

from __future__ import annotations

import pytest

from lond.errors import ConfigError
from lond.paper import experiment, published_of
from lond.paper.reproduce.filters import choices, chosen_cells, other_noises, under_noise

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
    with pytest.raises(ConfigError, match="fits nothing"):
        chosen_cells(experiment("table3").cells, ["sym20"])
    with pytest.raises(ConfigError, match="fits nothing"):
        chosen_cells(experiment("figure4").cells, ["sym20", "K=9"])
    assert choices(experiment("table3").cells).endswith("data: web-aircraft, web-bird, web-car")


def test_a_noise_that_the_paper_does_not_print() -> None:
    cells = experiment("table4").cells
    ablation = chosen_cells(cells, ["sym50"])
    assert [(cell.row, cell.reading, dict(cell.overrides)) for cell in ablation] == [
        (cell.row, cell.reading, dict(cell.overrides)) for cell in cells if cell.noise == "sym80"
    ]
    assert {(cell.noise, cell.preset, cell.data) for cell in ablation} == {("sym50", "cifar80n-sym50", "cifar80n")}
    assert all(published_of(cell) == {} for cell in ablation)
    both = chosen_cells(cells, ["(5)*", "Sym50", "sym80"])
    assert [cell.noise for cell in both] == ["sym80", "sym50"]
    assert other_noises(cells) == ["sym20", "sym50"]
    assert [cell.preset for cell in chosen_cells(experiment("table7").cells, ["SED", "sym80", "10k"])] == [
        "cifar100n-sym80"
    ] * 2
    # Only the whole name stands for a noise that is not there, and every pattern must fit still.
    with pytest.raises(ConfigError, match="fits nothing"):
        chosen_cells(cells, ["sym5"])
    with pytest.raises(ConfigError, match="fits nothing"):
        chosen_cells(cells, ["sym50", "SED"])


def test_noise_of_the_data_cannot_be_another_one() -> None:
    cells = experiment("table3").cells
    assert other_noises(cells) == [] and under_noise(cells, "sym50") == ()


def test_a_figure_of_one_noise_shows_one() -> None:
    cells = experiment("figure5").cells
    assert {cell.noise for cell in chosen_cells(cells, ["sym20"])} == {"sym20"}
    with pytest.raises(ConfigError, match="figure5 shows one noise at a time; choose one of: asym40, sym20"):
        chosen_cells(cells, ["asym40", "sym20"])
