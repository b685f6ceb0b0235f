"""How good verdicts are, against the truth."""

from __future__ import annotations

import math
from collections.abc import Sequence

from torch import Tensor

from lond.types import FOREIGN, Verdict

JUDGED = (Verdict.CLEAN, Verdict.MISLABELLED, Verdict.FOREIGN)


def true_verdicts(given: Tensor, true: Tensor) -> list[Verdict]:
    """Return what a perfect judge would say: foreign (no known class), clean (label right) or mislabelled."""
    verdicts = []
    for label, truth in zip(given.tolist(), true.tolist(), strict=True):
        known = Verdict.CLEAN if label == truth else Verdict.UNLABELLED if label < 0 else Verdict.MISLABELLED
        verdicts.append(Verdict.FOREIGN if truth == FOREIGN else known)
    return verdicts


def verdict_quality(verdicts: Sequence[Verdict], given: Tensor, true: Tensor) -> dict[str, float]:
    """Return precision, recall and F1 of each verdict; NaN where a ratio has no denominator.

    Args:
        verdicts: N verdicts.
        given: ``(N,)`` given labels.
        true: ``(N,)`` true labels, ``FOREIGN`` for images of no known class.
    """
    truth = true_verdicts(given, true)
    figures = {}
    for verdict in JUDGED:
        said, really = sum(v == verdict for v in verdicts), sum(v == verdict for v in truth)
        both = sum(v == verdict == t for v, t in zip(verdicts, truth, strict=True))
        figures[f"verdict_{verdict}_precision"] = both / said if said else math.nan
        figures[f"verdict_{verdict}_recall"] = both / really if really else math.nan
        figures[f"verdict_{verdict}_f1"] = 2 * both / (said + really) if said + really else math.nan
    return figures
