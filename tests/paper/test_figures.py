"""The figures as data."""

from __future__ import annotations

import pytest

from lond.paper import DATA_SETS, EXPERIMENTS, PANELS, SWEEPS, Sweep, panels
from lond.presets.benchmarks import preset


def test_every_figure_has_its_parts() -> None:
    figures = [name for name in EXPERIMENTS if name.startswith("figure")]
    assert list(dict.fromkeys(panel.experiment for panel in PANELS)) == figures
    assert {name: len(panels(name)) for name in figures} == {
        "figure1": 2, "figure2": 1, "figure3": 4, "figure4": 1, "figure5": 1, "figure6": 1,
    }  # fmt: skip
    assert panels("table1") == ()


def test_what_is_measured_has_data_and_what_is_drawn_has_none() -> None:
    for panel in PANELS:
        measured = panel.kind != "drawing"
        assert bool(panel.data in DATA_SETS and panel.noises and panel.rows and panel.expected) == measured


def test_sweeps_go_around_the_recommended_values() -> None:
    assert [sweep.symbol for sweep in SWEEPS] == ["alpha_ID", "alpha_OOD", "lambda_Con", "lambda_BCL", "K"]
    assert [sweep.symbol for sweep in SWEEPS if sweep.values_printed] == ["K"]
    for sweep in SWEEPS:
        assert len(set(sweep.values)) == len(sweep.values)
        assert set(sweep.chosen) <= set(sweep.values)


@pytest.mark.parametrize("sweep", SWEEPS, ids=lambda sweep: sweep.symbol)
def test_the_presets_hold_the_recommended_values(sweep: Sweep) -> None:
    for noise, chosen in zip(sweep.noises, sweep.chosen, strict=True):
        value: object = preset(f"cifar80n-{noise}")
        for name in sweep.key.split("."):
            value = getattr(value, name)
        assert value == chosen
