"""Plain cross-entropy on the given labels: the reference for the damage that label noise does."""

from __future__ import annotations

from dataclasses import dataclass

import torch
import torch.nn.functional as F

from lond.errors import ConfigError
from lond.methods.base import Cost, Survey, Task
from lond.methods.classifiers import ClassifierSettings, SingleMethod, build_classifier, whole_set
from lond.types import Batch, Clock, Phase, Term


@dataclass(frozen=True)
class StandardSettings(ClassifierSettings):
    """Settings of plain cross-entropy.

    Examples:
        >>> StandardSettings().label_smoothing
        0.0
    """

    label_smoothing: float = 0.0

    def __post_init__(self) -> None:
        """Check that label_smoothing lies in [0, 1)."""
        super().__post_init__()
        if not 0 <= self.label_smoothing < 1:
            raise ConfigError("label_smoothing must lie in [0, 1)")


class Standard(SingleMethod):
    """Plain cross-entropy: one network, weak views; foreign score = 1 - maximum softmax probability.

    Examples:
        >>> from lond import preset
        >>> preset("digits", Standard).method
        'standard'
    """

    settings_class = StandardSettings
    cost = Cost()

    def __init__(self, settings: StandardSettings, task: Task) -> None:
        """Build the network."""
        super().__init__()
        self.settings = settings
        self.net = build_classifier(settings, task)
        self.labels = task.labels

    def before_epoch(self, epoch: int, survey: Survey) -> list[Phase]:
        """Return one phase over all labelled samples."""
        return [whole_set("train", self.labels)]

    def step(self, phase: str, batches: dict[str, Batch], clock: Clock, random: torch.Generator) -> dict[str, Term]:
        """Return cross-entropy of the weak view."""
        batch = batches["all"]
        logits = self.net(batch.views[0]).logits.float()
        loss = F.cross_entropy(logits, batch.labels, reduction="none", label_smoothing=self.settings.label_smoothing)
        return {"cross_entropy": Term(loss)}
