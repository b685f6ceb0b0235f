"""NCE: labels are verified and corrected by neighbours; two networks split the data for each other."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor

from lond.errors import ConfigError
from lond.identify import correct_labels, verify_labels
from lond.methods.base import Cost, Survey, Task
from lond.methods.classifiers import NETS, ClassifierSettings, PairMethod, build_classifier, members, one_hot
from lond.methods.mix_match import Logits, mean_probabilities, mix_match_terms, refine, warmup_terms
from lond.methods.semi_supervised_pair import logits_of, warn_nothing_is_clean
from lond.nets.classifier import ClassifierOutput
from lond.types import Batch, Clock, Epochs, Partition, Phase, Stream, Term


@dataclass(frozen=True)
class NceSettings(ClassifierSettings):
    """Settings of NCE; the published values for CIFAR-100.

    Examples:
        >>> NceSettings().warmup_epochs
        30
    """

    warmup_epochs: Epochs = 30
    neighbours: int = 20
    """K, neighbours that verify and correct a label."""
    verify_threshold: float = 0.9
    """theta_ver: a label is trusted if the neighbours' mean divergence from it is smaller."""
    correct_threshold: float = 0.01
    """theta_cor: a correction is used if the prediction's mean divergence from the neighbours' labels is no larger;
    0 = no correction."""
    pool_trust: float = 0.5
    """Trust (1 - divergence) above which a clean sample may correct others."""
    pool_per_neighbour: int = 10
    """Labels are corrected only if the pool holds more than this many samples for each of the K neighbours."""
    sharpening: float = 0.5
    """T of the refined targets."""
    mixup: float = 4.0
    """Concentration of the Beta distribution (0 = no mixing)."""
    strong_labelled: bool = False
    """Whether the strong views of clean samples join the consistency term."""
    confidence_penalty: bool = False
    """Add the negative entropy of the predictions to the warm-up loss (for asymmetric noise)."""

    def __post_init__(self) -> None:
        """Check that counts are not negative, and thresholds and trust lie in their ranges."""
        super().__post_init__()
        if self.warmup_epochs < 0 or self.neighbours < 1 or self.pool_per_neighbour < 0:
            raise ConfigError("warmup_epochs and pool_per_neighbour must not be negative, neighbours at least 1")
        if not 0 < self.verify_threshold <= 1 or not 0 <= self.correct_threshold <= 1:
            raise ConfigError("verify_threshold must lie in (0, 1], correct_threshold in [0, 1]")
        if not 0 <= self.pool_trust < 1:
            raise ConfigError("pool_trust must lie in [0, 1)")
        if self.sharpening <= 0 or self.mixup < 0:
            raise ConfigError("sharpening must be positive, mixup not negative")


@dataclass(frozen=True)
class LabelDivision:
    """What one network trains on, all ``(N,)``: which labels are clean, how far each is trusted, and corrections.

    ``pseudo`` is the label of a sample that is not clean, used where ``kept``; ``belief`` says how sure it is.
    """

    clean: Tensor
    trust: Tensor
    pseudo: Tensor
    kept: Tensor
    belief: Tensor


class Nce(PairMethod):
    """NCE: two networks, each trained on labels that the other one's neighbours confirm, and on corrected ones.

    Examples:
        >>> from lond import preset
        >>> preset("digits", Nce).method
        'nce'
    """

    settings_class = NceSettings
    cost = Cost(2, 9, searches=2.5, width=640, neighbours=20)

    def __init__(self, settings: NceSettings, task: Task) -> None:
        """Build two networks of different initial weights."""
        super().__init__(build_classifier(settings, task) for _ in NETS)
        self.settings = settings
        self.labels = task.labels
        self.division: LabelDivision | None = None

    # Once an epoch

    def before_epoch(self, epoch: int, survey: Survey) -> Iterator[Phase]:
        """Warm up, or verify with both networks, and correct anew before each of them trains."""
        if epoch < self.settings.warmup_epochs:
            yield from self.warmup_phases(self.labels)
            return
        *outputs, features, probabilities = survey(self._describe_all)
        doubts = [self._doubts(*outputs[:2]), self._doubts(*outputs[2:])]
        if min(int((doubt < self.settings.verify_threshold).sum()) for doubt in doubts) < 2:
            warn_nothing_is_clean(epoch, "raise settings.verify_threshold")
            yield from self.warmup_phases(self.labels)
            return
        self.partition = self._partition(torch.stack(doubts).mean(dim=0), features, probabilities)
        for name, doubt in zip(NETS, reversed(doubts), strict=True):
            if name == NETS[1]:
                # Doubts stay as they were, but corrections follow the first network, which has moved.
                features, probabilities = survey(self._describe_together)
            self.division = self._divide(doubt, features, probabilities)
            yield self._phase(name, self.division)

    def _describe_all(self, images: Tensor) -> tuple[Tensor, ...]:
        """Return unit features and probabilities of either network, then of both together."""
        outputs: list[ClassifierOutput] = [net(images) for net in self.nets]
        alone = [part for out in outputs for part in _described(out.features, out.logits)]
        return (*alone, *_together(outputs))

    def _describe_together(self, images: Tensor) -> tuple[Tensor, ...]:
        """Return unit features and probabilities of both networks together."""
        return _together([net(images) for net in self.nets])

    def _doubts(self, features: Tensor, probabilities: Tensor) -> Tensor:
        """Return how far the neighbours' predictions are from each label, ``(N,)``."""
        labels = self.labels.to(probabilities.device)
        return verify_labels(features, probabilities, labels, self.settings.neighbours)

    def _divide(self, doubts: Tensor, features: Tensor, probabilities: Tensor) -> LabelDivision:
        """Split by the doubts, and correct what is not clean by its trusted neighbours."""
        settings, labels = self.settings, self.labels.to(doubts.device)
        clean, trust = doubts < settings.verify_threshold, (1 - doubts).clamp(0, 1)
        belief, pseudo = probabilities.max(dim=1)
        division = LabelDivision(clean, trust, pseudo, torch.zeros_like(clean), belief)
        pool = clean & (trust > settings.pool_trust)
        enough = int(pool.sum()) > settings.pool_per_neighbour * settings.neighbours
        if not settings.correct_threshold or not enough or clean.all():
            return division
        found = correct_labels(
            features[~clean], probabilities[~clean], features[pool], labels[pool], settings.neighbours
        )
        pseudo[~clean], belief[~clean] = found.labels, (1 - found.divergences).clamp(0, 1)
        division.kept[~clean] = found.divergences <= settings.correct_threshold
        return division

    def _partition(self, doubts: Tensor, features: Tensor, probabilities: Tensor) -> Partition:
        """Judge by both networks' mean doubt: clean, closed if a correction is used, else open.

        While nothing is corrected, all that is not clean counts as closed, with the networks' own prediction.
        """
        division = self._divide(doubts, features, probabilities)
        clean, any_kept = division.clean, division.kept.any()
        given = self.labels.to(clean.device)
        return Partition(
            clean,
            ~clean & (division.kept | ~any_kept),
            ~clean & ~division.kept & any_kept,
            torch.where(clean, division.trust, division.belief),
            torch.where(clean, given, division.pseudo),
        )

    def _phase(self, name: str, division: LabelDivision) -> Phase:
        """Return clean samples in two weak views (and a strong one if asked for), the others in a strong view."""
        clean, rest = members(division.clean), members(~division.clean)
        strong = ("strong",) if self.settings.strong_labelled else ()
        streams = {"clean": Stream(clean, ("weak", "weak", *strong), 0.5), "rest": Stream(rest, ("strong",), 0.5)}
        return Phase(name, streams, lead=max(len(clean), len(rest)), share=0.5)

    # Once a step

    def step(self, phase: str, batches: dict[str, Batch], clock: Clock, random: torch.Generator) -> dict[str, Term]:
        """Return MixMatch on clean samples and cross-entropy on strong views of corrected ones, or the warm-up loss."""
        own, _ = self.own_and_peer(phase)
        if "all" in batches:
            batch, penalty = batches["all"], self.settings.confidence_penalty
            return warmup_terms(own(batch.views[0]).logits.float(), batch.labels, confidence_penalty=penalty)
        assert self.division is not None
        terms = self._mixed_terms(logits_of(own), batches["clean"], self.division, random)
        if "rest" in batches or self.settings.strong_labelled:
            consistency = self._consistency(logits_of(own), batches["clean"], batches.get("rest"), self.division)
            terms["consistency"] = Term(consistency)
        return terms

    def _mixed_terms(
        self, network: Logits, clean: Batch, division: LabelDivision, random: torch.Generator
    ) -> dict[str, Term]:
        """Return soft cross-entropy on refined targets of mixed weak views, and the prior penalty."""
        weak = clean.views[:2]
        predicted = mean_probabilities([network], weak)
        given = one_hot(clean.labels, predicted.shape[1])
        targets = refine(given, division.trust[clean.indices], predicted, self.settings.sharpening)
        return mix_match_terms(
            network,
            weak,
            targets,
            unlabelled=(),
            guesses=targets[:0],
            concentration=self.settings.mixup,
            unlabelled_weight=0.0,
            random=random,
        )

    def _consistency(self, network: Logits, clean: Batch, rest: Batch | None, division: LabelDivision) -> Tensor:
        """Return cross-entropy of strong views with corrected labels; 0, but counted, where no correction is used."""
        views, labels, used = [], [], []
        if rest is not None:
            views.append(rest.views[0])
            labels.append(division.pseudo[rest.indices])
            used.append(division.kept[rest.indices])
        if self.settings.strong_labelled:
            views.append(clean.views[2])
            labels.append(clean.labels)
            used.append(torch.ones_like(clean.labels, dtype=torch.bool))
        losses = F.cross_entropy(network(torch.cat(views)).float(), torch.cat(labels), reduction="none")
        return losses * torch.cat(used)


def _described(features: Tensor, logits: Tensor) -> tuple[Tensor, Tensor]:
    """Return unit features and probabilities, in float32."""
    return F.normalize(features.float(), dim=1), F.softmax(logits.float(), dim=1)


def _together(outputs: list[ClassifierOutput]) -> tuple[Tensor, Tensor]:
    """Return the unit sum of the features, and the softmax of the summed logits."""
    features = torch.stack([out.features.float() for out in outputs]).sum(dim=0)
    return _described(features, torch.stack([out.logits.float() for out in outputs]).sum(dim=0))
