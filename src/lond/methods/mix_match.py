"""The semi-supervised step that DivideMix, UNICON, NCE and CIR+ share."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import torch
import torch.nn.functional as F
from torch import Tensor

from lond.losses import (
    draw_mix,
    mix_inputs,
    negative_entropy,
    prior_penalty,
    pseudo_label_distance,
    sharpen,
    soft_cross_entropy,
)
from lond.types import Clock, Term

Logits = Callable[[Tensor], Tensor]
"""Maps images ``(B, ...)`` to logits ``(B, C)``."""


def warmup_terms(logits: Tensor, labels: Tensor, *, confidence_penalty: bool) -> dict[str, Term]:
    """Return the cross-entropy with the given labels ``(B,)``, and the negative entropy if asked for."""
    terms = {"cross_entropy": Term(F.cross_entropy(logits, labels, reduction="none"))}
    if confidence_penalty:
        terms["confidence"] = Term(negative_entropy(logits))
    return terms


def mean_probabilities(networks: Sequence[Logits], views: Sequence[Tensor]) -> Tensor:
    """Return the mean softmax ``(B, C)`` of every network on every view ``(B, ...)``, without gradients."""
    with torch.no_grad():
        stacked = torch.cat(list(views))
        outputs = [F.softmax(network(stacked).float(), dim=1) for network in networks]
        by_view = torch.stack(outputs).mean(dim=0).chunk(len(views))
        return torch.stack(by_view).mean(dim=0)


def guess(probabilities: Tensor, temperature: float) -> Tensor:
    """Return the targets of unlabelled samples: the mean prediction ``(B, C)``, sharpened."""
    return sharpen(probabilities, 1 / temperature)


def refine(given: Tensor, trust: Tensor, probabilities: Tensor, temperature: float) -> Tensor:
    """Return the targets of labelled samples: ``sharpen(w y + (1 - w) p)``.

    Args:
        given: ``(B, C)`` one-hot given labels.
        trust: ``(B,)`` w, the belief in them.
        probabilities: ``(B, C)`` the network's mean prediction.
        temperature: T of the sharpening.
    """
    trust = trust[:, None]
    return sharpen(trust * given + (1 - trust) * probabilities, 1 / temperature)


def ramp(clock: Clock, start: int, length: int) -> float:
    """Return the linear rise from 0 at epoch ``start`` to 1 after ``length`` epochs (0: at once)."""
    return 1.0 if not length else min(1.0, max(0.0, (clock.time - start) / length))


def mix_match_terms(
    network: Logits,
    labelled: Sequence[Tensor],
    targets: Tensor,
    unlabelled: Sequence[Tensor],
    guesses: Tensor,
    *,
    concentration: float,
    unlabelled_weight: float,
    random: torch.Generator,
) -> dict[str, Term]:
    """Mix all views of all samples with one draw and return the three terms of MixMatch.

    Labelled rows cost the soft cross-entropy, unlabelled ones the squared error (mean over classes), and the mean
    prediction of all rows the distance from the uniform prior. With an ``unlabelled_weight`` of 0 the unlabelled
    rows serve as mixing partners only and are not run through the network.

    Args:
        network: the one being trained.
        labelled: V views ``(L, ...)``.
        targets: ``(L, C)``.
        unlabelled: V' views ``(U, ...)``; may be empty.
        guesses: ``(U, C)``.
        concentration: of the Beta distribution.
        unlabelled_weight: of the squared error.
        random: draws the mix.
    """
    inputs = torch.cat([*labelled, *unlabelled])
    wanted = torch.cat([targets] * len(labelled) + [guesses] * len(unlabelled)).detach()
    mix = draw_mix(len(inputs), concentration, random)
    rows = len(labelled) * len(targets)
    mixed, mixed_targets = mix_inputs(inputs, mix), mix_inputs(wanted, mix)
    use_all = unlabelled_weight > 0 and len(unlabelled) > 0
    if not use_all:
        mixed, mixed_targets = mixed[:rows], mixed_targets[:rows]
    logits = network(mixed).float()
    terms = {
        "labelled": Term(soft_cross_entropy(logits[:rows], mixed_targets[:rows])),
        "prior": Term(prior_penalty(F.softmax(logits, dim=1))),
    }
    if use_all:
        distance = pseudo_label_distance(logits[rows:], mixed_targets[rows:]) / logits.shape[1]
        terms["unlabelled"] = Term(distance, unlabelled_weight)
    return terms
