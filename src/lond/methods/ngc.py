"""NGC: Noisy Graph Cleaning (Wu et al., ICCV 2021, arXiv 2108.11035).

A neighbour graph of all samples corrects labels and finds out what hangs together. Where the paper and its released
program differ, docs/methods/ngc.md says which reading is followed.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from lond.detect import msp_score
from lond.detect.ngc_prototype import ngc_prototype_score, ngc_prototypes
from lond.errors import ConfigError
from lond.identify import Neighbours, largest_components, nearest_neighbours, neighbour_graph, propagate_labels
from lond.losses import draw_mix, instance_contrastive, mix_inputs, soft_cross_entropy, subgraph_contrastive
from lond.methods.base import Cost, Survey, Task
from lond.methods.classifiers import ClassifierSettings, SingleMethod, build_classifier, one_hot, whole_set
from lond.types import Batch, Clock, Epochs, Partition, Phase, Prediction, Stream, Term


@dataclass(frozen=True)
class NgcSettings(ClassifierSettings):
    """Settings of NGC; the published values for CIFAR-100 with open-set noise. A weight of 0 switches its term off.

    Examples:
        >>> NgcSettings().warmup_epochs
        30
    """

    head: Literal["mlp", "linear"] = "linear"
    warmup_epochs: Epochs = 30
    neighbours: int | None = None
    """k of the graph, at most all other samples; None = two per class (200 for CIFAR-100, as published).

    With more the samples of one given label hang together whatever they show, and no label is ever corrected.
    """
    eta_low: float | None = None
    """Belief above which a given label is plausible enough to stay; None = 1 / number of classes."""
    eta_high: float = 0.8
    """Belief above which a label is trusted."""
    ensemble_memory: float = 0.6
    """How much of the averaged logits stays from one epoch to the next."""
    propagation: float = 0.5
    """How far labels travel on the graph, in [0, 1)."""
    similarity_power: float = 3.0
    mixup: float = 8.0
    """Concentration of the Beta distribution (0.5 for web data; 0 = no mixup)."""
    mix_both_views: bool = True
    """Mix weak and strong views (CIFAR) or weak ones alone (web data)."""
    temperature: float = 0.3
    """t of the instance loss."""
    subgraph_temperature: float = 1.0
    """t of the subgraph loss."""
    instance_weight: float = 1.0
    subgraph_weight: float = 1.0
    embedding_size: int = 64

    def __post_init__(self) -> None:
        """Check that weights are not negative, counts are positive, and thresholds and memories lie in [0, 1)."""
        super().__post_init__()
        if self.warmup_epochs < 0 or self.mixup < 0 or min(self.instance_weight, self.subgraph_weight) < 0:
            raise ConfigError("warmup_epochs, mixup, instance_weight and subgraph_weight must not be negative")
        if (self.neighbours is not None and self.neighbours < 1) or self.embedding_size < 1:
            raise ConfigError("neighbours and embedding_size must be at least 1")
        if not 0 <= self.eta_high < 1 or not 0 <= (self.eta_low or 0) < 1:
            raise ConfigError("eta_low and eta_high must lie in [0, 1)")
        if not 0 <= self.ensemble_memory < 1 or not 0 <= self.propagation < 1:
            raise ConfigError("ensemble_memory and propagation must lie in [0, 1)")
        if min(self.temperature, self.subgraph_temperature, self.similarity_power) <= 0:
            raise ConfigError("temperature, subgraph_temperature and similarity_power must be positive")


class Ngc(SingleMethod):
    """NGC: correct labels on a neighbour graph, and learn from the largest component of each class.

    Foreign score = 1 - the largest cosine with a class prototype. The prototypes are the mean embeddings of the kept
    samples at the start of the epoch.

    Examples:
        >>> from lond import preset
        >>> preset("digits", Ngc).method
        'ngc'
    """

    settings_class = NgcSettings
    cost = Cost(2.3, 13, searches=2.0)

    prototypes: Tensor
    has_prototype: Tensor

    def __init__(self, settings: NgcSettings, task: Task) -> None:
        """Build the network with its projection."""
        super().__init__()
        self.settings, self.labels, self.num_classes = settings, task.labels, task.num_classes
        self.net = build_classifier(settings, task)
        self.projection = nn.Linear(self.net.penultimate_size, settings.embedding_size)
        self.register_buffer("prototypes", torch.zeros(task.num_classes, settings.embedding_size))
        self.register_buffer("has_prototype", torch.zeros(task.num_classes, dtype=torch.bool))
        self.averaged_logits = torch.zeros(len(task.labels), task.num_classes)

    # Once an epoch

    def before_epoch(self, epoch: int, survey: Survey) -> list[Phase]:
        """Clean the labels, also during warm-up; renew the prototypes."""
        logits, embeddings = survey(self._describe)
        labels = self.labels.to(logits.device)
        partition = self._clean(epoch, logits, embeddings)
        trusted = not partition.open.all()
        if trusted:
            self.partition = partition
        if epoch < self.settings.warmup_epochs or not trusted:
            if epoch >= self.settings.warmup_epochs:
                self._warn(epoch)
            self._set_prototypes(embeddings, labels, labels >= 0)
            views = ("weak", "strong") if self.settings.mix_both_views else ("weak",)
            return [whole_set("warm-up", self.labels, views)]
        self._set_prototypes(embeddings, partition.corrected, ~partition.open)
        return [Phase("robust", {"all": Stream(torch.arange(len(labels)))}, lead=len(labels))]

    def _warn(self, epoch: int) -> None:
        warnings.warn(
            f"epoch {epoch}: no corrected label is trusted; warming up for another epoch. If this persists, add epochs "
            "or lower settings.eta_high",
            stacklevel=3,
        )

    def _describe(self, images: Tensor) -> tuple[Tensor, Tensor]:
        """Return logits and embeddings of a batch."""
        out = self.net(images)
        return out.logits.float(), self._embed(out.features)

    def _embed(self, features: Tensor) -> Tensor:
        """Return unit embeddings ``(B, E)`` in float32."""
        return F.normalize(self.projection(features).float(), dim=1)

    @torch.no_grad()
    def _clean(self, epoch: int, logits: Tensor, embeddings: Tensor) -> Partition:
        """Correct labels on the graph, then select by geometry."""
        labels = self.labels.to(logits.device)
        near = nearest_neighbours(embeddings, self.settings.neighbours or 2 * self.num_classes, include_self=False)
        beliefs = self._beliefs(near, self._ensemble(epoch, logits), labels)
        weights, hard = beliefs.max(dim=1)
        kept = largest_components(near.indices, hard, weights > self.settings.eta_high)
        unchanged = hard == labels
        return Partition(kept & unchanged, kept & ~unchanged, ~kept, weights * kept, hard)

    def _ensemble(self, epoch: int, logits: Tensor) -> Tensor:
        """Return softmax probabilities ``(N, C)`` of the logits' average over epochs, freed of its start from zero."""
        memory = self.settings.ensemble_memory
        self.averaged_logits = torch.lerp(logits, self.averaged_logits.to(logits.device), memory)
        return F.softmax(self.averaged_logits / (1 - memory ** (epoch + 1)), dim=1)

    def _beliefs(self, near: Neighbours, probabilities: Tensor, labels: Tensor) -> Tensor:
        """Return the belief ``(N, C)`` in every label: propagated, but the given label alone where it is plausible."""
        settings = self.settings
        start = start_labels(probabilities, labels, self.partition)
        beliefs = propagate_labels(neighbour_graph(near, settings.similarity_power), start, settings.propagation)
        beliefs = torch.where(beliefs.sum(dim=1, keepdim=True) > 0, beliefs, probabilities)
        eta_low = 1 / self.num_classes if settings.eta_low is None else settings.eta_low
        return keep_plausible(beliefs, labels, eta_low)

    @torch.no_grad()
    def _set_prototypes(self, embeddings: Tensor, labels: Tensor, trusted: Tensor) -> None:
        """Set each prototype to the unit mean of its trusted samples; a class without any keeps its old one."""
        classes = labels[trusted].unique()
        self.prototypes[classes] = ngc_prototypes(embeddings[trusted], labels[trusted])
        self.has_prototype[classes] = True

    # Once a step

    def step(self, phase: str, batches: dict[str, Batch], clock: Clock, random: torch.Generator) -> dict[str, Term]:
        """Return mixup cross-entropy of kept samples (in warm-up: of all, with given labels), and both contrasts."""
        batch = batches["all"]
        if phase == "warm-up":
            return {"mixup": Term(self._mixed_loss(batch.views, batch.labels, random))}
        assert self.partition is not None
        labels, kept = self.partition.corrected[batch.indices], ~self.partition.open[batch.indices]
        terms = self._contrasts(batch.views, labels, kept)
        views = batch.views if self.settings.mix_both_views else batch.views[:1]
        if len(views) * int(kept.sum()) > 1:
            mixed = self._mixed_loss([view[kept] for view in views], labels[kept], random)
        else:
            # Nothing to learn, but every process needs a gradient of every parameter.
            mixed = (self.net(torch.cat(batch.views)).logits.float() * 0).sum(dim=1)
        return {**terms, "mixup": Term(mixed)}

    def _contrasts(self, views: tuple[Tensor, ...], labels: Tensor, kept: Tensor) -> dict[str, Term]:
        """Return the instance and subgraph terms; the weak views are the anchors."""
        settings = self.settings
        if not settings.instance_weight and not settings.subgraph_weight:
            return {}
        first, second = self._embed(self.net(torch.cat(views)).features).chunk(2)
        terms = {}
        if settings.instance_weight:
            losses = instance_contrastive(first, second, settings.temperature)
            terms["instance"] = Term(losses, settings.instance_weight)
        if settings.subgraph_weight:
            losses = subgraph_contrastive(first, second, labels, kept, settings.subgraph_temperature)
            terms["subgraph"] = Term(losses, settings.subgraph_weight)
        return terms

    def _mixed_loss(self, views: Sequence[Tensor], labels: Tensor, random: torch.Generator) -> Tensor:
        """Return the cross-entropy of all views, mixed with one draw that is not folded to at least one half."""
        images, targets = torch.cat(list(views)), one_hot(labels, self.num_classes).repeat(len(views), 1)
        mix = draw_mix(len(images), self.settings.mixup, random, fold=False)
        return soft_cross_entropy(self.net(mix_inputs(images, mix)).logits, mix_inputs(targets, mix))

    # At inference

    def predict(self, images: Tensor) -> Prediction:
        """Return softmax probabilities; cosine distance to the nearest prototype, or 1 - their maximum without one."""
        out = self.net(images)
        logits = out.logits.float()
        # No branch, as an exported graph has none: a class without a prototype takes that of another class.
        one = self.prototypes.index_select(0, self.has_prototype.int().argmax(dim=0, keepdim=True))
        prototypes = torch.where(self.has_prototype[:, None], self.prototypes, one)
        nearest = ngc_prototype_score(self._embed(out.features), prototypes)
        scores = torch.where(self.has_prototype.any(), nearest, msp_score(logits))
        return Prediction(F.softmax(logits, dim=1), scores, out.features.float(), logits)

    def extra_state(self) -> dict[str, Any]:
        """Add the averaged logits; the kept samples and their labels are the partition's."""
        return {**super().extra_state(), "averaged_logits": self.averaged_logits}

    def load_extra_state(self, state: dict[str, Any]) -> None:
        """Restore what ``extra_state`` gave."""
        super().load_extra_state(state)
        self.averaged_logits = state["averaged_logits"]


def start_labels(probabilities: Tensor, labels: Tensor, last: Partition | None) -> Tensor:
    """Return what is propagated, ``(N, C)``.

    Before anything was kept: the given labels, one-hot, and nothing for unlabelled samples. Later the averaged
    predictions, but the corrected label, one-hot, of samples that were kept last time.

    Args:
        probabilities: ``(N, C)`` averaged predictions.
        labels: ``(N,)`` given labels; negative = unlabelled.
        last: what was judged last time.
    """
    classes = probabilities.shape[1]
    if last is None:
        return one_hot(labels.clamp_min(0), classes) * (labels >= 0)[:, None]
    last = last.to(probabilities.device)
    return torch.where(last.open[:, None], probabilities, one_hot(last.corrected, classes))


def keep_plausible(beliefs: Tensor, labels: Tensor, eta_low: float) -> Tensor:
    """Return beliefs ``(N, C)``, one-hot at the given label ``(N,)`` where its own belief exceeds ``eta_low``."""
    given = labels.clamp_min(0)
    plausible = (labels >= 0) & (beliefs.gather(1, given[:, None]).squeeze(1) > eta_low)
    return torch.where(plausible[:, None], one_hot(given, beliefs.shape[1]), beliefs)
