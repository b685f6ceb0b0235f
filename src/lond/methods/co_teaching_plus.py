"""Co-teaching+: Co-teaching on the samples that the two networks disagree about.

Yu, Han, Yao, Niu, Tsang, Sugiyama, ICML 2019. docs/methods/co_teaching_plus.md lists where the released program
differs.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor

from lond.errors import ConfigError
from lond.identify import kept_count, smallest
from lond.methods.base import Cost, Survey, Task
from lond.methods.classifiers import whole_set
from lond.methods.co_teaching import EXCHANGE, CoTeaching, CoTeachingSettings, Pair
from lond.types import Clock, FirstEpochs, Phase

DISAGREEMENT = "disagreement"
"""The phase in which only samples of different predictions are exchanged."""


@dataclass(frozen=True)
class CoTeachingPlusSettings(CoTeachingSettings):
    """Settings of Co-teaching+; the published values for CIFAR-100.

    Examples:
        >>> CoTeachingPlusSettings().initial_epochs
        5
    """

    initial_epochs: FirstEpochs = 5
    """Epochs of plain Co-teaching before disagreement counts."""
    whole_batch_steps: int = 5000
    """Steps from the start in which a batch without disagreement is learned whole; later its loss is 0."""
    softmax_before_loss: bool = False
    """Once disagreement counts, hand probabilities to cross-entropy as if they were logits (the released program)."""

    def __post_init__(self) -> None:
        """Check that initial_epochs and whole_batch_steps are not negative."""
        super().__post_init__()
        if self.initial_epochs < 0 or self.whole_batch_steps < 0:
            raise ConfigError("initial_epochs and whole_batch_steps must not be negative")


class CoTeachingPlus(CoTeaching):
    """Co-teaching+: Co-teaching first, then the same exchange among samples on which the networks disagree.

    Verdicts still rank the whole batch: disagreement says what is worth learning, not which label is right.

    Examples:
        >>> from lond import preset
        >>> preset("digits", CoTeachingPlus).method
        'co-teaching-plus'
    """

    settings_class = CoTeachingPlusSettings
    cost = Cost(2, 3)

    settings: CoTeachingPlusSettings

    def __init__(self, settings: CoTeachingPlusSettings, task: Task) -> None:
        """Build two networks of different initial weights (pretrained ones differ in the head)."""
        super().__init__(settings, task)

    def before_epoch(self, epoch: int, survey: Survey) -> list[Phase]:
        """Return one phase over all labelled samples, which trains both networks."""
        return [whole_set(EXCHANGE if epoch < self.settings.initial_epochs else DISAGREEMENT, self.labels)]

    def _losses(self, phase: str, logits: Pair, labels: Tensor) -> Pair:
        """Return both networks' losses ``(B,)``."""
        if phase == DISAGREEMENT and self.settings.softmax_before_loss:
            logits = F.softmax(logits[0], dim=1), F.softmax(logits[1], dim=1)
        return super()._losses(phase, logits, labels)

    def _picks(self, phase: str, logits: Pair, losses: Pair, easy: Pair, clock: Clock) -> Pair:
        """Return the masks ``(B,)`` that both networks pick within ``D = {i: argmax z1_i != argmax z2_i}``.

        They are the ``floor((1 - R) |D|)`` smallest losses in D, all of D if that is 0, and if D is empty the whole
        batch or nothing.
        """
        if phase == EXCHANGE:
            return easy
        disputed = logits[0].argmax(dim=1) != logits[1].argmax(dim=1)
        size = int(disputed.sum())
        if not size:
            early = clock.epoch * clock.steps + clock.step < self.settings.whole_batch_steps
            return torch.full_like(disputed, early), torch.full_like(disputed, early)
        count = kept_count(size, self._drop_rate(clock.epoch)) or size
        first, second = (smallest(part.masked_fill(~disputed, torch.inf), count) for part in losses)
        return first, second
