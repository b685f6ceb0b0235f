"""Co-teaching: two networks pick the samples that the other one learns from.

Han, Yao, Yu, Niu, Xu, Hu, Tsang, Sugiyama, NeurIPS 2018. docs/methods/co_teaching.md lists where the released program
differs.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import torch
import torch.nn.functional as F
from torch import Tensor

from lond.detect import Network
from lond.errors import ConfigError
from lond.identify import drop_rate, kept_count, smallest
from lond.methods.base import Cost, Survey, Task
from lond.methods.classifiers import ClassifierSettings, PairMethod, build_classifier, predict_with, whole_set
from lond.methods.for_detectors import OpenedClassifier
from lond.methods.sample_table import SampleTable
from lond.types import Batch, Clock, Epochs, Partition, Phase, Prediction, Term

Pair = tuple[Tensor, Tensor]
"""The same thing of network 1 and of network 2."""

EXCHANGE = "exchange"
"""The phase in which the networks exchange small-loss samples of the whole batch."""


@dataclass(frozen=True)
class CoTeachingSettings(ClassifierSettings):
    """Settings of Co-teaching; the published values for CIFAR with 20 % symmetric noise.

    Examples:
        >>> CoTeachingSettings().noise_rate
        0.2
    """

    head: Literal["mlp", "linear"] = "linear"
    noise_rate: float = 0.2
    """tau, the share of each batch that is discarded after the ramp-up; it must be given."""
    ramp_epochs: Epochs = 10
    """T_k, epochs over which the discarded share rises from 0; 0 = tau at once."""
    ramp_exponent: float = 1.0
    """c, the power of the epoch in the ramp."""

    def __post_init__(self) -> None:
        """Check that noise_rate lies in [0, 1) and the ramp is not negative."""
        super().__post_init__()
        if not 0 <= self.noise_rate < 1:
            raise ConfigError("noise_rate must lie in [0, 1)")
        if self.ramp_epochs < 0 or self.ramp_exponent <= 0:
            raise ConfigError("ramp_epochs must not be negative, ramp_exponent must be positive")


class CoTeaching(PairMethod):
    """Co-teaching: two networks, each learning from the samples on which its peer has the smallest losses.

    Network 1 alone predicts; foreign score = 1 - its maximum softmax probability.

    Examples:
        >>> from lond import preset
        >>> preset("digits", CoTeaching).method
        'co-teaching'
    """

    settings_class = CoTeachingSettings
    cost = Cost(2, 2)

    def __init__(self, settings: CoTeachingSettings, task: Task) -> None:
        """Build two networks of different initial weights (pretrained ones differ in the head)."""
        super().__init__(build_classifier(settings, task) for _ in range(2))
        self.settings = settings
        self.labels = task.labels
        # Columns: easy for both, network 1's class, its probability. A sample that was never shown keeps its label.
        self.seen = SampleTable(len(task.labels), 3)
        labels = task.labels.clamp_min(0).float()
        self.seen.load(torch.stack([torch.zeros_like(labels), labels, torch.zeros_like(labels)], dim=1))

    def before_epoch(self, epoch: int, survey: Survey) -> list[Phase]:
        """Return one phase over all labelled samples, which trains both networks."""
        return [whole_set(EXCHANGE, self.labels)]

    # Once a step

    def step(self, phase: str, batches: dict[str, Batch], clock: Clock, random: torch.Generator) -> dict[str, Term]:
        """Return mean cross-entropy of each network over the samples that its peer picked."""
        batch = batches["all"]
        logits = self.both_logits(batch.views[0])
        losses = self._losses(phase, logits, batch.labels)
        ranked = losses[0].detach(), losses[1].detach()
        easy = self._easy(ranked, clock)
        self._note(batch.indices, logits[0].detach(), easy[0] & easy[1])
        own, peers = self._picks(phase, logits, ranked, easy, clock)
        return {"net1": _mean_over(losses[0], peers), "net2": _mean_over(losses[1], own)}

    def _losses(self, phase: str, logits: Pair, labels: Tensor) -> Pair:
        """Return both networks' losses ``(B,)``."""
        first, second = (F.cross_entropy(part, labels, reduction="none") for part in logits)
        return first, second

    def _easy(self, losses: Pair, clock: Clock) -> Pair:
        """Return the masks ``(B,)`` of each network's ``floor((1 - R) B)`` smallest losses, at least one."""
        count = max(1, kept_count(len(losses[0]), self._drop_rate(clock.epoch)))
        return smallest(losses[0], count), smallest(losses[1], count)

    def _picks(self, phase: str, logits: Pair, losses: Pair, easy: Pair, clock: Clock) -> Pair:
        """Return the masks ``(B,)`` that network 1 and network 2 hand to their peer: what they find easy."""
        return easy

    def _drop_rate(self, epoch: int) -> float:
        settings = self.settings
        return drop_rate(epoch, settings.noise_rate, settings.ramp_epochs, settings.ramp_exponent)

    # Verdicts

    def _note(self, indices: Tensor, logits: Tensor, easy: Tensor) -> None:
        """Write down what the batch said about its samples: ``(B,)``, ``(B, C)`` of network 1, ``(B,)``."""
        belief, predicted = F.softmax(logits, dim=1).max(dim=1)
        self.seen.write(indices, torch.stack([easy.float(), predicted.float(), belief], dim=1))

    def after_epoch(self, epoch: int) -> None:
        """Judge the samples, if the epoch dropped any: clean if both networks find them easy, else mislabelled."""
        self.seen.merge()
        if self._drop_rate(epoch) > 0:
            self.partition = self._judge()

    def _judge(self) -> Partition:
        easy, predicted, belief = self.seen.rows.unbind(dim=1)
        labels = self.labels.to(easy.device)
        clean = (easy > 0.5) & (labels >= 0)
        return Partition(
            clean=clean,
            closed=~clean,
            open=torch.zeros_like(clean),
            weights=torch.where(clean, 1.0, belief),
            corrected=torch.where(clean, labels, predicted.long()),
        )

    # Predictions and state

    def predict(self, images: Tensor) -> Prediction:
        """Return softmax of network 1 and 1 - its maximum."""
        return predict_with(self.net(0), images)

    def network(self) -> Network:
        """Return network 1, opened at its last layers."""
        return OpenedClassifier(self.net(0))

    def extra_state(self) -> dict[str, Any]:
        """Add the table of samples."""
        return {**super().extra_state(), "seen": self.seen.rows}

    def load_extra_state(self, state: dict[str, Any]) -> None:
        """Restore what ``extra_state`` gave."""
        super().load_extra_state(state)
        self.seen.load(state["seen"])


def _mean_over(losses: Tensor, chosen: Tensor) -> Term:
    """Return the mean of the chosen losses; a zero that the network hangs on if none is chosen."""
    return Term(losses[chosen] if chosen.any() else losses * 0)
