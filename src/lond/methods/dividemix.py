"""DivideMix: learning with noisy labels as semi-supervised learning.

Li, Socher, Hoi, ICLR 2020. docs/methods/dividemix.md lists what differs from the released program.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from lond.errors import ConfigError
from lond.identify import scale_to_unit, small_loss_posterior
from lond.methods.base import Cost, Survey, Task
from lond.methods.classifiers import NETS
from lond.methods.semi_supervised_pair import SemiSupervisedPair, SemiSupervisedPairSettings, warn_nothing_is_clean
from lond.types import Partition, Phase


@dataclass(frozen=True)
class DivideMixSettings(SemiSupervisedPairSettings):
    """Settings of DivideMix; the published values for CIFAR-100 with 20 % noise.

    Examples:
        >>> DivideMixSettings().clean_threshold
        0.5
    """

    clean_threshold: float = 0.5
    """p_t: a sample is labelled if the posterior of its small loss exceeds it."""
    loss_history: int = 0
    """Divide by the mean loss of this many last epochs (5 at 90 % noise); 0 and 1 = by the present one."""

    def __post_init__(self) -> None:
        """Check that clean_threshold lies in [0, 1) and loss_history is not negative."""
        super().__post_init__()
        if not 0 <= self.clean_threshold < 1:
            raise ConfigError("clean_threshold must lie in [0, 1)")
        if self.loss_history < 0:
            raise ConfigError("loss_history must not be negative")


class DivideMix(SemiSupervisedPair):
    """DivideMix: each network divides the samples by loss for the other, which learns from them with MixMatch.

    Examples:
        >>> from lond import preset
        >>> preset("digits", DivideMix).method
        'dividemix'
    """

    settings_class = DivideMixSettings
    cost = Cost(2, 8)

    settings: DivideMixSettings
    views = ("weak", "weak")

    def __init__(self, settings: DivideMixSettings, task: Task) -> None:
        """Build the networks."""
        super().__init__(settings, task)
        self.posteriors = torch.zeros(2, len(task.labels))
        """Which samples each network deems clean, as of the last division; 0 for unlabelled ones."""
        self._past_losses: list[Tensor] = []

    def before_epoch(self, epoch: int, survey: Survey) -> list[Phase]:
        """Warm-up trains both networks on all labelled samples; later each learns from the other's division."""
        if epoch < self.settings.warmup_epochs:
            return list(self.warmup_phases(self.labels))
        first, second = survey(self.both_logits)
        self.posteriors = self._divide(first, second)
        chosen = self.posteriors > self.settings.clean_threshold
        if int(chosen.sum(dim=1).min()) < 2:
            warn_nothing_is_clean(epoch, "lower settings.clean_threshold")
            return list(self.warmup_phases(self.labels))
        self.partition = self._judge(chosen.all(dim=0), first + second)
        return [self.divided_phase(name, chosen[1 - index]) for index, name in enumerate(NETS)]

    def _divide(self, first: Tensor, second: Tensor) -> Tensor:
        """Return the posterior ``(2, N)`` of a small loss from the logits ``(N, C)`` of both networks."""
        labels = self.labels.to(first.device)
        labelled = labels >= 0
        losses = [F.cross_entropy(logits[labelled], labels[labelled], reduction="none") for logits in (first, second)]
        scaled = torch.stack([scale_to_unit(loss) for loss in losses])
        if self.settings.loss_history > 1:
            self._past_losses = [*self._past_losses, scaled][-self.settings.loss_history :]
            scaled = torch.stack(self._past_losses).mean(dim=0)
        posteriors = torch.zeros(2, len(labels), device=first.device)
        posteriors[:, labelled] = torch.stack([small_loss_posterior(loss) for loss in scaled]).to(first.device)
        return posteriors

    def _judge(self, clean: Tensor, logits: Tensor) -> Partition:
        """Return the verdicts: clean where both networks say so; all others get the class of the summed logits.

        Weights are the mean posterior of clean samples, and the probability of the others' new class.
        """
        belief, predicted = F.softmax(logits, dim=1).max(dim=1)
        return Partition(
            clean=clean,
            closed=~clean,
            open=torch.zeros_like(clean),
            weights=torch.where(clean, self.posteriors.mean(dim=0), belief),
            corrected=torch.where(clean, self.labels.to(clean.device), predicted),
        )

    def trust(self, phase: str) -> Tensor:
        """Return the posterior by the other network."""
        return self.posteriors[1 - NETS.index(phase)]

    def extra_state(self) -> dict[str, Any]:
        """Return the verdicts and the losses that later divisions need."""
        return {**super().extra_state(), "past_losses": self._past_losses}

    def load_extra_state(self, state: dict[str, Any]) -> None:
        """Restore what ``extra_state`` gave."""
        super().load_extra_state(state)
        self._past_losses = state["past_losses"]
