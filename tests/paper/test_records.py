"""What the records of the paper say of themselves."""

from __future__ import annotations

from dataclasses import replace

import pytest

from lond.config import with_overrides
from lond.paper.records import MEAN, Cell, Published
from lond.presets.benchmarks import preset

VALUE = Published("table1", "SED", "sed", "cifar80n", "sym20", "accuracy", 69.1)
CELL = Cell("table4", "(1).Warmup", "cifar80n", "sym20", "lond-drs", "cifar80n-sym20", ("accuracy",))


@pytest.mark.parametrize("name", ["data", "noise", "metric"])
def test_an_average_runs_over_data_noise_or_metrics(name: str) -> None:
    assert not VALUE.is_mean
    assert replace(VALUE, **{name: MEAN}).is_mean
    assert not replace(VALUE, row=MEAN, method=MEAN).is_mean


def test_a_reading_is_part_of_the_name() -> None:
    assert CELL.name == "(1).Warmup"
    assert replace(CELL, reading="short").name == "(1).Warmup (short)"


def test_overrides_are_texts_that_a_configuration_takes() -> None:
    overrides = {"views.flip": False, "train.epochs": 3, "net.width": 0.5, "views.strong": "none"}
    texts = replace(CELL, overrides=overrides).texts()
    assert texts == {"views.flip": "false", "train.epochs": "3", "net.width": "0.5", "views.strong": "none"}
    config = with_overrides(preset("digits"), texts)
    assert (config.views.flip, config.train.epochs, config.net.width, config.views.strong) == (False, 3, 0.5, "none")


def test_cells_that_differ_in_overrides_alone_are_different_but_can_be_hashed() -> None:
    changed = replace(CELL, overrides={"train.epochs": 3})
    assert changed != CELL and len({CELL, changed, CELL}) == 2
