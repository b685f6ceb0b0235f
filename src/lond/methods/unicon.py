"""UNICON: combating label noise through uniform selection and contrastive learning.

Karim, Rizve, Rahnavard, Mian, Shah, CVPR 2022. docs/methods/unicon.md lists what differs from the released program.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from lond.errors import ConfigError
from lond.identify import UniformSelection, divergence_cutoff, divergence_weights, select_uniformly
from lond.losses import jensen_shannon_to_label, nt_xent
from lond.methods.base import Cost, Survey, Task
from lond.methods.classifiers import NETS, whole_set
from lond.methods.semi_supervised_pair import (
    SHARE,
    SemiSupervisedPair,
    SemiSupervisedPairSettings,
    warn_nothing_is_clean,
)
from lond.types import Batch, Clock, Partition, Phase, Term

LARGEST_RATIO = 10.0
"""At most this many unlabelled samples a labelled one in a step, however few are selected."""


@dataclass(frozen=True)
class UniconSettings(SemiSupervisedPairSettings):
    """Settings of UNICON; the published values for CIFAR-100.

    Examples:
        >>> UniconSettings().unlabelled_weight
        30.0
    """

    unlabelled_weight: float = 30.0
    """lambda_u; 0 = unlabelled samples are mixing partners only."""
    divergence_limit: float = 0.7
    """d_mu: a mean divergence above it lowers the cut-off."""
    correction: float = 5.0
    """tau: the cut-off is lowered by (mean - minimum) / tau."""
    natural_log: bool = True
    """Measure divergences in nats (at most 0.69), as the released program does, and not in bits (at most 1)."""
    unlabelled_batch: float = 0.5
    """A step has this over R unlabelled samples for each labelled one (1 for 80 % noise and more); 0 = just one."""
    contrastive_weight: float = 0.025
    """lambda_c; 0 switches the term off."""
    temperature: float = 0.05
    """kappa of the contrastive loss."""
    embedding_size: int = 128
    """Width of the projection that is contrasted."""

    formerly: ClassVar[Mapping[str, Any]] = {"natural_log": False}

    def __post_init__(self) -> None:
        """Check that limits and weights are not negative, correction is at least 1 and temperature is positive."""
        super().__post_init__()
        if self.divergence_limit < 0:
            raise ConfigError("divergence_limit must not be negative")
        if self.correction < 1:
            raise ConfigError("correction must be at least 1")
        if self.unlabelled_batch < 0 or self.contrastive_weight < 0:
            raise ConfigError("unlabelled_batch and contrastive_weight must not be negative")
        if self.temperature <= 0:
            raise ConfigError("temperature must be positive")
        if self.embedding_size < 1:
            raise ConfigError("embedding_size must be at least 1")


class Unicon(SemiSupervisedPair):
    """UNICON: select equally many samples per class with both networks; MixMatch and a contrastive loss on the rest.

    Examples:
        >>> from lond import preset
        >>> preset("digits", Unicon).method
        'unicon'
    """

    settings_class = UniconSettings
    cost = Cost(2, 10)

    settings: UniconSettings
    views = ("weak", "weak", "strong", "strong")

    def __init__(self, settings: UniconSettings, task: Task) -> None:
        """Build the networks and their projections."""
        super().__init__(settings, task)
        self.projections = nn.ModuleList(
            nn.Sequential(
                nn.Linear(self.net(index).penultimate_size, settings.embedding_size),
                nn.BatchNorm1d(settings.embedding_size),
            )
            for index in range(2)
        )

    def before_epoch(self, epoch: int, survey: Survey) -> Iterator[Phase]:
        """Warm-up trains both networks on all labelled samples; later a selection precedes each network's turn."""
        if epoch < self.settings.warmup_epochs:
            yield from self.warmup_phases(self.labels)
            return
        for name in NETS:
            first, second = survey(self.both_logits)
            selection, partition = self._select(first, second)
            if int(selection.chosen.sum()) < 2:
                warn_nothing_is_clean(epoch, "raise settings.correction")
                yield whole_set(f"warm-up {name}", self.labels)
            else:
                self.partition = partition
                yield self.divided_phase(name, selection.chosen, SHARE * self._unlabelled_ratio(selection.ratio))

    def _select(self, first: Tensor, second: Tensor) -> tuple[UniformSelection, Partition]:
        """Return the samples selected by the logits ``(N, C)`` of both networks, and the verdicts on all."""
        labels = self.labels.to(first.device)
        probabilities = (F.softmax(first, dim=1) + F.softmax(second, dim=1)) / 2
        given = probabilities.gather(1, labels.clamp_min(0)[:, None]).squeeze(1)
        divergences = jensen_shannon_to_label(given, base=math.e if self.settings.natural_log else 2.0)
        cutoff = divergence_cutoff(divergences[labels >= 0], self.settings.divergence_limit, self.settings.correction)
        selection = select_uniformly(divergences, labels, self.num_classes, cutoff)
        clean = selection.chosen
        corrected = torch.where(clean, labels, (first + second).argmax(dim=1))
        belief = probabilities.gather(1, corrected[:, None]).squeeze(1)
        # The rule for the weights was made for nats, whatever the selection is measured in.
        trust = divergence_weights(jensen_shannon_to_label(given, base=math.e))
        weights = torch.where(clean, trust, belief)
        return selection, Partition(clean, ~clean, torch.zeros_like(clean), weights, corrected)

    def _unlabelled_ratio(self, selected_share: float) -> float:
        """Return the unlabelled samples a labelled one in a step."""
        factor = self.settings.unlabelled_batch
        return min(LARGEST_RATIO, factor / selected_share) if factor else 1.0

    def trust(self, phase: str) -> Tensor:
        """Return the label weights of the last selection."""
        assert self.partition is not None
        return self.partition.weights

    def step(self, phase: str, batches: dict[str, Batch], clock: Clock, random: torch.Generator) -> dict[str, Term]:
        """Return cross-entropy in warm-up; MixMatch of strong views and contrast of unlabelled samples later."""
        terms = super().step(phase, batches, clock, random)
        if "unlabelled" in batches and self.settings.contrastive_weight:
            contrast = self._contrast(NETS.index(phase), batches["unlabelled"])
            terms["contrastive"] = Term(contrast, self.settings.contrastive_weight)
        return terms

    def _contrast(self, index: int, batch: Batch) -> Tensor:
        """Return the contrastive loss of the two unmixed strong views."""
        features = self.net(index)(torch.cat(batch.views[-2:])).features
        first, second = F.normalize(self.projections[index](features).float(), dim=1).chunk(2)
        return nt_xent(first, second, self.settings.temperature)
