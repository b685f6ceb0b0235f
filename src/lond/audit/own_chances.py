"""The chances of every image under its own label, so that what a table says about an image fits together."""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch
from torch import Tensor

from lond.crossfit.chances import OUTSIDE, WRONG
from lond.crossfit.decided import NO_CLASS, UNDECIDED
from lond.crossfit.judgement import Judgement


@dataclass(frozen=True)
class OwnChances:
    """How likely the labels of N images are wrong, ``wrong`` ``(N,)``, and the images foreign, ``foreign`` ``(N,)``.

    ``wrong`` is NaN for images without a label, both are NaN for unreadable ones. What is neither is right.
    """

    wrong: Tensor
    foreign: Tensor

    def of_suggestion(self, place: int, confidence: float) -> float:
        """Return a confidence in another label than the given one: at most the chance that this one is wrong.

        The two are fitted apart, so that the first may come out a little larger.
        """
        most = float(self.wrong[place])
        return confidence if math.isnan(most) else min(confidence, most)


def own_chances(judgement: Judgement, at: Tensor, labels: Tensor, truth: Tensor | None) -> OwnChances:
    """Return the chances of N images.

    A copy has its original's judgement, but its own label. Images whose copies carry other labels were judged without
    one: there the chances of the classes say how likely the given one is.

    Args:
        judgement: on the images that were learned from.
        at: ``(N,)`` row of the judgement on each image; negative if it is unreadable.
        labels: ``(N,)`` given labels; negative = none.
        truth: ``(N,)`` what a person decided (``lond.crossfit.decided``), if anything.
    """
    rows = at.clamp_min(0)
    wrong, foreign = judgement.chances[rows, WRONG].clone(), judgement.chances[rows, OUTSIDE].clone()
    other = ((judgement.labels[rows] != labels) & (labels >= 0) & (at >= 0)).nonzero().squeeze(1)
    if len(other):
        likely = judgement.evidence.log_chances_of(rows[other]).exp()
        given = likely.gather(1, labels[other, None]).squeeze(1)
        wrong[other] = (1 - given).clamp_min(0) * (1 - foreign[other])
    if truth is not None:
        known = truth != UNDECIDED
        foreign = torch.where(known, (truth == NO_CLASS).to(foreign), foreign)
        wrong = torch.where(known, ((truth >= 0) & (truth != labels)).to(wrong), wrong)
    wrong[(labels < 0) | (at < 0)] = math.nan
    foreign[at < 0] = math.nan
    return OwnChances(wrong, foreign)
