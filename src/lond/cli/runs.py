"""What the commands on trained runs share: the run that a folder means, and what its threshold rests on."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from lond.cli.shared import say

if TYPE_CHECKING:
    from lond.runs import LoadedRun

RunFolder = Annotated[Path, typer.Argument(help="Run folder, or folder of an audit (its newest model).")]
"""First argument of every command that uses a trained run."""


def chosen_run(folder: Path) -> Path:
    """Return the run folder that a folder means, and say so if it is the model of an audit.

    Raises:
        DataError: it is an audit without a model.
    """
    from lond.runs.audit_model import run_folder

    chosen = run_folder(folder)
    if chosen != folder:
        say(f"model of the audit: {chosen}")
    return chosen


def describe_threshold(run: LoadedRun, threshold: float | None) -> str:
    """Return by which score images are called foreign, and how many false alarms that is meant to give."""
    found = run.calibration
    if threshold is not None or found is None:
        return f"foreign: score above {threshold:.4g}, as --threshold says"
    rate, images = f"{100 * found.false_alarm_rate:g} % false alarms", len(found.known_scores)
    return (
        f"foreign: score above {found.threshold:.4g}, the threshold for {rate} (from {images} known images); "
        "--threshold or lond calibrate changes it"
    )


def print_threshold(found: dict[str, Any], folder: Path) -> None:
    """Say what the threshold of a run with these metrics rests on, and if that is too little.

    ``folder`` is the one that ``lond calibrate`` takes.
    """
    from lond.runs.out_of_fold import FEW_KNOWN

    images, rate = found.get("threshold_images"), f"{100 * found['false_alarm_rate']:g} %"
    advice = f"lond calibrate {folder} --known IMAGES sets it by images that you checked"
    if found["threshold"] is None:
        say(f"note: too few images for a threshold at {rate} false alarms: no new image is called foreign; {advice}")
    elif images is not None:
        low, high = likely_rates(found["false_alarm_rate"], images)
        mistaken = f"about {100 * found['false_alarm_rate']:g} in 100 known images will be called foreign by mistake"
        likely = f"likely {100 * low:.1f} to {100 * high:.1f}"
        say(f"threshold: {mistaken} ({likely}; set on {images} {_told_source(found['threshold_from'])})")
        if images < FEW_KNOWN // 2:
            say(f"note: {images} images make a coarse threshold; {advice}")


def _told_source(source: str) -> str:
    """Return in a few words which images set a threshold."""
    from lond.audit.judge import learn
    from lond.runs import out_of_fold, predicted

    if source in (predicted.HELD_OUT, out_of_fold.OUT_OF_FOLD, learn.OUT_OF_FOLD):
        return "images that the model had not seen"
    if source == predicted.IN_TRAINING:
        return "images that the model was trained on, so it may be more for new images"
    return "known images"


def likely_rates(rate: float, images: int) -> tuple[float, float]:
    """Return between which rates the false alarms lie nineteen times in twenty, by the number of known images."""
    spread = 1.96 * (rate * (1 - rate) / (images + 2)) ** 0.5
    return max(0.0, rate - spread), min(1.0, rate + spread)
