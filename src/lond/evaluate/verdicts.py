"""How good verdicts are, against the truth."""

from __future__ import annotations

import math
from collections.abc import Sequence

from lond.evaluate.arrays import Values, as_classes
from lond.types import FOREIGN, Verdict

JUDGED = (Verdict.CLEAN, Verdict.MISLABELLED, Verdict.FOREIGN)


def true_verdicts(given: Values, true: Values) -> list[Verdict]:
    """Return what a perfect judge would say: foreign (no known class), clean (label right) or mislabelled.

    Raises:
        ValueError: the labels are not (N,) and equally long, or no whole numbers.
    """
    given, true = as_classes(given, "given"), as_classes(true, "true")
    if given.shape != true.shape or given.dim() != 1:
        raise ValueError(f"given and true must be (N,) and equally long: {(*given.shape,)}, {(*true.shape,)}")
    verdicts = []
    for label, truth in zip(given.tolist(), true.tolist(), strict=True):
        known = Verdict.CLEAN if label == truth else Verdict.UNLABELLED if label < 0 else Verdict.MISLABELLED
        verdicts.append(Verdict.FOREIGN if truth == FOREIGN else known)
    return verdicts


def verdict_quality(verdicts: Sequence[Verdict], given: Values, true: Values) -> dict[str, float]:
    """Return precision, recall and F1 of each verdict; NaN where a ratio has no denominator.

    Args:
        verdicts: N verdicts.
        given: ``(N,)`` given labels.
        true: ``(N,)`` true labels, ``FOREIGN`` for images of no known class.

    Raises:
        ValueError: there is not one verdict per label, or the labels are unusable.

    Examples:
        >>> found = verdict_quality([Verdict.CLEAN, Verdict.MISLABELLED], [0, 1], [0, 0])
        >>> found["verdict_mislabelled_precision"], found["verdict_mislabelled_recall"]
        (1.0, 1.0)
    """
    truth = true_verdicts(given, true)
    if len(verdicts) != len(truth):
        raise ValueError(f"there are {len(verdicts)} verdicts but {len(truth)} labels")
    figures = {}
    for verdict in JUDGED:
        said, really = sum(v == verdict for v in verdicts), sum(v == verdict for v in truth)
        both = sum(v == verdict == t for v, t in zip(verdicts, truth, strict=True))
        figures[f"verdict_{verdict}_precision"] = both / said if said else math.nan
        figures[f"verdict_{verdict}_recall"] = both / really if really else math.nan
        figures[f"verdict_{verdict}_f1"] = 2 * both / (said + really) if said + really else math.nan
    return figures
