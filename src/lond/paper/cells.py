"""The runs behind each table and figure."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from lond.paper.figures import SCORE, SWEEPS
from lond.paper.names import DATA_SETS
from lond.paper.published import table
from lond.paper.records import Cell, Value

ABLATION: dict[str, dict[str, Value]] = {
    "(1).Warmup": {"settings.warmup_epochs": 300},
    "(2).Baseline": {
        "settings.pseudo_label_weight": 0.0,
        "settings.consistency_weight": 0.0,
        "settings.contrastive_weight": 0.0,
    },
    "(3).(2)+L_PU": {"settings.consistency_weight": 0.0, "settings.contrastive_weight": 0.0},
    "(4).(3)+L_Con": {"settings.contrastive_weight": 0.0},
    "(5).(4)+L_BCL": {},
}
"""Row of table 4 -> the switches that make it."""

SHORT_WARMUP: dict[str, Value] = {"train.epochs": 50}
"""The other reading of the first row: the model as warm-up leaves it."""

KNOWN_ONLY: dict[str, Value] = {"data.benchmark.train_on_unknown": False}
"""The 20 unknown classes are in the test set only; the other images keep the labels they have with them."""

UNIFORM: dict[str, Value] = {"settings.identify.selection": "uniform"}
"""UNICON's selection in place of the neighbour margin, in LOND-DRS."""


def table_cells(experiment: str) -> Iterator[Cell]:
    """Yield the cells of a table of values, contenders in its order, one for each data set and noise."""
    seen = set()
    for printed in table(experiment):
        place = (printed.row, printed.data, printed.noise)
        if printed.is_mean or place in seen:
            continue
        seen.add(place)
        metrics = {"table4": SCORE, "table6": ("fpr95", "fpr95_openood")}.get(experiment, (printed.metric,))
        shared: dict[str, Any] = {
            "experiment": experiment,
            "row": printed.row,
            "data": printed.data,
            "noise": printed.noise,
            "method": printed.method,
            "preset": preset_name(printed.data, printed.noise),
            "metrics": metrics,
            "detector": printed.detector,
        }
        switches = ABLATION[printed.row] if experiment == "table4" else open_images(printed.data)
        yield Cell(**shared, overrides=switches)
        if printed.row == "(1).Warmup":
            yield Cell(**shared, overrides=SHORT_WARMUP, reading="the model after warm-up")


def preset_name(data: str, noise: str) -> str:
    """Return the preset of a data set of the paper, at full scale."""
    benchmark = DATA_SETS[data].benchmark
    return f"{benchmark}-{noise}" if noise else benchmark


def open_images(data: str) -> dict[str, Value]:
    """Return the settings that add images of another data set; the folder is that of the default root, ``data``."""
    added = DATA_SETS[data]
    if not added.open_set:
        return {}
    return {
        "data.benchmark.open_source": f"data/{added.open_set}",
        "data.benchmark.open_images": added.open_images,
    }


def sweep_cells(experiment: str) -> Iterator[Cell]:
    """Yield the cells of a sensitivity analysis."""
    for sweep in SWEEPS:
        if sweep.experiment == experiment:
            for value in sweep.values:
                for noise in sweep.noises:
                    yield _own(experiment, f"{sweep.symbol}={value:g}", noise, SCORE, overrides={sweep.key: value})


def open_noise_cells() -> Iterator[Cell]:
    """Yield the cells of figure 1: with and without open-set noise in training."""
    for row, method in (("CIR+", "cir-plus"), ("Ours", "lond-drs")):
        for kind, switches in (("with", {}), ("without", KNOWN_ONLY)):
            yield _own(
                "figure1", f"{row} {kind} open-set noise", "sym80", ("accuracy",), method=method, overrides=switches
            )


def selection_cells() -> Iterator[Cell]:
    """Yield the cells of figure 5: two ways of selecting clean samples."""
    metrics = ("label_accuracy", "accuracy")
    yield _own("figure5", "Ours", "asym40", metrics)
    yield _own("figure5", "UNICON", "asym40", metrics, overrides=UNIFORM)
    yield _own("figure5", "UNICON", "asym40", metrics, method="unicon", reading="UNICON as a method of its own")


def map_cells() -> Iterator[Cell]:
    """Yield the cells of figure 6: the representations that three methods learn."""
    for row, method in (("SED", "sed"), ("NGC", "ngc"), ("Ours", "lond-drs")):
        yield _own("figure6", row, "sym20", (), method=method)


def _own(experiment: str, row: str, noise: str, metrics: tuple[str, ...], **rest: Any) -> Cell:
    """Return a cell on CIFAR80N, of LOND-DRS unless another method is given."""
    rest = {"method": "lond-drs", **rest}
    return Cell(experiment, row, "cifar80n", noise, preset=f"cifar80n-{noise}", metrics=metrics, **rest)
