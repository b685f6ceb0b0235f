"""`lond detect`: what it asks for and what it prints."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path

import pytest
import torch

from lond.runs.detection import DetectorResult
from lond.train.runtime import RuntimeSettings

Call = Callable[..., tuple[int, str, str]]
METRICS = ("auroc", "fpr95", "aupr_known", "aupr_foreign")


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[object]:
    """Return what is asked for; nothing is detected."""
    arguments: list[object] = []

    def detect_run(*given: object) -> list[DetectorResult]:
        arguments.extend(given)
        good = dict(zip(METRICS, (0.5, 0.25, 0.125, 1.0), strict=True))
        none = torch.empty(0)
        return [
            DetectorResult("msp", "-", good, 0.125, none, used=True),
            DetectorResult("mds", "all", dict.fromkeys(METRICS, math.nan), 2.0, none, "too [few] images"),
        ]

    monkeypatch.setattr("lond.runs.detection.detect_run", detect_run)
    return arguments


def test_a_row_a_detector_and_what_went_wrong(tmp_path: Path, asked: list[object], lond: Call) -> None:
    code, out, err = lond("detect", tmp_path, "--only", "msp, mds", "--root", "data")
    assert (code, err) == (0, "")
    assert asked == [tmp_path, "", "", "data", ["msp", "mds"], tmp_path / "detect", RuntimeSettings()]
    rows = [[cell.strip() for cell in line.split("│")[1:-1]] for line in out.splitlines() if line.startswith("│")]
    assert rows == [
        ["msp *", "-", "50.00", "25.00", "12.50", "100.00", "0.12"],
        ["mds", "all", *["nan"] * 4, "2.00"],
    ]
    assert "mds: too [few] images" in out and "* the score that lond predict uses" in out
    assert f"table and figures: {tmp_path / 'detect'}" in out


def test_two_sets_and_a_folder_can_be_named(tmp_path: Path, asked: list[object], lond: Call) -> None:
    assert lond("detect", tmp_path, "--known", "a", "--foreign", "b", "--out", tmp_path / "x")[0] == 0
    assert asked == [tmp_path, "a", "b", "", None, tmp_path / "x", RuntimeSettings()]


@pytest.mark.parametrize(
    ("options", "told"),
    [
        (["--known", "a"], "give both --known and --foreign, or neither"),
        (["--foreign", "a"], "give both --known and --foreign, or neither"),
        (["--only", "msp,magic"], "there is no 'magic'; choose from: own, msp, "),
    ],
)
def test_what_cannot_be_done_is_refused(
    options: list[str], told: str, tmp_path: Path, asked: list[object], lond: Call
) -> None:
    code, _, err = lond("detect", tmp_path, *options)
    assert (code, told in err, asked) == (2, True, [])
