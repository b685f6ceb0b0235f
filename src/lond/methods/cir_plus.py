"""CIR+: a softmax classifier and a bank of binary classifiers pick samples for each other."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from lond.errors import ConfigError
from lond.identify import select_agreeing, select_confident, select_small_loss
from lond.losses import (
    hard_negative_bank,
    log_odds,
    negative_probabilities,
    positive_probabilities,
    random_negative_bank,
)
from lond.methods.base import Cost, Survey, Task
from lond.methods.classifiers import ClassifierSettings, SingleMethod, build_classifier, members, one_hot, whole_set
from lond.methods.mix_match import guess, mean_probabilities, mix_match_terms, ramp, refine, warmup_terms
from lond.methods.semi_supervised_pair import warn_nothing_is_clean
from lond.types import Batch, Clock, Epochs, Partition, Phase, Prediction, Stream, Term


@dataclass(frozen=True)
class CirPlusSettings(ClassifierSettings):
    """Settings of CIR+; the published values for CIFAR-100.

    Examples:
        >>> CirPlusSettings().warmup_epochs
        30
    """

    warmup_epochs: Epochs = 30
    iterations: int = 900
    """Steps of an epoch after warm-up; 0 = one pass over the clean samples."""
    confidence: float = 0.9
    """tau, the confidence that the best-learned class must show."""
    small_loss_share: float = 0.01
    """Share of each class, of smallest loss, that both heads always learn from."""
    negatives: Literal["hard", "random"] = "hard"
    """Negatives of the bank after warm-up: the classifier's hardest class and a random one, or a random one only."""
    sharpening: float = 0.5
    """T of refined and guessed targets."""
    mixup: float = 4.0
    """Concentration of the Beta distribution (0 = no mixing)."""
    unlabelled_weight: float = 30.0
    ramp_epochs: Epochs = 16
    """Epochs after warm-up over which the unlabelled term rises to its full weight; 0 = at once."""
    binary_weight: float = 1.0
    rotation_weight: float = 1.0
    """0 switches the rotation task, and most of the cost, off."""
    confidence_penalty: bool = False
    """Add the negative entropy of the predictions to the warm-up loss (for asymmetric noise)."""

    def __post_init__(self) -> None:
        """Check that counts are not negative, shares lie in their ranges and the kind of negatives is known."""
        super().__post_init__()
        if min(self.warmup_epochs, self.ramp_epochs, self.iterations) < 0:
            raise ConfigError("warmup_epochs, ramp_epochs and iterations must not be negative")
        if not 0 < self.confidence < 1 or not 0 <= self.small_loss_share <= 1:
            raise ConfigError("confidence must lie in (0, 1), small_loss_share in [0, 1]")
        if self.negatives not in ("hard", "random"):
            raise ConfigError(f"negatives must be 'hard' or 'random', not {self.negatives!r}")
        if self.sharpening <= 0 or self.mixup < 0:
            raise ConfigError("sharpening must be positive, mixup not negative")
        if self.binary_weight <= 0:
            raise ConfigError("binary_weight must be positive: the bank picks the clean samples")
        if min(self.unlabelled_weight, self.rotation_weight) < 0:
            raise ConfigError("no weight may be negative (0 switches a term off)")


class CirPlus(SingleMethod):
    """CIR+: one network with three heads, a softmax classifier, a bank of binary classifiers, and rotation prediction.

    Examples:
        >>> from lond import preset
        >>> preset("digits", CirPlus).method
        'cir-plus'
    """

    settings_class = CirPlusSettings
    cost = Cost(5, 15)

    def __init__(self, settings: CirPlusSettings, task: Task) -> None:
        """Build the network."""
        super().__init__()
        self.settings = settings
        self.labels = task.labels
        self.net = build_classifier(settings, task)
        self.bank = nn.Linear(self.net.penultimate_size, 2 * task.num_classes, bias=False)
        self.rotation = nn.Linear(self.net.penultimate_size, 4)

    # Once an epoch

    def before_epoch(self, epoch: int, survey: Survey) -> list[Phase]:
        """Warm up on all labelled samples, or let each head pick what the other one learns from."""
        if epoch < self.settings.warmup_epochs:
            return [whole_set("warm-up", self.labels)]
        logits, odds = survey(self._describe)
        labels = self.labels.to(logits.device)
        small_loss = self._small_loss(logits, labels)
        clean = select_agreeing(odds, labels) | small_loss
        if int(clean.sum()) < 2:
            warn_nothing_is_clean(epoch, "raise settings.small_loss_share")
            return [whole_set("warm-up", self.labels)]
        self.partition = self._partition(clean, logits, odds.sigmoid(), labels)
        probabilities = F.softmax(logits, dim=1)
        confident = select_confident(probabilities, labels, self.settings.confidence) | small_loss
        return [self._phase(clean, confident)]

    def _describe(self, images: Tensor) -> tuple[Tensor, Tensor]:
        """Return logits of the classifier and log odds of the bank; their order is that of the probabilities."""
        logits, binary = self._heads(images)
        return logits, log_odds(binary)

    def _small_loss(self, logits: Tensor, labels: Tensor) -> Tensor:
        losses = F.cross_entropy(logits, labels.clamp_min(0), reduction="none")
        return select_small_loss(losses, labels, self.settings.small_loss_share)

    def _partition(self, clean: Tensor, logits: Tensor, positives: Tensor, labels: Tensor) -> Partition:
        """Of what is not clean, the samples whose predicted class is denied by its binary classifier are open."""
        predicted = logits.argmax(dim=1)
        denied = positives.gather(1, predicted[:, None]).squeeze(1) < 0.5
        corrected = torch.where(clean, labels, predicted)
        weights = positives.gather(1, corrected[:, None]).squeeze(1)
        return Partition(clean, ~clean & ~denied, ~clean & denied, weights, corrected)

    def _phase(self, clean: Tensor, confident: Tensor) -> Phase:
        """Return clean samples and the rest in two weak views, confident ones in one; batches are halved."""
        twice = ("weak", "weak")
        streams = {
            "clean": Stream(members(clean), twice, 0.5),
            "rest": Stream(members(~clean), twice, 0.5),
            "confident": Stream(members(confident), ("weak",), 0.5),
        }
        return Phase("train", streams, lead=int(clean.sum()), share=0.5, steps=self.settings.iterations)

    # Once a step

    def step(self, phase: str, batches: dict[str, Batch], clock: Clock, random: torch.Generator) -> dict[str, Term]:
        """Return the MixMatch terms of the classifier, few negatives for the bank, and the rotation task."""
        settings = self.settings
        if phase == "warm-up":
            return self._warmup_terms(batches["all"], random)
        clean, rest = batches["clean"], batches.get("rest")
        terms = {}
        if settings.rotation_weight:
            # First, so that upright images weigh most in the running statistics of batch normalisation.
            terms["rotation"] = Term(self._rotation_loss(clean.views[0]), settings.rotation_weight)
            if rest is not None:
                terms["rotation_rest"] = Term(self._rotation_loss(rest.views[0]), settings.rotation_weight)
        terms |= self._mixed_terms(clean, rest, clock, random)
        if "confident" in batches:
            terms["binary"] = Term(self._bank_loss(batches["confident"], random), settings.binary_weight)
        return terms

    def _warmup_terms(self, batch: Batch, random: torch.Generator) -> dict[str, Term]:
        """Return cross-entropy, the bank with random negatives, the rotation task, and the confidence penalty."""
        settings = self.settings
        terms = {}
        if settings.rotation_weight:
            terms["rotation"] = Term(self._rotation_loss(batch.views[0]), settings.rotation_weight)
        logits, binary = self._heads(batch.views[0])
        terms["binary"] = Term(random_negative_bank(binary, batch.labels, random), settings.binary_weight)
        return terms | warmup_terms(logits, batch.labels, confidence_penalty=settings.confidence_penalty)

    def _mixed_terms(self, clean: Batch, rest: Batch | None, clock: Clock, random: torch.Generator) -> dict[str, Term]:
        """Return the MixMatch terms on refined targets of clean samples and guessed targets of the rest."""
        settings = self.settings
        targets = self._refined(clean)
        views: Sequence[Tensor] = ()
        guesses = targets[:0]
        if rest is not None:
            views = rest.views
            guesses = guess(mean_probabilities([self._logits], views), settings.sharpening)
        rise = ramp(clock, settings.warmup_epochs, settings.ramp_epochs)
        return mix_match_terms(
            self._logits,
            clean.views,
            targets,
            views,
            guesses,
            concentration=settings.mixup,
            unlabelled_weight=rise * settings.unlabelled_weight,
            random=random,
        )

    @torch.no_grad()
    def _refined(self, batch: Batch) -> Tensor:
        """Return the targets ``(B, C)`` of clean samples; the bank's strongest class says how far to trust labels."""
        count = len(batch.views)
        logits, binary = self._heads(torch.cat(batch.views))
        trust = positive_probabilities(binary).amax(dim=1).unflatten(0, (count, -1)).mean(dim=0)
        predicted = F.softmax(logits, dim=1).unflatten(0, (count, -1)).mean(dim=0)
        return refine(one_hot(batch.labels, logits.shape[1]), trust, predicted, self.settings.sharpening)

    def _bank_loss(self, batch: Batch, random: torch.Generator) -> Tensor:
        logits, binary = self._heads(batch.views[0])
        if self.settings.negatives == "random":
            return random_negative_bank(binary, batch.labels, random)
        return hard_negative_bank(binary, batch.labels, logits, random)

    def _rotation_loss(self, images: Tensor) -> Tensor:
        """Return cross-entropy of telling by how many quarter turns an image was rotated, ``(B, ...) -> (4 B,)``."""
        if images.shape[-1] != images.shape[-2]:
            raise ConfigError("the rotation task needs square images; switch it off with settings.rotation_weight=0")
        turned = torch.cat([images.rot90(turns, (-2, -1)) for turns in range(4)])
        turns = torch.arange(4, device=images.device).repeat_interleave(len(images))
        return F.cross_entropy(self.rotation(self.net(turned).features).float(), turns, reduction="none")

    def _heads(self, images: Tensor) -> tuple[Tensor, Tensor]:
        """Return the classifier's logits ``(B, C)`` and the bank's ``(B, C, 2)``, in float32."""
        out = self.net(images)
        return out.logits.float(), self._binary(out.features)

    def _binary(self, features: Tensor) -> Tensor:
        logits: Tensor = self.bank(features).float().unflatten(1, (-1, 2))
        return logits

    def _logits(self, images: Tensor) -> Tensor:
        logits: Tensor = self.net(images).logits
        return logits

    # At inference

    def predict(self, images: Tensor) -> Prediction:
        """Return the mean of both heads' distributions; foreign scores are the bank's denial of the predicted class."""
        out = self.net(images)
        logits, binary = out.logits.float(), self._binary(out.features)
        by_bank = F.softmax(positive_probabilities(binary), dim=1)
        probabilities = (F.softmax(logits, dim=1) + by_bank) / 2
        denials = negative_probabilities(binary).gather(1, logits.argmax(dim=1, keepdim=True)).squeeze(1)
        return Prediction(probabilities, denials, out.features.float(), logits)
