"""Every cell's preset, method and overrides are real, and do what they should."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from lond.config import RunConfig, with_overrides
from lond.data.noise import NoiseSettings
from lond.detect import DETECTORS
from lond.errors import ConfigError
from lond.evaluate.predictions import RANKINGS
from lond.methods import METHODS
from lond.paper import DATA_SETS, EXPERIMENTS, Cell, all_cells, experiment
from lond.paper.reproduce.configs import scaled_config as run_config
from lond.paper.reproduce.planning import plan_experiment
from lond.presets.benchmarks import PRESETS, preset
from lond.presets.scales import Places

RUNNABLE = all_cells()
METRICS = {"accuracy", "label_accuracy", *RANKINGS}
NOISES = {
    "sym20": NoiseSettings("symmetric", 0.2),
    "sym50": NoiseSettings("symmetric", 0.5),
    "sym80": NoiseSettings("symmetric", 0.8),
    "asym40": NoiseSettings("asymmetric", 0.4),
}


def value_at(config: RunConfig, key: str) -> Any:
    value: Any = config
    for name in key.split("."):
        value = getattr(value, name)
    return value


def cells_of(name: str, row: str) -> list[Cell]:
    return [cell for cell in experiment(name).cells if cell.row == row]


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_cells_name_real_presets_methods_detectors_metrics_and_settings(name: str) -> None:
    for cell in experiment(name).cells:
        assert cell.preset in PRESETS
        assert cell.method in METHODS
        assert cell.detector in {"", *DETECTORS}
        assert set(cell.metrics) <= METRICS
        config = with_overrides(preset(cell.preset, cell.method), cell.texts())
        assert config.method == cell.method
        for key, value in cell.overrides.items():
            assert value_at(config, key) == value


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_cells_are_trained_on_their_data_with_their_noise(name: str) -> None:
    for cell in experiment(name).cells:
        benchmark = preset(cell.preset, cell.method).data.benchmark
        assert benchmark.name == DATA_SETS[cell.data].benchmark
        if cell.noise:
            assert benchmark.noise == NOISES[cell.noise]


def test_a_key_that_does_not_exist_is_refused() -> None:
    cell = replace(RUNNABLE[0], overrides={"settings.alpha": 1})
    with pytest.raises(ConfigError, match=r"unknown key 'settings.alpha'"):
        run_config(cell)


def test_what_cannot_be_run_says_why() -> None:
    with pytest.raises(ConfigError, match="table1, 'Standard' cannot be run on the scale mini: mini80 stands for"):
        run_config(RUNNABLE[0], "mini")


def test_the_rows_of_the_ablation_switch_terms_on_one_by_one() -> None:
    names = ("pseudo_label_weight", "consistency_weight", "contrastive_weight")

    def weights(row: str) -> tuple[float, ...]:
        (cell,) = (c for c in cells_of("table4", row) if c.noise == "sym80")
        settings = run_config(cell).settings
        assert (settings.one_vs_all_weight, settings.prototype_weight, settings.warmup_epochs) == (1, 1, 50)
        return tuple(getattr(settings, name) for name in names)

    assert weights("(2).Baseline") == (0, 0, 0)
    assert weights("(3).(2)+L_PU") == (1, 0, 0)
    assert weights("(4).(3)+L_Con") == (1, 0.5, 0)
    assert weights("(5).(4)+L_BCL") == (1, 0.5, 0.3)


def test_both_readings_of_the_warmup_row_never_leave_warmup() -> None:
    found = [run_config(cell) for cell in cells_of("table4", "(1).Warmup")]
    assert sorted((c.train.epochs, c.settings.warmup_epochs) for c in found) == [(50, 50)] * 2 + [(300, 300)] * 2


def test_the_full_method_of_the_ablation_is_the_one_of_table_1() -> None:
    assert {run_config(cell) for cell in cells_of("table4", "(5).(4)+L_BCL")} < {
        run_config(cell) for cell in cells_of("table1", "Ours")
    }


@pytest.mark.parametrize("name", ["CIR+", "Ours"])
def test_the_runs_of_figure_1_differ_in_the_images_of_unknown_classes_only(name: str) -> None:
    (noisy,), (known_only,) = (cells_of("figure1", f"{name} {kind} open-set noise") for kind in ("with", "without"))
    config = run_config(known_only)
    assert not config.data.benchmark.train_on_unknown
    benchmark = replace(config.data.benchmark, train_on_unknown=True)
    assert replace(config, data=replace(config.data, benchmark=benchmark)) == run_config(noisy)


def test_the_runs_of_figure_5_differ_in_the_selection_only() -> None:
    uniform, method = cells_of("figure5", "UNICON")
    config, ours = run_config(uniform), run_config(cells_of("figure5", "Ours")[0])
    assert config.settings.identify.selection == "uniform"
    identify = replace(config.settings.identify, selection="neighbour-margin")
    assert replace(config, settings=replace(config.settings, identify=identify)) == ours
    assert run_config(method).method == "unicon"


def test_open_set_images_lie_below_the_root() -> None:
    for cell in experiment("table7").cells:
        benchmark = run_config(cell, places=Places("elsewhere"), seed=3).data.benchmark
        added = DATA_SETS[cell.data]
        assert (benchmark.root, benchmark.open_images) == ("elsewhere", added.open_images)
        assert benchmark.open_source == f"elsewhere/{added.open_set}"


def test_the_seed_is_that_of_the_training() -> None:
    assert run_config(RUNNABLE[0], seed=3).train.seed == 3


def test_runs_that_several_cells_share_are_trained_once() -> None:
    plan = plan_experiment(experiment("table1"), all_cells(), "full", [0], Places(), Path("out"))
    assert sum(len(run.cells) for run in plan.runs) == len(RUNNABLE)
    assert len(plan.runs) == 181
    counts = Counter(name for run in plan.runs for name in {cell.experiment for cell in run.cells})
    assert counts == {
        "table1": 60, "table2": 9, "table3": 36, "table4": 12, "table6": 6, "table7": 8, "table8": 8,
        "figure1": 4, "figure3": 54, "figure4": 15, "figure5": 3, "figure6": 3,
    }  # fmt: skip
    sed = next(run for run in plan.runs if run.config == run_config(cells_of("table2", "MSP")[0]))
    assert {cell.experiment for cell in sed.cells} == {"table1", "table2", "table6", "figure6"}
