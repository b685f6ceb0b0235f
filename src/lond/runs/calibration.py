"""Calibration of a run: a threshold at a chosen false-alarm rate, p-values, and calibrated probabilities."""

from __future__ import annotations

from dataclasses import MISSING, asdict, dataclass, fields, replace
from pathlib import Path

import torch
import torch.nn.functional as F
from torch import Tensor

from lond.detect.conformal import p_values
from lond.detect.temp_scaling import best_temperature
from lond.detect.threshold import threshold_at
from lond.errors import DamagedFileError, DataError
from lond.evaluate import expected_calibration_error
from lond.runs.folder import identity_in
from lond.runs.run_detector import OWN_SCORE, RunDetector, detector_of
from lond.train.checkpoint import read_state, save_state
from lond.train.state import check_identity
from lond.types import FOREIGN, Prediction

CALIBRATION = "decision.safetensors"

HOLDS = "decision"
AGAIN = "delete it and start the lond train or lond calibrate command of the run again"

FALSE_ALARM_RATE = 0.05
"""Default share of known images that may be called foreign."""


@dataclass(frozen=True)
class Calibration:
    """Calibration of a run: threshold, p-values and temperature.

    ``known_scores`` ``(n,)`` are the scores of the known samples that ``threshold`` comes from, ``source`` says which.
    ``temperature`` divides the logarithms of the probabilities; the calibration errors (ECE) before and after it are
    None where no labels were at hand to fit it. ``detector`` gives the scores.

    Examples:
        >>> known = torch.tensor([0.1, 0.2, 0.3])
        >>> Calibration(threshold=0.3, false_alarm_rate=0.05, known_scores=known, source="example").temperature
        1.0
    """

    threshold: float
    false_alarm_rate: float
    known_scores: Tensor
    source: str
    temperature: float = 1.0
    ece_before: float | None = None
    ece_after: float | None = None
    detector: RunDetector = OWN_SCORE

    def p_values(self, scores: Tensor) -> Tensor:
        """Return the conformal p-value of each score ``(M,)``: how likely a known image scores at least as high."""
        return p_values(scores, self.known_scores)

    def probabilities(self, prediction: Prediction) -> Tensor:
        """Return the calibrated class probabilities ``(M, C)``."""
        return tempered(prediction.probabilities, self.temperature)


def calibrate_scores(
    known_scores: Tensor, false_alarm_rate: float, source: str, detector: RunDetector = OWN_SCORE
) -> Calibration:
    """Return the calibration from scores of known samples, which ``detector`` gave.

    Raises:
        DataError: there are too few of them for the rate.
    """
    threshold = threshold_at(known_scores, false_alarm_rate)
    return Calibration(threshold, false_alarm_rate, known_scores.sort().values, source, detector=detector)


def calibrate(
    prediction: Prediction, labels: Tensor, false_alarm_rate: float, source: str, detector: RunDetector = OWN_SCORE
) -> Calibration:
    """Return the calibration computed on checked images of known classes.

    The threshold uses all of them; the temperature those with a label. A set of one class tells nothing about
    confusions between classes and is refused.

    Args:
        prediction: what the run says about N known images.
        labels: ``(N,)`` true labels; unlabelled images are known but of no stated class. Foreign ones are left out.
        false_alarm_rate: share of known images that may be called foreign.
        source: where the images come from.
        detector: what gave the scores of the prediction.

    Raises:
        DataError: the set is empty, too small for the rate, or of one class only.

    Examples:
        >>> scores = torch.linspace(0, 1, 100)
        >>> probabilities = torch.tensor([[0.9, 0.1], [0.2, 0.8]]).repeat(50, 1)
        >>> prediction = Prediction(probabilities, scores, torch.zeros(100, 1), probabilities.log())
        >>> found = calibrate(prediction, torch.tensor([0, 1]).repeat(50), 0.1, "example")
        >>> round((scores > found.threshold).float().mean().item(), 2)
        0.09
    """
    known = labels != FOREIGN
    if not known.any():
        raise DataError(f"{source} holds no known images to calibrate on")
    calibration = calibrate_scores(prediction.scores[known], false_alarm_rate, source, detector)
    labelled = labels >= 0
    if not labelled.any():
        return calibration
    if len(labels[labelled].unique()) < 2:
        raise DataError(f"{source} holds images of one class only; calibration needs at least two")
    probabilities, truth = prediction.probabilities[labelled], labels[labelled]
    flawless = bool((probabilities.argmax(dim=1) == truth).all())
    # Without a single mistake the best temperature is 0, which says nothing about images to come.
    temperature = 1.0 if flawless else best_temperature(_logits(probabilities), truth)
    return replace(
        calibration,
        temperature=temperature,
        ece_before=expected_calibration_error(probabilities, truth),
        ece_after=expected_calibration_error(tempered(probabilities, temperature), truth),
    )


def save_calibration(folder: Path, calibration: Calibration) -> None:
    """Write the calibration of a run into its folder.

    Examples:
        >>> save_calibration(Path("."), Calibration(0.3, 0.05, torch.tensor([0.1, 0.3]), source="example"))
        >>> Path("decision.safetensors").is_file()
        True
    """
    save_state(folder / CALIBRATION, asdict(calibration), holds=HOLDS, identity=identity_in(folder))


def load_calibration(folder: Path) -> Calibration | None:
    """Read the calibration of a run folder, if it has one.

    Raises:
        DataError: it is damaged, or of another run.
    """
    path = folder / CALIBRATION
    if not path.is_file():
        return None
    needed = tuple(field.name for field in fields(Calibration) if field.default is MISSING)
    try:
        saved = read_state(path, holds=HOLDS, needed=needed)
        check_identity(path, saved.identity, identity_in(folder))
        # Files of before there was a choice have the method's own score.
        stored = saved.state.get("detector")
        detector = OWN_SCORE if stored is None else detector_of(stored)
        found = Calibration(**saved.state | {"detector": detector})
        _check_numbers(found)
    except TypeError as error:
        raise DataError(f"{path} is damaged ({error}); {AGAIN}") from error
    except DamagedFileError as error:
        raise DamagedFileError(f"{error}; {AGAIN}") from error
    return found


def _check_numbers(found: Calibration) -> None:
    """Check the types; damage that no hash can show, as version 0.1.0 wrote none."""
    scores, numbers = found.known_scores, (found.threshold, found.false_alarm_rate, found.temperature)
    if not isinstance(scores, Tensor) or scores.dim() != 1 or not all(isinstance(x, float | int) for x in numbers):
        raise TypeError("an entry is of the wrong type")


def tempered(probabilities: Tensor, temperature: float) -> Tensor:
    """Return ``softmax(log p / T)``; for a softmax classifier this is ``softmax(z / T)``."""
    return F.softmax(_logits(probabilities) / temperature, dim=1)


def _logits(probabilities: Tensor) -> Tensor:
    return probabilities.clamp_min(torch.finfo(torch.float32).tiny).log()
