"""SED: self-adaptive and class-balanced sample selection, relabelling and reweighting.

Sheng, Sun, Chen, Pang, Wang, Yao, ECCV 2024. docs/methods/sed.md lists where paper and released program differ.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import torch
import torch.nn.functional as F
from torch import Tensor

from lond.errors import ConfigError
from lond.identify import (
    Moments,
    Thresholds,
    move_moments,
    move_thresholds,
    select_adaptively,
    truncated_gaussian_weights,
)
from lond.losses import negative_entropy
from lond.methods.base import Cost, Survey, Task
from lond.methods.classifiers import ClassifierSettings, SingleMethod, build_classifier, members, whole_set
from lond.nets.teacher import MeanTeacher
from lond.types import Batch, Clock, Epochs, Memory, Partition, Phase, Stream, Term

PATIENCE = 10
"""Epochs by which the warm-up is prolonged at most while classes are lost."""

LOST_SHARE = 0.1
"""Share of the labelled samples that may be of lost classes: without a clean sample, or never named by the teacher."""


@dataclass(frozen=True)
class SedSettings(ClassifierSettings):
    """Settings of SED; the published values for CIFAR100N.

    Examples:
        >>> SedSettings().warmup_epochs
        20
    """

    warmup_epochs: Epochs = 20
    threshold_memory: Memory = 0.9
    """m_s: what the global threshold and the class masses keep from one epoch to the next."""
    moment_memory: Memory = 0.9
    """m_r: what the moments of the teacher's confidence keep."""
    quantile: float = 0.8
    """Of the given-label probabilities, which the global threshold follows."""
    threshold_limit: float = 0.95
    """The largest global threshold."""
    sharpness: float = 2.0
    """n: how fast the trust in the teacher falls below the mean confidence of a class."""
    ssl_weight: float = 1.0
    """alpha of the teacher's labels on strong views; 0 = off."""
    penalty_weight: float = 1.0
    """Of the confidence penalty in warm-up; 0 = off."""
    clamp_logits: bool = True
    """Lift negative logits to 0 before the penalty, as the released program does."""
    label_smoothing: float = 0.0
    """Of every cross-entropy (0.3 for web data)."""
    teacher_momentum: float = 0.99

    formerly: ClassVar[Mapping[str, Any]] = {"clamp_logits": False}

    def __post_init__(self) -> None:
        """Check that weights are not negative, and memories, quantile and thresholds lie in their ranges."""
        super().__post_init__()
        if self.warmup_epochs < 0:
            raise ConfigError("warmup_epochs must not be negative")
        if not all(0 <= memory <= 1 for memory in (self.threshold_memory, self.moment_memory)):
            raise ConfigError("threshold_memory and moment_memory must lie in [0, 1]")
        if not 0 <= self.quantile <= 1 or not 0 < self.threshold_limit <= 1:
            raise ConfigError("quantile must lie in [0, 1], threshold_limit in (0, 1]")
        if min(self.sharpness, self.ssl_weight, self.penalty_weight) < 0:
            raise ConfigError("sharpness, ssl_weight and penalty_weight must not be negative")
        if not 0 <= self.label_smoothing < 1 or not 0 <= self.teacher_momentum < 1:
            raise ConfigError("label_smoothing and teacher_momentum must lie in [0, 1)")


class Sed(SingleMethod):
    """SED: clean samples by class-adaptive thresholds, and weighted labels of a mean teacher on strong views.

    Examples:
        >>> from lond import preset
        >>> preset("digits", Sed).method
        'sed'
    """

    settings_class = SedSettings
    cost = Cost(1.3, 5)

    threshold_level: Tensor
    class_mass: Tensor
    confidence_mean: Tensor
    confidence_variance: Tensor

    def __init__(self, settings: SedSettings, task: Task) -> None:
        """Build the network and its mean teacher; thresholds and mean confidences start at 1 / C."""
        super().__init__()
        self.settings = settings
        self.labels = task.labels
        self.net = build_classifier(settings, task)
        self.teacher = MeanTeacher(self.net, settings.teacher_momentum, "average")
        even = torch.full((task.num_classes,), 1 / task.num_classes)
        self.register_buffer("threshold_level", even[0].clone())
        self.register_buffer("class_mass", even.clone())
        self.register_buffer("confidence_mean", even.clone())
        self.register_buffer("confidence_variance", torch.ones(task.num_classes))
        # The teacher's classes and the trust in them, made anew before each epoch.
        self._taught, self._trust = torch.empty(0, dtype=torch.long), torch.empty(0)

    # Once an epoch

    def before_epoch(self, epoch: int, survey: Survey) -> list[Phase]:
        """Warm up on all labelled samples; later epochs start with a judgement."""
        if epoch < self.settings.warmup_epochs:
            return [whole_set("warm-up", self.labels)]
        probabilities, confidence, classes = survey(self._describe)
        clean = self._select(probabilities)
        self._taught, self._trust = classes.long(), self._weigh(confidence, classes.long())
        if not clean.any():
            warnings.warn(
                f"epoch {epoch}: no sample is judged clean: no given label is likely enough; warming up for another "
                "epoch. If this persists, lower optimiser.learning_rate or settings.quantile, or add epochs",
                stacklevel=2,
            )
        if not clean.any() or self._is_too_early(epoch, clean):
            return [whole_set("warm-up", self.labels)]
        corrected = torch.where(clean, self.labels.to(clean.device), self._taught)
        weights = torch.where(clean, 1.0, self._trust)
        self.partition = Partition(clean, ~clean, torch.zeros_like(clean), weights, corrected)
        return [self._robust_phase(clean)]

    def _is_too_early(self, epoch: int, clean: Tensor) -> bool:
        """Tell whether too many labelled samples are of lost classes, which the robust epochs would forget for good.

        It happens on small sets after a short warm-up, while the running statistics of batch normalisation lag behind.
        """
        if epoch >= self.settings.warmup_epochs + PATIENCE or self.partition is not None:
            return False
        labels, count = self.labels.to(clean.device), len(self.class_mass)
        selected, named = (torch.bincount(rows, minlength=count) for rows in (labels[clean], self._taught))
        known = (selected > 0) & (named > 0)
        return bool(known[labels[labels >= 0]].float().mean() < 1 - LOST_SHARE)

    def _describe(self, images: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Return the student's probabilities; the teacher's confidence and class."""
        student = F.softmax(self.net(images).logits.float(), dim=1)
        best = F.softmax(self.teacher(images).logits.float(), dim=1).max(dim=1)
        return student, best.values, best.indices

    def _select(self, probabilities: Tensor) -> Tensor:
        """Move the thresholds and return who is clean."""
        own, labels = self.settings, self.labels.to(probabilities.device)
        old = Thresholds(self.threshold_level, self.class_mass)
        new = move_thresholds(old, probabilities, labels, own.threshold_memory, own.quantile, own.threshold_limit)
        self.threshold_level, self.class_mass = new
        return select_adaptively(probabilities, labels, new)

    def _weigh(self, confidence: Tensor, classes: Tensor) -> Tensor:
        """Move the moments and return the trust in the teacher's classes."""
        old = Moments(self.confidence_mean, self.confidence_variance)
        new = move_moments(old, confidence, classes, self.settings.moment_memory)
        self.confidence_mean, self.confidence_variance = new
        return truncated_gaussian_weights(confidence, classes, new, self.settings.sharpness)

    def _robust_phase(self, clean: Tensor) -> Phase:
        """Return all samples in a weak and a strong view; without the teacher's labels the clean ones alone."""
        if not self.settings.ssl_weight:
            chosen = members(clean)
            return Phase("robust", {"all": Stream(chosen, ("weak",))}, lead=max(2, len(chosen)))
        everyone = torch.arange(len(clean))
        return Phase("robust", {"all": Stream(everyone, ("weak", "strong"))}, lead=len(everyone))

    # Once a step

    def step(self, phase: str, batches: dict[str, Batch], clock: Clock, random: torch.Generator) -> dict[str, Term]:
        """Return cross-entropy and confidence penalty, or the clean samples' labels and the teacher's labels."""
        batch = batches["all"]
        weak = self.net(batch.views[0]).logits.float()
        if phase == "warm-up":
            terms = {"cross_entropy": Term(self._cross_entropy(weak, batch.labels))}
            if self.settings.penalty_weight:
                penalty = negative_entropy(weak, clamp_logits=self.settings.clamp_logits)
                terms["penalty"] = Term(penalty, self.settings.penalty_weight)
            return terms
        assert self.partition is not None
        terms = {}
        clean = self.partition.clean[batch.indices]
        if clean.any():
            terms["clean"] = Term(self._cross_entropy(weak[clean], batch.labels[clean]))
        if self.settings.ssl_weight:
            strong = self.net(batch.views[1]).logits.float()
            loss = self._cross_entropy(strong, self._taught[batch.indices])
            terms["taught"] = Term(self._trust[batch.indices] * loss, self.settings.ssl_weight)
        return terms

    def _cross_entropy(self, logits: Tensor, labels: Tensor) -> Tensor:
        return F.cross_entropy(logits, labels, reduction="none", label_smoothing=self.settings.label_smoothing)

    def after_step(self) -> None:
        """Move the teacher, in warm-up, too."""
        self.teacher.follow(self.net)
