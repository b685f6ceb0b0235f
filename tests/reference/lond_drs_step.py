"""A whole robust step of LOND-DRS with loops over rows and classes; the network maps whole batches, as it trains.

It follows the authors' released program. Where this package does something else on purpose, ``Choices`` says what.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

Forward = Callable[[Tensor], tuple[Tensor, Tensor]]
"""A batch of images -> unit embeddings ``(B, E)`` and one-vs-all logits ``(B, C, 2)``."""

Rows = list[tuple[Tensor, Tensor]]
"""Embedding and logits of each row."""

Mix = tuple[float, Sequence[int]]
"""lambda and the partner of each row."""


@dataclass(frozen=True)
class Choices:
    """What is done where the two programs differ; the values are those of the released one."""

    passes_apart: bool = True
    """Every view of every stream is a pass of its own through the network, with its own batch statistics."""
    positives_twice: bool = True
    """In the contrastive loss, whoever shows the sample counts as an instance and as a member of its class."""
    ramp_by_epoch: bool = True
    """The weight of the pseudo-label term stays the same within an epoch."""


RELEASED = Choices()
BUT_PAPER = Choices(positives_twice=False)
"""Those of the released program, but for what the paper says."""
OURS = Choices(passes_apart=False, positives_twice=False, ramp_by_epoch=False)


@dataclass(frozen=True)
class StepData:
    """What a step sees: two views of four streams of images, and what the identification said about them."""

    clean: Sequence[Tensor]
    closed: Sequence[Tensor]
    trusted: Sequence[Tensor]
    everything: Sequence[Tensor]
    clean_labels: Sequence[int]
    closed_weights: Sequence[float]
    all_labels: Sequence[int]
    all_weights: Sequence[float]
    supervised_mixes: Sequence[Mix]
    contrastive_mixes: Sequence[Mix]


@dataclass(frozen=True)
class StepSettings:
    """Temperatures, weights and the time since warm-up."""

    tau: float
    sharpening: float
    consistency: float
    contrastive: float
    epochs_since_warmup: float
    ramp_epochs: int


def robust_loss(
    forward: Forward, prototypes: Tensor, data: StepData, settings: StepSettings, choices: Choices = RELEASED
) -> Tensor:
    """Return the loss of the step, with gradient to whatever ``forward`` and ``prototypes`` depend on."""
    unit = [row / (row * row).sum().sqrt() for row in prototypes]
    targets = _targets(forward, unit, data, settings, choices)
    one_vs_all, proto, pseudo = _supervised(forward, unit, targets, data, settings, choices)
    weak, strong = _passes(forward, data.trusted, choices)
    consistency = [
        sum((_pair(a)[c][j] - _pair(b)[c][j]) ** 2 for c in range(len(unit)) for j in (0, 1))
        for (_, a), (_, b) in zip(weak, strong, strict=True)
    ]
    time = settings.epochs_since_warmup
    ramp = min(1.0, (int(time) if choices.ramp_by_epoch else time) / settings.ramp_epochs)
    contrast = _contrastive(forward, data, settings, choices)
    return (
        _mean(one_vs_all)
        + _mean(proto)
        + ramp * _mean(pseudo)
        + settings.consistency * _mean(consistency)
        + settings.contrastive * _mean(contrast)
    )


def _passes(forward: Forward, groups: Sequence[Tensor], choices: Choices) -> list[Rows]:
    """Run groups of images through the network, each for itself or all at once."""
    if choices.passes_apart:
        return [list(zip(*forward(group), strict=True)) for group in groups]
    rows = list(zip(*forward(torch.cat(list(groups))), strict=True))
    ends = [sum(len(group) for group in groups[: at + 1]) for at in range(len(groups))]
    return [rows[end - len(group) : end] for end, group in zip(ends, groups, strict=True)]


def _mean(values: Sequence[Tensor]) -> Tensor:
    total = values[0]
    for value in values[1:]:
        total = total + value
    return total / len(values)


def _pair(logits: Tensor) -> list[tuple[Tensor, Tensor]]:
    """Probabilities of "does not" and "does" belong, class by class."""
    exponentials = [(no.exp(), yes.exp()) for no, yes in logits]
    return [(no / (no + yes), yes / (no + yes)) for no, yes in exponentials]


def _near(z: Tensor, unit: Sequence[Tensor], tau: float) -> list[Tensor]:
    exponentials = [((z * p).sum() / tau).exp() for p in unit]
    return [e / sum(exponentials) for e in exponentials]


def _sharpened(row: Sequence[Tensor], exponent: float) -> list[Tensor]:
    powers = [p**exponent for p in row]
    return [p / sum(powers) for p in powers]


@torch.no_grad()
def _targets(
    forward: Forward, unit: Sequence[Tensor], data: StepData, settings: StepSettings, choices: Choices
) -> list[list[Tensor]]:
    """Clean rows: the label blended with the prototypes' prediction. Closed rows: a mean of four distributions."""
    closed_weak, closed_strong, clean_weak, clean_strong = _passes(forward, [*data.closed, *data.clean], choices)
    classes, targets = range(len(unit)), []
    for label, *views in zip(data.clean_labels, clean_weak, clean_strong, strict=True):
        trust = _mean([max(yes for _, yes in _pair(logits)) for _, logits in views])
        votes = [_near(z, unit, settings.tau) for z, _ in views]
        blend = [trust * (c == label) + (1 - trust) * _mean([vote[c] for vote in votes]) for c in classes]
        targets.append(_sharpened(blend, 1 / settings.sharpening))
    for weight, *views in zip(data.closed_weights, closed_weak, closed_strong, strict=True):
        votes = [_near(z, unit, settings.tau) for z, _ in views]
        for _, logits in views:
            yes = [pair[1] for pair in _pair(logits)]
            votes.append([p / sum(yes) for p in yes])
        average = [_mean([vote[c] for vote in votes]) for c in classes]
        targets.append(_sharpened(average, weight / settings.sharpening))
    return targets


def _mixed(images: Tensor, mix: Mix) -> Tensor:
    ratio, partners = mix
    return torch.stack([ratio * image + (1 - ratio) * images[partners[row]] for row, image in enumerate(images)])


def _supervised(
    forward: Forward,
    unit: Sequence[Tensor],
    targets: Sequence[Sequence[Tensor]],
    data: StepData,
    settings: StepSettings,
    choices: Choices,
) -> tuple[list[Tensor], list[Tensor], list[Tensor]]:
    """One-vs-all and prototype losses of clean rows, squared distances of closed ones, over both mixed views."""
    together = [torch.cat(pair) for pair in zip(data.clean, data.closed, strict=True)]
    groups = [_mixed(view, mix) for view, mix in zip(together, data.supervised_mixes, strict=True)]
    one_vs_all, proto, pseudo = [], [], []
    for rows, (ratio, partners) in zip(_passes(forward, groups, choices), data.supervised_mixes, strict=True):
        for row, (z, logits) in enumerate(rows):
            near, pairs = _near(z, unit, settings.tau), _pair(logits)
            parts = [(ratio, targets[row]), (1 - ratio, targets[partners[row]])]
            if row >= len(data.clean_labels):
                pseudo.append(
                    sum(share * sum((p - t) ** 2 for p, t in zip(near, goal, strict=True)) for share, goal in parts)
                )
                continue
            proto.append(
                -sum(share * sum(t * p.log() for p, t in zip(near, goal, strict=True)) for share, goal in parts)
            )
            one_vs_all.append(
                -sum(
                    share * sum(t * yes.log() + (1 - t) * no.log() for (no, yes), t in zip(pairs, goal, strict=True))
                    for share, goal in parts
                )
            )
    return one_vs_all, proto, pseudo


def _contrastive(forward: Forward, data: StepData, settings: StepSettings, choices: Choices) -> list[Tensor]:
    """The loss of each mixed view: for either sample it shows, the views that show this one, or its class, most."""
    groups = [_mixed(view, mix) for view, mix in zip(data.everything, data.contrastive_mixes, strict=True)]
    size, labels, weights = len(data.all_labels), data.all_labels, data.all_weights
    embeddings = [z for rows in _passes(forward, groups, choices) for z, _ in rows]
    losses = []
    for at, z in enumerate(embeddings):
        ratio, partners = data.contrastive_mixes[at // size]
        exponentials = {r: ((z * other).sum() / settings.tau).exp() for r, other in enumerate(embeddings) if r != at}
        log_ratios = {r: (e / sum(exponentials.values())).log() for r, e in exponentials.items()}
        loss = torch.zeros((), dtype=z.dtype)
        for share, sample in ((ratio, at % size), (1 - ratio, partners[at % size])):
            total, count = torch.zeros((), dtype=z.dtype), 0.0
            for r, log_ratio in log_ratios.items():
                shown = r % size
                weight = weights[sample] * weights[shown] if labels[shown] == labels[sample] else 0.0
                if choices.positives_twice:
                    if shown == at % size:
                        weight = float(labels[shown] == labels[sample])
                    weight += shown == sample
                elif shown == sample:
                    weight = 1.0
                total, count = total - weight * log_ratio, count + weight
            loss = loss + share * total / count
        losses.append(loss)
    return losses
