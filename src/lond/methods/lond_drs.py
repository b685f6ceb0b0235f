"""LOND-DRS: learning with open-world noisy data by class-independent margins in dual representation space.

Pan, Gao, Zhou, Wang, AAAI 2025. Equation numbers are the paper's. Where the paper and its released program differ, the
settings say which reading is the default (docs/methods/lond_drs.md lists all points).
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from lond.detect import mls_score, open_world_score
from lond.identify import identify
from lond.losses import (
    Mix,
    draw_mix,
    log_odds,
    mix_inputs,
    mix_losses,
    mixed_bi_level_contrastive,
    negative_probabilities,
    one_vs_all,
    one_vs_all_consistency,
    positive_probabilities,
    prototype_logits,
    pseudo_label_distance,
    refined_targets,
    soft_cross_entropy,
    voted_targets,
)
from lond.methods.base import Cost, Method, Survey, Task
from lond.methods.classifiers import ClassifierSettings, build_classifier
from lond.methods.for_detectors import OpenedDual
from lond.methods.lond_drs_settings import LondDrsSettings
from lond.nets.classifier import Classifier
from lond.nets.dual import DualNet, DualOutput
from lond.types import Batch, Clock, Partition, Phase, Prediction, Stream, Term


class LondDrs(Method):
    """LOND-DRS (Algorithm 1): warm up, then identify clean, closed-set and open-set samples in every epoch.

    Examples:
        >>> from lond import preset
        >>> preset("digits", LondDrs).method
        'lond-drs'
    """

    settings_class = LondDrsSettings
    cost = Cost(2.2, 11, searches=1.2)

    def __init__(self, settings: LondDrsSettings, task: Task) -> None:
        """Build the two-space network."""
        super().__init__()
        self.settings = settings
        self.labels = task.labels
        self._as_released = settings.details == "released"
        self.surveyed: tuple[Tensor, Tensor] | None = None
        backbone, feature_size = task.build_backbone()
        self.net = DualNet(backbone, feature_size, task.num_classes, settings.embedding_size)
        if self._as_released:
            self.net.start_heads()
        self.witness = build_classifier(ClassifierSettings("linear"), task) if settings.witness else None

    # Once an epoch

    def before_epoch(self, epoch: int, survey: Survey) -> list[Phase]:
        """Warm-up walks through all labelled samples; later epochs start with an identification."""
        if epoch < self.settings.warmup_epochs:
            if self.settings.warmup_prototype_weight and not self.net.prototypes_ready:
                embeddings, _ = survey(self._describe)
                self._start_prototypes(embeddings, self.labels >= 0)
            return self._warmup_phases()
        if self.partition is not None and (epoch - self.settings.warmup_epochs) % self.settings.savings.identify_every:
            return [self._robust_phase(self.partition)]
        embeddings, positives = survey(self._describe)
        labels, by = self.labels.to(positives.device), self.settings.identify
        partition = identify(labels, positives, embeddings, by, clip_weights=not self._as_released)
        if not partition.clean.any():
            # Happens on small sets after a short warm-up, while the network still favours a few classes.
            return self._warmup_again(epoch)
        self.partition = partition
        if self.settings.savings.survey_targets:
            self.surveyed = embeddings, positives
        if not self.net.prototypes_ready:
            self._start_prototypes(embeddings, self.partition.clean)
        return [self._robust_phase(self.partition)]

    def _warmup_phases(self) -> list[Phase]:
        labelled = (self.labels >= 0).nonzero().squeeze(1)
        return [Phase("warm-up", {"all": Stream(labelled)}, lead=len(labelled))]

    def _warmup_again(self, epoch: int) -> list[Phase]:
        warnings.warn(
            f"epoch {epoch}: no sample is judged clean: the neighbours agree with the labels of too few classes; "
            "warming up for another epoch. If this persists, lower optimiser.learning_rate, add epochs, or raise "
            "settings.identify.clean_quantile",
            stacklevel=2,
        )
        return self._warmup_phases()

    def _describe(self, images: Tensor) -> tuple[Tensor, Tensor]:
        """Return embedding and one-vs-all positives of a batch."""
        out: DualOutput = self.net(images)
        return out.embedding, positive_probabilities(out.ova_logits)

    def _start_prototypes(self, embeddings: Tensor, trusted: Tensor) -> None:
        """Set each prototype to the mean embedding of its trusted samples (of all its samples if none is trusted)."""
        labels, trusted = self.labels.to(embeddings.device), trusted.to(embeddings.device)
        means = torch.empty_like(self.net.prototypes)
        for label in range(len(means)):
            members = labels == label
            chosen = members & trusted if (members & trusted).any() else members
            means[label] = embeddings[chosen].mean(dim=0) if chosen.any() else embeddings.mean(dim=0)
        self.net.set_prototypes(means if self._as_released else F.normalize(means, dim=1))

    def _robust_phase(self, partition: Partition) -> Phase:
        """Return four streams: clean, closed, not open, all; one that no switched-on term needs is left out."""
        settings = self.settings
        streams = {"clean": _members(partition.clean)}
        if settings.pseudo_label_weight:
            streams["closed"] = _members(partition.closed)
        if settings.consistency_weight and not settings.savings.consistency_on_supervised:
            streams["trusted"] = _members(~partition.open)
        if (settings.contrastive_weight and not settings.savings.contrast_on_supervised) or settings.witness:
            streams["all"] = _members(torch.ones_like(partition.clean))
        return Phase("robust", streams, lead=len(partition.clean))

    # Once a step

    def step(self, phase: str, batches: dict[str, Batch], clock: Clock, random: torch.Generator) -> dict[str, Term]:
        """Return Eq. 14, or the warm-up loss."""
        if phase == "warm-up":
            return self._warmup_terms(batches["all"], random)
        settings, saved = self.settings, self.settings.savings
        terms = self._supervised_terms(batches["clean"], batches.get("closed"), clock, random)
        # In an epoch of fewer steps each term still comes once.
        contrast_every, consistency_every = (
            min(every, clock.steps) for every in (saved.contrast_every, saved.consistency_every)
        )
        if settings.contrastive_weight and not saved.contrast_on_supervised and clock.step % contrast_every == 0:
            weight = settings.contrastive_weight * contrast_every
            terms["contrastive"] = Term(self._contrastive(batches["all"], random), weight)
        # Last, as in the released program: what passes last weighs most in the running statistics.
        # Half-way between two contrastive terms, so that steps cost about the same.
        if "trusted" in batches and clock.step % consistency_every == consistency_every // 2:
            weight = settings.consistency_weight * consistency_every
            terms["consistency"] = Term(self._consistency(batches["trusted"]), weight)
        if self.witness is not None:
            terms["witness"] = Term(self._witness_losses(self.witness, batches["all"]))
        return terms

    def _warmup_terms(self, batch: Batch, random: torch.Generator) -> dict[str, Term]:
        """Return mixed one-vs-all and contrastive losses on the given labels, every sample trusted, none open."""
        settings = self.settings
        mixes, outputs = self._mixed_outputs(batch.views, random)
        targets = self._one_hot(batch.labels)
        terms = {"one_vs_all": Term(_mixed(one_vs_all, outputs.ova_logits, targets, mixes))}
        if settings.warmup_contrastive_weight:
            ones = torch.ones(len(batch.labels), device=batch.labels.device)
            contrastive = self._pulled(outputs.embedding, batch.labels, ones, mixes)
            terms["contrastive"] = Term(contrastive, settings.warmup_contrastive_weight)
        if self.witness is not None:
            terms["witness"] = Term(self._witness_losses(self.witness, batch))
        if settings.warmup_prototype_weight:
            logits = self._prototype_logits(outputs.embedding)
            terms["prototype"] = Term(
                _mixed(soft_cross_entropy, logits, targets, mixes), settings.warmup_prototype_weight
            )
        return terms

    def _supervised_terms(
        self, clean: Batch, closed: Batch | None, clock: Clock, random: torch.Generator
    ) -> dict[str, Term]:
        """Return one-vs-all and prototype losses on clean rows, pseudo-label loss on closed rows; all are mixed."""
        settings = self.settings
        views = clean.views
        if closed is not None:
            views = tuple(torch.cat(pair) for pair in zip(clean.views, closed.views, strict=True))
        targets = self._targets(clean, closed)
        mixes, outputs = self._mixed_outputs(views, random, shared=settings.savings.consistency_on_supervised)
        is_clean = (torch.arange(len(targets), device=targets.device) < len(clean.labels)).repeat(len(views))
        prototypes = self._prototype_logits(outputs.embedding)
        terms = {}
        if settings.one_vs_all_weight:
            losses = _mixed(one_vs_all, outputs.ova_logits, targets, mixes)
            terms["one_vs_all"] = Term(losses[is_clean], settings.one_vs_all_weight)
        if settings.prototype_weight:
            losses = _mixed(soft_cross_entropy, prototypes, targets, mixes)
            terms["prototype"] = Term(losses[is_clean], settings.prototype_weight)
        if closed is not None:
            losses = _mixed(pseudo_label_distance, prototypes, targets, mixes)
            terms["pseudo_label"] = Term(losses[~is_clean], settings.pseudo_label_weight * self._ramp(clock))
        return terms | self._saved_terms(clean, closed, mixes, outputs)

    def _saved_terms(
        self, clean: Batch, closed: Batch | None, mixes: tuple[Mix, ...], outputs: DualOutput
    ) -> dict[str, Term]:
        """Return the terms that have no passes of their own but take those of the mixed clean and closed rows."""
        settings, saved, terms = self.settings, self.settings.savings, {}
        if saved.contrast_on_supervised and settings.contrastive_weight:
            indices = torch.cat([batch.indices for batch in (clean, closed) if batch is not None])
            terms["contrastive"] = Term(self._drawn(indices, outputs.embedding, mixes), settings.contrastive_weight)
        if saved.consistency_on_supervised and settings.consistency_weight:
            weak, strong = outputs.ova_logits.chunk(2)
            terms["consistency"] = Term(one_vs_all_consistency(strong, weak), settings.consistency_weight)
        return terms

    @torch.no_grad()
    def _targets(self, clean: Batch, closed: Batch | None) -> Tensor:
        """Return the soft targets ``(R, C)`` of the clean rows, then of the closed rows, from unmixed views."""
        given = self._one_hot(clean.labels)
        if closed is None and not self.settings.refine_clean_targets:
            return given
        told, sharpening = self._told(closed, clean), self.settings.sharpening
        targets = given
        if self.settings.refine_clean_targets:
            targets = refined_targets(given, *told[-1], sharpening)
        if closed is None or self.partition is None:
            return targets
        weights = self.partition.weights[closed.indices]
        return torch.cat([targets, voted_targets(*told[0], weights, sharpening)])

    def _told(self, *batches: Batch | None) -> list[tuple[Tensor, Tensor]]:
        """Return one-vs-all positives and softmax over the prototypes, both ``(V, B, C)``, of each batch that is there.

        They come from its unmixed views, the weak one alone (V = 1), or what the last identification saw (V = 1).
        """
        present = [batch for batch in batches if batch is not None]
        if self.surveyed is not None:
            embeddings, positives = self.surveyed
            rows = [batch.indices.to(embeddings.device) for batch in present]
            return [(positives[at][None], self._by_prototype(embeddings[at])[None]) for at in rows]
        views = [batch.views[:1] if self.settings.savings.one_view_targets else batch.views for batch in present]
        outputs = self._outputs([view for shown in views for view in shown])
        sizes = [len(batch.labels) * len(shown) for batch, shown in zip(present, views, strict=True)]
        both = positive_probabilities(outputs.ova_logits), self._by_prototype(outputs.embedding)
        parts = zip(*(part.split(sizes) for part in both), strict=True)
        return [
            (_by_view(yes, len(shown)), _by_view(near, len(shown)))
            for shown, (yes, near) in zip(views, parts, strict=True)
        ]

    def _by_prototype(self, embeddings: Tensor) -> Tensor:
        return F.softmax(self._prototype_logits(embeddings), dim=1)

    def _consistency(self, batch: Batch) -> Tensor:
        """Return Eq. 6 on unmixed weak and strong views."""
        weak, strong = self._outputs(batch.views).ova_logits.chunk(2)
        return one_vs_all_consistency(strong, weak)

    def _contrastive(self, batch: Batch, random: torch.Generator) -> Tensor:
        """Return Eq. 4-5 on mixed views, with corrected labels and Eq. 12 weights."""
        mixes, outputs = self._mixed_outputs(batch.views, random)
        return self._drawn(batch.indices, outputs.embedding, mixes)

    def _drawn(self, indices: Tensor, embeddings: Tensor, mixes: tuple[Mix, ...]) -> Tensor:
        assert self.partition is not None
        labels, weights = self.partition.corrected[indices], self.partition.weights[indices]
        return self._pulled(embeddings, labels, weights, mixes)

    def _pulled(self, embeddings: Tensor, labels: Tensor, weights: Tensor, mixes: tuple[Mix, ...]) -> Tensor:
        settings = self.settings
        return mixed_bi_level_contrastive(
            embeddings, labels, weights, mixes, settings.temperature, settings.mixed_pairs
        )

    def _witness_losses(self, witness: Classifier, batch: Batch) -> Tensor:
        """Return the second network's cross-entropy of weak views with given labels; unlabelled rows are left out."""
        losses = F.cross_entropy(witness(batch.views[0]).logits.float(), batch.labels.clamp_min(0), reduction="none")
        return losses[batch.labels >= 0]

    def _mixed_outputs(
        self, views: tuple[Tensor, ...], random: torch.Generator, *, shared: bool = False
    ) -> tuple[tuple[Mix, ...], DualOutput]:
        """Mix each view with its own draw, or all with one, and run them through the network."""
        mixes = tuple(draw_mix(len(view), self.settings.mixup, random) for view in (views[:1] if shared else views))
        mixes = mixes * len(views) if shared else mixes
        return mixes, self._outputs([mix_inputs(view, mix) for view, mix in zip(views, mixes, strict=True)])

    def _outputs(self, groups: Sequence[Tensor]) -> DualOutput:
        """Run groups of images through the network, each with its own batch statistics, and join their rows.

        All share theirs unless the released program is followed, and where a group of one row would have none.
        """
        if self._as_released and min(len(group) for group in groups) > 1:
            parts = [self.net(group) for group in groups]
            return DualOutput(*(torch.cat(rows) for rows in zip(*(vars(part).values() for part in parts), strict=True)))
        out: DualOutput = self.net(torch.cat(list(groups)))
        return out

    def _ramp(self, clock: Clock) -> float:
        """Return the linear rise from 0 to 1 after warm-up."""
        gone = (clock.epoch if self._as_released else clock.time) - self.settings.warmup_epochs
        return 1.0 if not self.settings.ramp_epochs else min(1.0, gone / self.settings.ramp_epochs)

    # At inference

    def predict(self, images: Tensor) -> Prediction:
        """Return classes from the one-vs-all output, and foreign scores from Eq. 15 or from the second network."""
        out: DualOutput = self.net(images)
        positives, negatives = positive_probabilities(out.ova_logits), negative_probabilities(out.ova_logits)
        # No branch: an exported graph has none, and prototypes that are not there yet are zero.
        nearest = torch.where(self.net.prototypes_ready, self._prototype_logits(out.embedding), positives)
        logits = log_odds(out.ova_logits)
        # softmax(log p) is p / sum(p), also where every p underflows.
        probabilities = F.softmax(F.logsigmoid(logits), dim=1)
        scores = open_world_score(negatives, nearest)
        if self.witness is not None:
            scores = mls_score(self.witness(images).logits.float())
        return Prediction(probabilities, scores, out.features.float(), logits)

    def network(self) -> OpenedDual:
        """Return the network, opened at its one-vs-all head."""
        return OpenedDual(self.net, self.settings.temperature)

    # In a checkpoint

    def extra_state(self) -> dict[str, Any]:
        """Return what the last identification saw as well, if targets come from it."""
        return {**super().extra_state(), **({} if self.surveyed is None else {"surveyed": list(self.surveyed)})}

    def load_extra_state(self, state: dict[str, Any]) -> None:
        """Restore what ``extra_state`` gave."""
        super().load_extra_state(state)
        self.surveyed = tuple(state["surveyed"]) if "surveyed" in state else None

    def _prototype_logits(self, embeddings: Tensor) -> Tensor:
        return prototype_logits(embeddings, self.net.unit_prototypes(), self.settings.temperature)

    def _one_hot(self, labels: Tensor) -> Tensor:
        return F.one_hot(labels, self.net.num_classes).float()


def _by_view(rows: Tensor, views: int) -> Tensor:
    """Return rows that stand view after view ``(V * B, C)`` as ``(V, B, C)``."""
    return rows.reshape(views, -1, rows.shape[1])


def _members(mask: Tensor) -> Stream:
    return Stream(mask.nonzero().squeeze(1).cpu())


def _mixed(
    loss: Callable[[Tensor, Tensor], Tensor], outputs: Tensor, targets: Tensor, mixes: tuple[Mix, ...]
) -> Tensor:
    """Return Eq. 3 for the rows of every view, in the order of ``outputs``."""
    parts = zip(outputs.chunk(len(mixes)), mixes, strict=True)
    return torch.cat([mix_losses(partial(loss, part), targets, mix) for part, mix in parts])
