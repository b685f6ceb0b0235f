"""Every cell of the paper on every scale: a configuration that keeps what the cell changes, or a reason."""

from __future__ import annotations

from pathlib import Path

import pytest

from lond.config import to_dict
from lond.errors import ConfigError
from lond.paper import Cell, all_cells, experiment
from lond.paper.reproduce.configs import scaled_config
from lond.paper.reproduce.scales import SCALES, why_left_out
from lond.presets.benchmarks import preset
from lond.presets.scales import Places
from lond.results.differences import flat
from lond.results.identity import variant_of

PLACES = Places("there", Path("web-digits"))
DISTINCT = tuple(
    {(cell.method, cell.data, cell.detector == "rankfeat", str(cell.overrides)): cell for cell in all_cells()}.values()
)
"""Every combination of method, data and switches once, in one of its noises."""
LENGTHS = ("settings.warmup_epochs", "train.epochs")


def cell_of(name: str, row: str, noise: str, data: str = "cifar80n", reading: str = "") -> Cell:
    return next(
        cell
        for cell in experiment(name).cells
        if (cell.row, cell.noise, cell.data) == (row, noise, data) and bool(cell.reading) == bool(reading)
    )


@pytest.mark.parametrize("scale", SCALES)
def test_every_cell_runs_or_says_why_not(scale: str) -> None:
    for cell in DISTINCT:
        if why_left_out(cell, scale):
            with pytest.raises(ConfigError, match="cannot be run on the scale"):
                scaled_config(cell, scale, PLACES)
            continue
        config = scaled_config(cell, scale, PLACES, 3)
        settings = flat(to_dict(config))
        assert (config.method, config.train.seed, config.data.benchmark.root) == (cell.method, 3, "there")
        for key, value in cell.overrides.items():
            dropped = scale == "smoke" and key.startswith("data.benchmark.open_")
            if key not in LENGTHS and not dropped and key != "data.benchmark.open_source":
                assert settings[key] == value, (cell, key)
        if scale != "smoke" or cell.noise:
            noise = preset(cell.preset).data.benchmark.noise
            own = config.data.benchmark.noise
            assert (own.kind, own.closed_rate) == (noise.kind, noise.closed_rate)


@pytest.mark.parametrize(("scale", "epochs", "warmup"), [("mini", 30, 10), ("frozen", 9, 3), ("smoke", 2, 1)])
def test_lengths_become_those_of_the_scale(scale: str, epochs: int, warmup: int) -> None:
    whole = scaled_config(cell_of("table4", "(1).Warmup", "sym80"), scale, PLACES)
    assert (whole.train.epochs, whole.settings.warmup_epochs) == (epochs, epochs)
    short = scaled_config(cell_of("table4", "(1).Warmup", "sym80", reading="yes"), scale, PLACES)
    assert (short.train.epochs, short.settings.warmup_epochs) == (warmup, warmup)
    # The mean is over the end of so short a run, not over all of it.
    assert short.train.average_last == max(1, warmup // 3) and whole.train.average_last in (1, 3)


def test_mini_is_the_preset_where_there_is_one() -> None:
    for method, row in (("lond-drs", "Ours"), ("dividemix", "DivideMix"), ("sed", "SED")):
        own = scaled_config(cell_of("table1", row, "asym40"), "mini", PLACES)
        assert variant_of(own) == variant_of(preset("mini80-asym40", method))
        assert own.train.max_steps == {"dividemix": 60}.get(method, 0)
    assert scaled_config(cell_of("table1", "Ours", "sym20"), "mini", PLACES).data.benchmark.noise.closed_rate == 0.2


def test_a_swept_default_is_the_plain_run() -> None:
    for scale in SCALES:
        plain = scaled_config(cell_of("table1", "Ours", "sym80"), scale, PLACES)
        assert scaled_config(cell_of("figure4", "K=3", "sym80"), scale, PLACES) == plain
        assert scaled_config(cell_of("figure4", "K=2", "sym80"), scale, PLACES) != plain
