"""A trained run as one module: pixels or features in, everything that ``lond predict`` writes out."""

from __future__ import annotations

import copy

import torch
from torch import Tensor, nn

from lond.detect import Detector
from lond.errors import ConfigError, DataError
from lond.export.inputs import GraphInput, graph_input
from lond.methods import Method
from lond.runs import LoadedRun
from lond.runs.calibration import tempered
from lond.runs.run_detector import OWN, RunDetector

CLASS, PROBABILITIES, SCORE, P_VALUE, FOREIGN = "class", "probabilities", "foreign_score", "p_value", "foreign"
"""What the graph gives."""


EXPORTABLE = frozenset({"msp", "mls", "ebo", "open-world", "mds", "knn"})
"""Detectors that a graph can hold; a test compares each with what the run says."""


def exportable(detector: RunDetector, method: Method) -> Detector | None:
    """Return the fitted detector of a run on a method's network; None for the method's own score.

    Raises:
        ConfigError: a graph cannot hold it.
    """
    if detector.name != OWN and detector.name not in EXPORTABLE:
        raise ConfigError(
            f"the detector {detector.name} of the run cannot be exported; these can: {OWN}, "
            f"{', '.join(sorted(EXPORTABLE))}. Pick one with: lond calibrate RUN --known FOLDER --detector NAME"
        )
    return detector.on(method.network)


class PredictionGraph(nn.Module):
    """Graph from an image to its verdict, without data-dependent branches, on the CPU and in evaluation mode.

    Args:
        run: a trained run; its networks are copied.
        threshold: the score above which an image is foreign; the run's own if left out.

    Raises:
        DataError: neither the run nor the caller has a threshold.

    Examples:
        >>> from lond import preset, train_run
        >>> from lond.config import with_overrides
        >>> short = {"train.epochs": "1", "train.max_steps": "2", "net.width": "0.125"}
        >>> _ = train_run(with_overrides(preset("digits", "standard"), short), "run", show_progress=False)
        >>> from lond import load_run
        >>> graph = PredictionGraph(load_run("run"))
        >>> len(graph(torch.zeros(3, 1, 16, 16, dtype=torch.uint8)))
        5
    """

    known_scores: Tensor

    def __init__(self, run: LoadedRun, threshold: float | None = None) -> None:
        """Copy the networks and keep what turns their output into verdicts."""
        super().__init__()
        threshold = run.threshold if threshold is None else threshold
        if threshold is None:
            raise DataError(
                "the run has no stored threshold, so there are no verdicts to export; choose one with --threshold, or "
                "set it with: lond calibrate RUN --known FOLDER"
            )
        calibration = run.calibration
        self.takes: GraphInput = graph_input(run)
        self.prepare = self.takes.prepare
        self.method = copy.deepcopy(run.method).requires_grad_(requires_grad=False)
        self.detector = exportable(run.detector, self.method)
        self.threshold = threshold
        self.temperature = 1.0 if calibration is None else calibration.temperature
        self.has_p_values = calibration is not None
        scores = torch.empty(0) if calibration is None else calibration.known_scores.float().cpu()
        self.register_buffer("known_scores", scores)
        # Training leaves weights in another memory order, which some files cannot hold.
        self.to("cpu", memory_format=torch.contiguous_format).eval()  # type: ignore[call-overload]

    @property
    def output_names(self) -> list[str]:
        """Names of what ``forward`` returns, in order; p-values are left out if the run is not calibrated."""
        return [CLASS, PROBABILITIES, SCORE, *([P_VALUE] if self.has_p_values else []), FOREIGN]

    def forward(self, images: Tensor) -> dict[str, Tensor]:
        """Map uint8 images ``(B, C, H, W)``, or float features ``(B, D)``, to classes, scores and verdicts."""
        inputs = self.prepare(images)
        prediction = self.method.predict(inputs)
        scores = prediction.scores if self.detector is None else self.detector.score(inputs)
        scores = scores.float()
        outputs = {
            CLASS: prediction.probabilities.argmax(dim=1),
            PROBABILITIES: tempered(prediction.probabilities, self.temperature),
            SCORE: scores,
        }
        if self.has_p_values:
            # Counted rather than searched, which not every runtime can do.
            at_least = (self.known_scores[None, :] >= scores[:, None]).sum(dim=1)
            outputs[P_VALUE] = (1 + at_least).float() / (len(self.known_scores) + 1)
        return outputs | {FOREIGN: scores > self.threshold}
