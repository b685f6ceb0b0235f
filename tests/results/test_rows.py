"""Records as flat rows."""

from __future__ import annotations

from lond.results import DetectorRecord, Machine, Record, Seeds
from lond.results.rows import curve_rows, detector_rows, to_rows

HEAD = {
    "name": "mini80-sym50-sed-seed1-i", "method": "sed", "data": "mini80", "noise": "sym50", "scale": "mini",
    "preset": "", "changes": "train.epochs=2, net.width=0.5", "variant": "v", "seed": 1, "split_seed": 2,
    "noise_seed": None, "epochs": 2, "mean_over_last": 1, "threads": 4, "device": None, "finished": None,
}  # fmt: skip
RECORD = Record(
    identity="i",
    variant="v",
    method="sed",
    data="mini80",
    noise="sym50",
    scale="mini",
    seeds=Seeds(1, 2),
    config={},
    changes={"train.epochs": 2, "net.width": 0.5},
    machine=Machine(threads=4),
    epochs=2,
    mean_over_last=1,
    metrics={"accuracy": 0.5},
    detectors=(DetectorRecord("knn", "all", {"auroc": 0.7}), DetectorRecord("mds", "all", {}, problem="too few")),
    curves={"accuracy": (None, 0.5), "loss": (2.0, 1.0)},
    seconds={"train": 3.0},
)


def test_a_row_a_run() -> None:
    values = {"accuracy": 0.5, "seconds": 3.0, "seconds_an_epoch": 1.5, "knn.all.auroc": 0.7}
    assert to_rows([RECORD]) == [HEAD | values]
    assert to_rows([]) == detector_rows([]) == curve_rows([]) == []


def test_a_row_a_detector() -> None:
    assert detector_rows([RECORD]) == [
        HEAD | {"detector": "knn", "fitted_on": "all", "auroc": 0.7, "problem": ""},
        HEAD | {"detector": "mds", "fitted_on": "all", "problem": "too few"},
    ]


def test_a_row_an_epoch() -> None:
    assert curve_rows([RECORD]) == [
        HEAD | {"epoch": 0, "accuracy": None, "loss": 2.0},
        HEAD | {"epoch": 1, "accuracy": 0.5, "loss": 1.0},
    ]
