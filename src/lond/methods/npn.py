"""NPN: partial-label and negative learning, with hard or soft votes.

Sheng, Sun, et al., AAAI 2024. Where the paper and its released program differ, the settings say which reading is the
default (docs/methods/npn.md lists all points).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import torch
import torch.nn.functional as F
from torch import Tensor

from lond.errors import ConfigError
from lond.losses import negative_entropy, negative_learning
from lond.methods.base import Cost, Survey, Task
from lond.methods.classifiers import ClassifierSettings, SingleMethod, build_classifier, one_hot, whole_set
from lond.methods.mix_match import ramp
from lond.methods.sample_table import SampleTable
from lond.types import Batch, Clock, Epochs, Partition, Phase, Stream, Term


@dataclass(frozen=True)
class NpnSettings(ClassifierSettings):
    """What both variants share; the published values for CIFAR. A weight of 0 switches its term off."""

    warmup_epochs: Epochs = 200
    top_k: int = 2
    """Classes that get a vote at each view of a sample; at most C - 1 count."""
    candidates: Literal["top-1", "top-k"] = "top-1"
    """Predictions that are candidates besides the given label: the first (released program) or all voted for (paper's
    figure)."""
    partial_label_weight: float = 1.0
    negative_weight: float = 1.0
    """alpha."""
    consistency_weight: float = 1.0
    label_smoothing: float = 0.0
    """Of all cross-entropies (0.2 for web data)."""
    ramp_epochs: Epochs = 0
    """Epochs after warm-up over which the consistency term rises to its full weight; 0 = at once, as released."""
    clamp_logits: bool = True
    """Lift negative logits to 0 before the entropy of the warm-up penalty, as the released program does."""

    formerly: ClassVar[Mapping[str, Any]] = {"clamp_logits": False}

    def __post_init__(self) -> None:
        """Check that weights are not negative and not all 0, and the kind of candidates is known."""
        super().__post_init__()
        if min(self.warmup_epochs, self.ramp_epochs) < 0 or self.top_k < 1:
            raise ConfigError("warmup_epochs and ramp_epochs must not be negative, top_k must be at least 1")
        if self.candidates not in ("top-1", "top-k"):
            raise ConfigError(f"candidates must be 'top-1' or 'top-k', not {self.candidates!r}")
        weights = (self.partial_label_weight, self.negative_weight, self.consistency_weight)
        if min(weights) < 0 or not any(weights):
            raise ConfigError("no weight may be negative (0 switches a term off), and not all may be 0")
        if not 0 <= self.label_smoothing < 1:
            raise ConfigError("label_smoothing must lie in [0, 1)")


@dataclass(frozen=True)
class NpnHardSettings(NpnSettings):
    """Settings of NPN-hard: train on the most-voted class.

    Examples:
        >>> NpnHardSettings().vote_weighting
        False
    """

    vote_weighting: bool = False
    """Weight the partial-label term by the share of votes of the most-voted class, as in the paper's figure."""


@dataclass(frozen=True)
class NpnSoftSettings(NpnSettings):
    """Settings of NPN-soft: train on the distribution of votes.

    Examples:
        >>> NpnSoftSettings().consistency_weight
        2.0
    """

    consistency_weight: float = 2.0
    """beta."""


class Npn(SingleMethod):
    """NPN: choose among candidate classes by a running vote of predictions; use all others as negatives.

    Examples:
        >>> issubclass(NpnHard, Npn) and issubclass(NpnSoft, Npn)
        True
    """

    cost = Cost(2, 2.2)

    def __init__(self, settings: NpnHardSettings | NpnSoftSettings, task: Task) -> None:
        """Build the network; no votes yet."""
        super().__init__()
        self.settings = settings
        self.net = build_classifier(settings, task)
        self.labels = task.labels
        self.top_k = min(settings.top_k, task.num_classes - 1)
        self.votes = SampleTable(len(self.labels), task.num_classes)
        self.winners = SampleTable(len(self.labels), 1)

    # Once an epoch

    def before_epoch(self, epoch: int, survey: Survey) -> list[Phase]:
        """Warm-up walks through all labelled samples in weak views, later epochs through all samples in both views."""
        if epoch < self.settings.warmup_epochs:
            return [whole_set("warm-up", self.labels)]
        everyone = torch.arange(len(self.labels))
        return [Phase("robust", {"all": Stream(everyone, ("weak", "strong"))}, lead=len(everyone))]

    def after_epoch(self, epoch: int) -> None:
        """Take over the votes; after warm-up they judge the labels."""
        self.votes.merge()
        self.winners.merge()
        if epoch >= self.settings.warmup_epochs:
            self.partition = partition_of(self.labels, self.votes.rows, self.winners.rows.squeeze(1).long())

    # Once a step

    def step(self, phase: str, batches: dict[str, Batch], clock: Clock, random: torch.Generator) -> dict[str, Term]:
        """Count the votes; then the warm-up loss, or partial-label, negative and consistency losses."""
        batch, settings = batches["all"], self.settings
        logits = self.net(batch.views[0]).logits.float()
        latest, votes, winners = self._vote(batch.indices, logits.detach())
        if phase == "warm-up":
            return {
                "cross_entropy": Term(self._cross_entropy(logits, batch.labels)),
                "penalty": Term(negative_entropy(logits, clamp_logits=settings.clamp_logits)),
            }
        predicted = logits.argmax(dim=1)
        terms = {}
        if settings.partial_label_weight:
            terms["partial_label"] = Term(self._partial_label(logits, votes, winners), settings.partial_label_weight)
        if settings.negative_weight:
            likely = latest if settings.candidates == "top-k" else one_hot(predicted, logits.shape[1])
            complement = ~(likely.bool() | given_classes(batch.labels, logits.shape[1]))
            terms["negative"] = Term(negative_learning(logits, complement), settings.negative_weight)
        if settings.consistency_weight:
            strong = self.net(batch.views[1]).logits.float()
            weight = settings.consistency_weight * ramp(clock, settings.warmup_epochs, settings.ramp_epochs)
            terms["consistency"] = Term(self._cross_entropy(strong, predicted), weight)
        return terms

    def _vote(self, indices: Tensor, logits: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Return this step's votes ``(B, C)``, the sums with all earlier ones, and the classes that lead ``(B,)``.

        The sums start from the last epoch's end, so a step that is repeated counts once.
        """
        latest = torch.zeros_like(logits).scatter_(1, logits.topk(self.top_k, dim=1).indices, 1.0)
        rows = self.votes.rows
        votes = rows[indices.to(rows.device)].to(logits.device) + latest
        # Equal votes are frequent with k > 1; half a probability decides among them and never outweighs a vote.
        winners = (votes + F.softmax(logits, dim=1) / 2).argmax(dim=1)
        self.votes.write(indices, votes)
        self.winners.write(indices, winners[:, None])
        return latest, votes, winners

    def _partial_label(self, logits: Tensor, votes: Tensor, winners: Tensor) -> Tensor:
        shares = votes / votes.sum(dim=1, keepdim=True)
        if isinstance(self.settings, NpnSoftSettings):
            return self._cross_entropy(logits, shares)
        losses = self._cross_entropy(logits, winners)
        return losses * shares.amax(dim=1) if self.settings.vote_weighting else losses

    def _cross_entropy(self, logits: Tensor, targets: Tensor) -> Tensor:
        """Return the smoothed cross-entropy ``(B,)`` for labels ``(B,)`` or distributions ``(B, C)``."""
        return F.cross_entropy(logits, targets, reduction="none", label_smoothing=self.settings.label_smoothing)

    # In a checkpoint

    def extra_state(self) -> dict[str, Any]:
        """Return the votes as well."""
        return {**super().extra_state(), "votes": self.votes.rows, "winners": self.winners.rows}

    def load_extra_state(self, state: dict[str, Any]) -> None:
        """Restore what ``extra_state`` gave."""
        super().load_extra_state(state)
        self.votes.load(state["votes"])
        self.winners.load(state["winners"])


class NpnHard(Npn):
    """NPN that trains on the most-voted class.

    Examples:
        >>> from lond import preset
        >>> preset("digits", NpnHard).method
        'npn-hard'
    """

    settings_class = NpnHardSettings


class NpnSoft(Npn):
    """NPN that trains on the distribution of votes.

    Examples:
        >>> from lond import preset
        >>> preset("digits", NpnSoft).method
        'npn-soft'
    """

    settings_class = NpnSoftSettings


def given_classes(labels: Tensor, num_classes: int) -> Tensor:
    """Return the mask ``(B, C)`` of the given labels; a row of False where there is none."""
    return labels[:, None] == torch.arange(num_classes, device=labels.device)


def partition_of(labels: Tensor, votes: Tensor, winners: Tensor) -> Partition:
    """Judge the labels by the votes.

    Clean: the most-voted class is the given label. Closed: it is another one, the corrected label. Weights are the
    most-voted class's share of the votes. A sample without votes is closed, with its given label (class 0 if it has
    none) and weight 0. None is open.

    Args:
        labels: ``(N,)`` given labels.
        votes: ``(N, C)``.
        winners: ``(N,)`` the most-voted classes.
    """
    labels = labels.to(votes.device)
    sums = votes.sum(dim=1)
    voted = sums > 0
    clean = voted & (winners == labels)
    corrected = torch.where(voted, winners, labels.clamp_min(0))
    weights = votes.amax(dim=1) / sums.clamp_min(1)
    return Partition(clean, ~clean, torch.zeros_like(clean), weights, corrected)
