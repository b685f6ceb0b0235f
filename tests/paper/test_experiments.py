"""The runs behind each table and figure."""

from __future__ import annotations

from collections import Counter

import pytest

from lond.errors import ConfigError
from lond.paper import APPENDIX, EXPERIMENTS, all_cells, experiment, published_of, table

COUNTS = {
    "table1": 60, "table2": 33, "table3": 36, "table4": 12, "table5": 0, "table6": 9, "table7": 8, "table8": 40,
    "figure1": 4, "figure2": 0, "figure3": 63, "figure4": 15, "figure5": 3, "figure6": 3,
}  # fmt: skip


def test_how_many_cells_each_has() -> None:
    assert {name: len(experiment(name).cells) for name in EXPERIMENTS} == COUNTS
    assert set(APPENDIX) < set(EXPERIMENTS)
    assert len(all_cells()) == sum(COUNTS.values())


def test_an_unknown_name_is_refused() -> None:
    with pytest.raises(ConfigError, match="no 'table9'; choose one of: table1"):
        experiment("table9")


def test_cells_belong_to_their_experiment_and_differ() -> None:
    for name, found in EXPERIMENTS.items():
        assert found.name == name
        assert {cell.experiment for cell in found.cells} <= {name}
    places = Counter((c.experiment, c.row, c.data, c.noise, c.detector, c.reading) for c in all_cells())
    assert set(places.values()) == {1}


@pytest.mark.parametrize("name", [name for name in EXPERIMENTS if name.startswith("table")])
def test_every_printed_figure_has_a_cell_and_every_cell_a_figure(name: str) -> None:
    first = [cell for cell in experiment(name).cells if not cell.reading]
    figures = [figure for figure in table(name) if not figure.is_mean]
    assert sum(len(published_of(cell)) for cell in first) == len(figures)
    for cell in first:
        assert set(published_of(cell)) <= set(cell.metrics)
        assert published_of(cell)


def test_figures_print_nothing() -> None:
    assert not any(published_of(cell) for cell in all_cells() if cell.experiment.startswith("figure"))


def test_detectors_are_put_on_sed() -> None:
    assert {cell.method for cell in all_cells() if cell.detector} == {"sed"}
    assert len({cell.detector for cell in experiment("table2").cells if cell.detector}) == 9
