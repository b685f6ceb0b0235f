"""Two networks that divide the samples into labelled and unlabelled ones: what DivideMix and UNICON share."""

from __future__ import annotations

import warnings
from abc import ABC, abstractmethod
from dataclasses import dataclass

import torch
from torch import Tensor

from lond.errors import ConfigError
from lond.methods.base import Task
from lond.methods.classifiers import ClassifierSettings, PairMethod, build_classifier, members, one_hot
from lond.methods.mix_match import Logits, guess, mean_probabilities, mix_match_terms, ramp, refine, warmup_terms
from lond.nets.classifier import Classifier
from lond.types import Batch, Clock, Epochs, Phase, Stream, Term

SHARE = 0.5
"""Labelled samples of a semi-supervised step, as a share of the run's batch size (which the warm-up uses in full)."""


@dataclass(frozen=True)
class SemiSupervisedPairSettings(ClassifierSettings):
    """Warm-up and MixMatch; the published values for CIFAR-100."""

    warmup_epochs: Epochs = 30
    confidence_penalty: bool = False
    """Add the negative entropy of the predictions to the warm-up loss (for asymmetric noise)."""
    sharpening: float = 0.5
    """T of the targets."""
    mixup: float = 4.0
    """Concentration of the Beta distribution; 0 = no mixing."""
    unlabelled_weight: float = 25.0
    """lambda_u; 0 = unlabelled samples are mixing partners only."""
    ramp_epochs: Epochs = 16
    """Epochs after warm-up over which ``unlabelled_weight`` rises from 0; 0 = at once."""

    def __post_init__(self) -> None:
        """Check that lengths and weights are not negative and sharpening is positive."""
        super().__post_init__()
        if self.warmup_epochs < 0 or self.ramp_epochs < 0:
            raise ConfigError("warmup_epochs and ramp_epochs must not be negative")
        if self.sharpening <= 0:
            raise ConfigError("sharpening must be positive")
        if self.mixup < 0 or self.unlabelled_weight < 0:
            raise ConfigError("mixup and unlabelled_weight must not be negative (0 switches them off)")


class SemiSupervisedPair(PairMethod, ABC):
    """One network at a time learns from a labelled and an unlabelled set, with the help of its resting peer.

    The first two views of a sample make its target, the last two are mixed.
    """

    views: tuple[str, ...]

    def __init__(self, settings: SemiSupervisedPairSettings, task: Task) -> None:
        """Build the networks."""
        super().__init__(build_classifier(settings, task) for _ in range(2))
        self.settings = settings
        self.labels = task.labels
        self.num_classes = task.num_classes

    @abstractmethod
    def trust(self, phase: str) -> Tensor:
        """Return the belief ``(N,)`` in the given labels that holds in a phase."""

    def divided_phase(self, name: str, labelled: Tensor, unlabelled_share: float = SHARE) -> Phase:
        """Return one walk through the labelled samples of a mask ``(N,)``, with all others as unlabelled ones."""
        streams = {"labelled": Stream(members(labelled), self.views, SHARE)}
        if not labelled.all():
            streams["unlabelled"] = Stream(members(~labelled), self.views, unlabelled_share)
        return Phase(name, streams, lead=int(labelled.sum()), share=SHARE)

    def step(self, phase: str, batches: dict[str, Batch], clock: Clock, random: torch.Generator) -> dict[str, Term]:
        """Return cross-entropy in warm-up, MixMatch later."""
        own, peer = self.own_and_peer(phase)
        if phase.startswith("warm-up"):
            batch, penalty = batches["all"], self.settings.confidence_penalty
            return warmup_terms(own(batch.views[0]).logits.float(), batch.labels, confidence_penalty=penalty)
        labelled, unlabelled = batches["labelled"], batches.get("unlabelled")
        targets = self._targets(own, labelled, self.trust(phase))
        weight = self.settings.unlabelled_weight * ramp(clock, self.settings.warmup_epochs, self.settings.ramp_epochs)
        return mix_match_terms(
            logits_of(own),
            labelled.views[-2:],
            targets,
            unlabelled.views[-2:] if unlabelled is not None else (),
            self._guesses(own, peer, unlabelled) if unlabelled is not None else targets[:0],
            concentration=self.settings.mixup,
            unlabelled_weight=weight,
            random=random,
        )

    def _targets(self, own: Classifier, batch: Batch, trust: Tensor) -> Tensor:
        """Return co-refined targets: the given label, blended with the network's own mean prediction, sharpened."""
        own_view = mean_probabilities([logits_of(own)], batch.views[:2])
        given = one_hot(batch.labels, self.num_classes)
        return refine(given, trust[batch.indices], own_view, self.settings.sharpening)

    def _guesses(self, own: Classifier, peer: Classifier, batch: Batch) -> Tensor:
        """Return co-guessed targets: the mean prediction of both networks, sharpened."""
        common_view = mean_probabilities([logits_of(own), logits_of(peer)], batch.views[:2])
        return guess(common_view, self.settings.sharpening)


def logits_of(net: Classifier) -> Logits:
    """Return the map from images to a network's logits."""

    def logits(images: Tensor) -> Tensor:
        found: Tensor = net(images).logits
        return found

    return logits


def warn_nothing_is_clean(epoch: int, remedy: str) -> None:
    """Say that an epoch becomes another warm-up epoch."""
    warnings.warn(
        f"epoch {epoch}: fewer than two samples are judged clean; warming up for another epoch. If this persists, "
        f"lower optimiser.learning_rate, add epochs, or {remedy}",
        stacklevel=3,
    )
