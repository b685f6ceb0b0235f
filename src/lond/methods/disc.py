"""DISC: dynamic instance-specific selection and correction.

Li, Han, Shan, Chen, CVPR 2023. Where the paper and its released program differ, docs/methods/disc.md says which reading
is taken.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from lond.errors import ConfigError
from lond.identify import InstanceSelection, follow_confidence, select_by_threshold
from lond.losses import draw_mix, generalised_cross_entropy, mix_inputs, soft_cross_entropy
from lond.methods.base import Cost, Survey, Task
from lond.methods.classifiers import ClassifierSettings, SingleMethod, build_classifier, one_hot, whole_set
from lond.methods.sample_table import SampleTable
from lond.types import Batch, Clock, Epochs, Memory, Partition, Phase, Stream, Term

VIEWS = ("weak", "strong")


@dataclass(frozen=True)
class DiscSettings(ClassifierSettings):
    """Settings of DISC; the published values for CIFAR with at most 50 % symmetric noise.

    Examples:
        >>> DiscSettings().warmup_epochs
        20
    """

    warmup_epochs: Epochs = 20
    confidence_memory: Memory = 0.99
    """mu: how much of its threshold a sample keeps at each epoch (0.95 for asymmetric or heavy noise, and web data)."""
    clean_weight: float = 1.0
    """lambda of the cross-entropy of clean samples."""
    hard_weight: float = 1.0
    """lambda of the generalised cross-entropy of hard samples (0.2 for heavy noise)."""
    purify_margin: float = 0.5
    """sigma: how far the prediction must exceed the threshold before it replaces the label."""
    purify_cap: float = 0.99
    """The most that a prediction must reach for this."""
    gce_exponent: float = 0.7
    """q of the generalised cross-entropy."""
    mixup: float = 5.0
    """Concentration of the Beta distribution (0 = no mixing)."""

    def __post_init__(self) -> None:
        """Check that weights are not negative, and thresholds and memories lie in their ranges."""
        super().__post_init__()
        if self.warmup_epochs < 0:
            raise ConfigError("warmup_epochs must not be negative")
        if not 0 <= self.confidence_memory < 1:
            raise ConfigError("confidence_memory must lie in [0, 1)")
        if min(self.clean_weight, self.hard_weight, self.purify_margin, self.mixup) < 0:
            raise ConfigError("clean_weight, hard_weight, purify_margin and mixup must not be negative")
        if not 0 < self.purify_cap <= 1 or not 0 < self.gce_exponent <= 1:
            raise ConfigError("purify_cap and gce_exponent must lie in (0, 1]")


class Disc(SingleMethod):
    """DISC: trust a label in a view while its probability exceeds the sample's own running confidence.

    Trusted in both views: clean, cross-entropy. In one: hard, generalised cross-entropy. In none, but surely predicted:
    purified, relabelled. All three are also mixed with each other. The rest is not learned from.

    Examples:
        >>> from lond import preset
        >>> preset("digits", Disc).method
        'disc'
    """

    settings_class = DiscSettings
    cost = Cost(3, 5)

    def __init__(self, settings: DiscSettings, task: Task) -> None:
        """Build the network; thresholds start at 1 / N."""
        super().__init__()
        self.settings = settings
        self.net = build_classifier(settings, task)
        self.labels = task.labels
        samples = len(self.labels)
        self.thresholds = torch.full((samples, 2), 1 / max(1, samples))
        nobody = torch.zeros(samples, dtype=torch.bool)
        self.selection = InstanceSelection(nobody, nobody, nobody, self.labels.clamp_min(0).cpu(), torch.zeros(samples))
        self.judged = False
        # Read and used up at the end of an epoch, so no checkpoint needs them.
        self.probabilities = SampleTable(samples, 2 * task.num_classes)

    # Once an epoch

    def before_epoch(self, epoch: int, survey: Survey) -> list[Phase]:
        """Warm-up walks through all labelled samples, later epochs through all samples."""
        warm_up = [whole_set("warm-up", self.labels, VIEWS)]
        if epoch < self.settings.warmup_epochs or not self.judged:
            return warm_up
        if not torch.stack(self.selection[:3]).any():
            warnings.warn(
                f"epoch {epoch}: no sample is selected: no label is more probable than its sample's running "
                "confidence; warming up for another epoch. If this persists, lower optimiser.learning_rate or raise "
                "settings.confidence_memory",
                stacklevel=2,
            )
            return warm_up
        everyone = torch.arange(len(self.labels))
        return [Phase("robust", {"all": Stream(everyone, VIEWS)}, lead=len(everyone))]

    def after_epoch(self, epoch: int) -> None:
        """Judge the samples that were seen by their old thresholds, then move these towards their confidence."""
        seen = self.probabilities.merge()
        weak, strong = self.probabilities.rows.chunk(2, dim=1)
        labels, old = self.labels.to(weak.device), self.thresholds.to(weak.device)
        settings = self.settings
        fresh = select_by_threshold(weak, strong, labels, old, margin=settings.purify_margin, cap=settings.purify_cap)
        before = (part.to(weak.device) for part in self.selection)
        self.selection = InstanceSelection(
            *(torch.where(seen, new, kept) for new, kept in zip(fresh, before, strict=True))
        )
        moved = follow_confidence(old, weak, strong, settings.confidence_memory)
        self.thresholds = torch.where(seen[:, None], moved, old)
        self.judged = True
        if epoch >= settings.warmup_epochs:
            self.partition = partition_of(self.selection)

    # Once a step

    def step(self, phase: str, batches: dict[str, Batch], clock: Clock, random: torch.Generator) -> dict[str, Term]:
        """Cross-entropy of both views, or the loss that fits each sample's set; note both views' probabilities."""
        batch = batches["all"]
        logits = self.net(torch.cat(batch.views)).logits.float()
        views = logits.chunk(2)
        self.probabilities.write(batch.indices, torch.cat([F.softmax(view, dim=1) for view in views], dim=1))
        if phase == "warm-up":
            return {"cross_entropy": Term(_both(F.cross_entropy(logits, batch.labels.repeat(2), reduction="none")))}
        return self._robust_terms(batch, logits, random)

    def _robust_terms(self, batch: Batch, logits: Tensor, random: torch.Generator) -> dict[str, Term]:
        """Return ``lambda_c (n_C / B) CE_C + lambda_h (n_H / B) GCE_H + MixUp(weak) + MixUp(strong)``."""
        settings = self.settings
        clean, hard, purified, targets, _ = (
            part[batch.indices.to(part.device)].to(logits.device) for part in self.selection
        )
        labels = targets.repeat(2)
        plain = _both(F.cross_entropy(logits, labels, reduction="none"))
        tolerant = _both(generalised_cross_entropy(logits, labels, settings.gce_exponent))
        terms = {
            "clean": Term(plain * clean, settings.clean_weight),
            "hard": Term(tolerant * hard, settings.hard_weight),
        }
        learned = clean | hard | purified
        # Batch normalisation of the MLP head refuses a single row.
        if learned.sum() > 1:
            for name, view in zip(VIEWS, batch.views, strict=True):
                terms[f"mixed_{name}"] = Term(self._mixed(view[learned], targets[learned], random))
        return terms

    def _mixed(self, images: Tensor, labels: Tensor, random: torch.Generator) -> Tensor:
        mix = draw_mix(len(images), self.settings.mixup, random)
        logits = self.net(mix_inputs(images, mix)).logits
        return soft_cross_entropy(logits, mix_inputs(one_hot(labels, self.net.num_classes), mix))

    # In a checkpoint

    def extra_state(self) -> dict[str, Any]:
        """Return thresholds and selection as well."""
        own = {"thresholds": self.thresholds, "selection": self.selection._asdict(), "judged": self.judged}
        return {**super().extra_state(), **own}

    def load_extra_state(self, state: dict[str, Any]) -> None:
        """Restore what ``extra_state`` gave."""
        super().load_extra_state(state)
        self.thresholds, self.judged = state["thresholds"], state["judged"]
        self.selection = InstanceSelection(**state["selection"])


def partition_of(selection: InstanceSelection) -> Partition:
    """Return clean and hard samples as clean, purified ones as closed, the rest as open with weight 0."""
    clean = selection.clean | selection.hard
    rest = ~(clean | selection.purified)
    weights = selection.belief.masked_fill(rest, 0.0)
    return Partition(clean, selection.purified, rest, weights, selection.targets)


def _both(losses: Tensor) -> Tensor:
    """Return the sum of the losses ``(2B,)`` of a sample's two views, ``(B,)``."""
    weak, strong = losses.chunk(2)
    return weak + strong
