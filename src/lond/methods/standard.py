"""Plain cross-entropy on the given labels: the reference for the damage that label noise does."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import torch
import torch.nn.functional as F
from torch import Tensor

from lond.detect import msp_score
from lond.errors import ConfigError
from lond.methods.base import Method, Survey, Task
from lond.methods.opened import OpenedClassifier
from lond.nets.classifier import Classifier
from lond.types import Batch, Clock, Phase, Prediction, Stream, Term


@dataclass(frozen=True)
class StandardSettings:
    """Settings of plain cross-entropy."""

    head: Literal["mlp", "linear"] = "mlp"
    hidden: int = 512
    """Width of the MLP head's hidden layer."""
    label_smoothing: float = 0.0

    def __post_init__(self) -> None:
        """Refuse values that mean nothing."""
        if not 0 <= self.label_smoothing < 1 or self.hidden < 1:
            raise ConfigError("label_smoothing must lie in [0, 1), hidden must be at least 1")


class Standard(Method):
    """One network, weak views, softmax cross-entropy; foreign score = 1 - maximum softmax probability."""

    def __init__(self, settings: StandardSettings, task: Task) -> None:
        """Build the network."""
        super().__init__()
        self.settings = settings
        backbone, feature_size = task.build_backbone()
        self.net = Classifier(backbone, feature_size, task.num_classes, head=settings.head, hidden=settings.hidden)
        self.labelled = (task.labels >= 0).nonzero().squeeze(1)

    def before_epoch(self, epoch: int, survey: Survey) -> list[Phase]:
        """One walk through all labelled samples."""
        return [Phase("train", {"all": Stream(self.labelled, ("weak",))}, lead=len(self.labelled))]

    def step(self, phase: str, batches: dict[str, Batch], clock: Clock, random: torch.Generator) -> dict[str, Term]:
        """Cross-entropy of the weak view."""
        batch = batches["all"]
        logits = self.net(batch.views[0]).logits.float()
        loss = F.cross_entropy(logits, batch.labels, reduction="none", label_smoothing=self.settings.label_smoothing)
        return {"cross_entropy": Term(loss)}

    def predict(self, images: Tensor) -> Prediction:
        """Softmax probabilities and 1 - their maximum."""
        out = self.net(images)
        logits = out.logits.float()
        return Prediction(F.softmax(logits, dim=1), msp_score(logits), out.features.float(), logits)

    def network(self) -> OpenedClassifier:
        """Return the classifier, opened at its last layers."""
        return OpenedClassifier(self.net)
