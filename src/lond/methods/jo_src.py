"""Jo-SRC: a contrastive approach for combating noisy labels.

Yao, Sun, Zhang, Shen, Wu, Zhang, Tang, CVPR 2021. docs/methods/jo_src.md lists where paper and released program differ.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import torch
import torch.nn.functional as F
from torch import Tensor

from lond.errors import ConfigError
from lond.identify import Assignment, assign_by_views, rising_threshold
from lond.losses import jeffreys_divergence, jensen_shannon, soft_cross_entropy
from lond.methods.base import Cost, Survey, Task
from lond.methods.classifiers import ClassifierSettings, SingleMethod, build_classifier, whole_set
from lond.methods.sample_table import SampleTable
from lond.nets.teacher import MeanTeacher
from lond.types import Batch, Clock, Epochs, Partition, Phase, Stream, Term

VIEWS = ("weak", "weak")

PUBLISHED_SMOOTHING, PUBLISHED_CLASSES = 0.6, 80
"""The published epsilon for CIFAR, and the fewest classes that it was published for."""


@dataclass(frozen=True)
class JoSrcSettings(ClassifierSettings):
    """Settings of Jo-SRC; the published values for CIFAR.

    Examples:
        >>> JoSrcSettings().warmup_epochs
        10
    """

    warmup_epochs: Epochs = 10
    ramp_epochs: Epochs = 190
    """Epochs in which the threshold rises to ``final_threshold`` after warm-up: the rest of the published run."""
    clean_threshold: float = 0.75
    """tau_c, the threshold at the end of warm-up."""
    final_threshold: float = 0.95
    label_smoothing: float | None = None
    """epsilon, what a label gives to the other classes together; None: 0.6, less for few classes."""
    few_classes: Literal["distance", "limit"] = "distance"
    """Without ``label_smoothing``: below 80 classes, keep the distance between two smoothed labels; or only limit it,
    to 0.8 (1 - 1/C)."""
    consistency_weight: float = 0.5
    """alpha of the consistency of the two views; classification weighs 1 - alpha."""
    open_temperature: float = 10.0
    """What the teacher's probabilities are divided by for the near-uniform target of open-set samples."""
    divergence_limit: float | None = None
    """Divergence, in bits, from which on the two views of an open-set sample are not pushed further apart."""
    teacher_momentum: float = 0.99

    formerly: ClassVar[Mapping[str, Any]] = {"few_classes": "limit"}

    def __post_init__(self) -> None:
        """Check that lengths are not negative, and thresholds and weights lie in their ranges."""
        super().__post_init__()
        if self.warmup_epochs < 0 or self.ramp_epochs < 0:
            raise ConfigError("warmup_epochs and ramp_epochs must not be negative")
        if not 0 <= self.clean_threshold <= self.final_threshold <= 1:
            raise ConfigError("0 <= clean_threshold <= final_threshold <= 1 must hold")
        if self.label_smoothing is not None and not 0 <= self.label_smoothing < 1:
            raise ConfigError("label_smoothing must lie in [0, 1)")
        if not 0 <= self.consistency_weight < 1 or not 0 <= self.teacher_momentum < 1:
            raise ConfigError("consistency_weight and teacher_momentum must lie in [0, 1)")
        if self.open_temperature <= 0 or (self.divergence_limit is not None and self.divergence_limit <= 0):
            raise ConfigError("open_temperature and divergence_limit must be positive")


class JoSrc(SingleMethod):
    """Jo-SRC: judge labels by their divergence from the prediction, other samples by the agreement of views.

    Examples:
        >>> from lond import preset
        >>> preset("digits", JoSrc).method
        'jo-src'
    """

    settings_class = JoSrcSettings
    cost = Cost(2, 4)

    def __init__(self, settings: JoSrcSettings, task: Task) -> None:
        """Build the network and its mean teacher."""
        super().__init__()
        self.settings = settings
        self.labels = task.labels
        self.num_classes = task.num_classes
        self.smoothing = smoothing_of(settings, task.num_classes)
        self.net = build_classifier(settings, task)
        self.teacher = MeanTeacher(self.net, settings.teacher_momentum)
        self.seen = SampleTable(len(task.labels), 3)

    def before_epoch(self, epoch: int, survey: Survey) -> list[Phase]:
        """Return one phase: over the labelled samples in warm-up, over all afterwards."""
        if epoch < self.settings.warmup_epochs:
            return [whole_set("warm-up", self.labels, VIEWS)]
        everyone = torch.arange(len(self.labels))
        return [Phase("robust", {"all": Stream(everyone, VIEWS)}, lead=len(everyone))]

    def step(self, phase: str, batches: dict[str, Batch], clock: Clock, random: torch.Generator) -> dict[str, Term]:
        """Classify both views; afterwards by three kinds of targets, and with consistency."""
        batch = batches["all"]
        first, second = (self.net(view).logits.float() for view in batch.views)
        labels = smoothed_labels(batch.labels, self.num_classes, self.smoothing)
        likelihood = clean_likelihood(F.softmax(first.detach(), dim=1), labels)
        threshold = self.threshold(clock.epoch)
        if phase == "warm-up":
            both = soft_cross_entropy(first, labels) + soft_cross_entropy(second, labels)
            chosen = likelihood >= threshold
            return {"classification": Term(both[chosen] if chosen.any() else 0 * both)}
        # Each view is normalised by its own batch statistics, by the teacher as well.
        taught = torch.stack([F.softmax(self.teacher(view).logits.float(), dim=1) for view in batch.views]).mean(dim=0)
        kinds = assign_by_views(likelihood, batch.labels, threshold, first.argmax(dim=1), second.argmax(dim=1))
        self._note(batch.indices, kinds, taught)
        return self._terms(first, second, self._targets(kinds, labels, taught), kinds)

    def threshold(self, epoch: int) -> float:
        """Return tau of one epoch."""
        own = self.settings
        return rising_threshold(epoch, own.warmup_epochs, own.ramp_epochs, own.clean_threshold, own.final_threshold)

    def _targets(self, kinds: Assignment, labels: Tensor, taught: Tensor) -> Tensor:
        """Return ``(B, C)``: the smoothed label if clean, else the teacher's word, flattened if open."""
        flat = F.softmax(taught / self.settings.open_temperature, dim=1)
        return torch.where(kinds.clean[:, None], labels, torch.where(kinds.closed[:, None], taught, flat))

    def _terms(self, first: Tensor, second: Tensor, targets: Tensor, kinds: Assignment) -> dict[str, Term]:
        alpha = self.settings.consistency_weight
        terms = {
            "classification": Term(soft_cross_entropy(first, targets) + soft_cross_entropy(second, targets), 1 - alpha)
        }
        if alpha:
            distance = jeffreys_divergence(first, second)
            pushed = distance.clamp_max(self.settings.divergence_limit or torch.inf)
            terms["consistency"] = Term(torch.where(kinds.open, -pushed, distance), alpha)
        return terms

    def _note(self, indices: Tensor, kinds: Assignment, taught: Tensor) -> None:
        """Keep the kind (1 clean, 2 closed, 3 open; 0 is for samples never seen), the teacher's class and its trust."""
        kind = kinds.clean + 2 * kinds.closed + 3 * kinds.open
        best = taught.max(dim=1)
        self.seen.write(indices, torch.stack([kind.float(), best.indices.float(), best.values], dim=1))

    def after_step(self) -> None:
        """Move the teacher."""
        self.teacher.follow(self.net)

    def after_epoch(self, epoch: int) -> None:
        """Make the verdicts of the epoch's batches the partition."""
        if epoch < self.settings.warmup_epochs:
            return
        self.seen.merge()
        kind, taught, trust = self.seen.rows.unbind(dim=1)
        labels = self.labels.to(kind.device)
        clean, is_open = kind == 1, kind == 3
        # A sample that no batch has shown yet counts as noise without weight.
        told = torch.where(kind > 1, taught.long(), labels.clamp_min(0))
        weights = torch.where(clean, 1.0, torch.where(kind == 2, trust, 0.0))
        self.partition = Partition(clean, ~clean & ~is_open, is_open, weights, told)

    def extra_state(self) -> dict[str, Any]:
        """Return the partition and the table behind it."""
        return {**super().extra_state(), "seen": self.seen.rows}

    def load_extra_state(self, state: dict[str, Any]) -> None:
        """Restore what ``extra_state`` gave."""
        super().load_extra_state(state)
        self.seen.load(state["seen"])


def smoothing_of(settings: JoSrcSettings, num_classes: int) -> float:
    """Return epsilon: as it is set, else the published 0.6, or less below the 80 classes that it was published for.

    Labels of few classes lie closer together once they are smoothed: with 0.6 and 16 classes a prediction that is as
    sure of another class as the label of its own would pass ``clean_threshold``, and nearly everything would be clean.

    Raises:
        ConfigError: the given label would not keep the largest share.
    """
    wanted = settings.label_smoothing
    if wanted is not None:
        if wanted >= 1 - 1 / num_classes:
            raise ConfigError(
                f"label_smoothing {wanted} leaves the given label of {num_classes} classes no lead; lower it"
            )
        return wanted
    if settings.few_classes == "limit":
        return min(PUBLISHED_SMOOTHING, 0.8 * (1 - 1 / num_classes))
    if num_classes >= PUBLISHED_CLASSES:
        return PUBLISHED_SMOOTHING
    return _smoothing_at(label_distance(PUBLISHED_SMOOTHING, PUBLISHED_CLASSES), num_classes)


def label_distance(smoothing: float, num_classes: int) -> float:
    """Return the Jensen-Shannon divergence, in bits, between the smoothed labels of two of C classes."""
    labels = torch.tensor([0, 1])
    return float(jensen_shannon(*smoothed_labels(labels, num_classes, smoothing).double()[:, None]))


def _smoothing_at(distance: float, num_classes: int) -> float:
    """Return the smoothing that leaves two labels this far apart, by bisection: distances fall with smoothing."""
    low, high = 0.0, 1 - 1 / num_classes
    while high - low > 1e-6:
        middle = (low + high) / 2
        low, high = (middle, high) if label_distance(middle, num_classes) > distance else (low, middle)
    return low


def smoothed_labels(labels: Tensor, num_classes: int, smoothing: float) -> Tensor:
    """Return ``(B, C)``: 1 - eps for the label, eps / (C - 1) for each other class; class 0 for a missing label."""
    rest = smoothing / max(1, num_classes - 1)
    return rest + (1 - smoothing - rest) * F.one_hot(labels.clamp_min(0), num_classes).float()


def clean_likelihood(probabilities: Tensor, labels: Tensor) -> Tensor:
    """Return ``1 - JS(p, s)`` in bits, so in [0, 1], of predictions and smoothed labels ``(B, C)``, as ``(B,)``."""
    return (1 - jensen_shannon(probabilities, labels)).clamp(0, 1)
