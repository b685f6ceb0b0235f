"""What the commands on trained runs share."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from lond.audit.judge import learn
from lond.cli.runs import chosen_run, describe_threshold, likely_rates, print_threshold
from lond.config import RunConfig
from lond.io.json_files import write_json
from lond.runs import Calibration, LoadedRun
from lond.runs.out_of_fold import OUT_OF_FOLD
from lond.runs.predicted import HELD_OUT, IN_TRAINING

METRICS = {"threshold": 0.3, "threshold_images": 70, "false_alarm_rate": 0.05, "threshold_from": "images"}


def run_with(calibration: Calibration | None) -> LoadedRun:
    nothing: RunConfig = None  # type: ignore[assignment]  # not looked at
    return LoadedRun(nothing, nothing, nothing, nothing, calibration)  # type: ignore[arg-type]


def test_the_model_of_an_audit_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    model = tmp_path / "heads" / "model"
    model.mkdir(parents=True)
    write_json(model / "config.json", {})
    write_json(tmp_path / "summary.json", {})
    assert chosen_run(model) == model and capsys.readouterr().out == ""
    assert chosen_run(tmp_path) == model
    assert capsys.readouterr().out == f"model of the audit: {model}\n"


def test_a_threshold_is_told_with_its_rate() -> None:
    run = run_with(Calibration(0.25, 0.05, torch.zeros(70), "these"))
    told = describe_threshold(run, None)
    assert told.startswith("foreign: score above 0.25, the threshold for 5 % false alarms (from 70 known images)")
    assert "lond calibrate" in told
    assert describe_threshold(run, 0.5) == "foreign: score above 0.5, as --threshold says"
    assert describe_threshold(run_with(None), 0.5) == "foreign: score above 0.5, as --threshold says"


def test_few_images_make_a_coarse_threshold(capsys: pytest.CaptureFixture[str]) -> None:
    print_threshold(METRICS, Path("run"))
    first, second = capsys.readouterr().out.splitlines()
    assert first == (
        "threshold: about 5 in 100 known images will be called foreign by mistake "
        "(likely 0.0 to 10.0; set on 70 known images)"
    )
    assert "70 images make a coarse threshold" in second
    assert second.endswith("lond calibrate run --known IMAGES sets it by images that you checked")
    print_threshold(METRICS | {"threshold_images": 400}, Path("run"))
    (only,) = capsys.readouterr().out.splitlines()
    assert "(likely 2.9 to 7.1; set on 400 known images)" in only
    print_threshold(METRICS | {"threshold": None}, Path("run"))
    assert "too few images for a threshold at 5 % false alarms" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("source", "told"),
    [
        (HELD_OUT, "70 images that the model had not seen"),
        (OUT_OF_FOLD, "70 images that the model had not seen"),
        (learn.OUT_OF_FOLD, "70 images that the model had not seen"),
        (IN_TRAINING, "70 images that the model was trained on, so it may be more for new images"),
        ("checked/", "70 known images"),
    ],
)
def test_a_threshold_says_whether_the_model_had_seen_its_images(
    source: str, told: str, capsys: pytest.CaptureFixture[str]
) -> None:
    print_threshold(METRICS | {"threshold_from": source, "false_alarm_rate": 0.025}, Path("run"))
    first = capsys.readouterr().out.splitlines()[0]
    assert first.startswith(
        "threshold: about 2.5 in 100 known images will be called foreign by mistake (likely 0.0 to "
    )
    assert first.endswith(f"; set on {told})")


def test_the_more_known_images_the_closer_the_rate() -> None:
    """With 69 images and a rate of 10 %, 15 % false alarms on new images are no surprise."""
    low, high = likely_rates(0.1, 69)
    assert low < 0.04 and 0.15 < high < 0.2
    near_low, near_high = likely_rates(0.1, 10_000)
    assert 0.09 < near_low < 0.1 < near_high < 0.11
