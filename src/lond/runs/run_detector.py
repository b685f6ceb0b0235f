"""The score that a run calls images foreign by: the method's own, or that of a detector that was fitted to the run."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import torch
from torch import Tensor

from lond.detect import ALL_DETECTORS, Detector, Evidence, Network

OWN = "own"
"""Name of the score that the method itself gives."""

NOTHING = "-"
"""What a detector without a fit was fitted on."""


@dataclass(frozen=True)
class RunDetector:
    """A detector of a run: its name, what it was fitted on ("all", "clean", "held-out", "-"), and what that left."""

    name: str = OWN
    fitted_on: str = NOTHING
    state: dict[str, Tensor] = field(default_factory=dict)

    def __str__(self) -> str:
        """Return the name, with what the detector was fitted on."""
        if self.name == OWN:
            return "the method's own score"
        return self.name if self.fitted_on == NOTHING else f"{self.name}, fitted on {self.fitted_on} samples"

    def on(self, network: Callable[[], Network]) -> Detector | None:
        """Return the fitted detector on the network that a function gives; None for the method's own score.

        Raises:
            ConfigError: the detector is of a package that is not installed, or was not registered.
            DataError: what was fitted is not that of this detector.
        """
        if self.name == OWN:
            return None
        return ALL_DETECTORS[self.name](network=network()).load_state(self.state)


OWN_SCORE = RunDetector()


def detector_of(content: Any) -> RunDetector:
    """Return the detector that a stored tree holds.

    Raises:
        TypeError: it holds none.
    """
    if not isinstance(content, dict) or set(content) != {"name", "fitted_on", "state"}:
        raise TypeError("its detector")
    state = content["state"]
    tensors = isinstance(state, dict) and all(isinstance(value, Tensor) for value in state.values())
    if not tensors or not all(isinstance(content[key], str) for key in ("name", "fitted_on")):
        raise TypeError("its detector")
    return RunDetector(**content)


@torch.no_grad()
def score_images(detector: Detector, images: Tensor) -> Tensor:
    """Return the scores ``(B,)`` of normalised images, float32 on the CPU, where what was fitted lies."""
    if "maps" in detector.needs:
        return detector.score(images).float().cpu()
    return detector.score_features(to_cpu(detector.network.evidence(images))).float().cpu()


def to_cpu(evidence: Evidence) -> Evidence:
    """Return the same evidence on the CPU, maps left where they are."""
    columns: dict[str, Any] = {name: v.cpu() for name, v in vars(evidence).items() if isinstance(v, Tensor)}
    return replace(evidence, **columns)
