"""From scores of known samples to a decision at a chosen false-alarm rate."""

from __future__ import annotations

import math

from torch import Tensor

from lond.errors import DataError


def threshold_at(known_scores: Tensor, false_alarm_rate: float) -> float:
    """Return the score above which an image is called foreign.

    The threshold is the ``ceil((n + 1)(1 - rate))``-th smallest of the n scores of known samples, so that of new
    known samples, exchangeable with these, at most the chosen share exceeds it. No foreign sample is needed.

    Raises:
        DataError: there are too few known scores for the rate, or a score is not finite.
    """
    if not 0 < false_alarm_rate < 1:
        raise DataError(f"the false-alarm rate must lie between 0 and 1, not {false_alarm_rate}")
    # The small term undoes the float error of products such as 10 * (1 - 0.7).
    rank = math.ceil((len(known_scores) + 1) * (1 - false_alarm_rate) - 1e-9)
    if rank > len(known_scores):
        needed = math.ceil(1 / false_alarm_rate) - 1
        raise DataError(
            f"a false-alarm rate of {false_alarm_rate} needs at least {needed} known samples, "
            f"there are {len(known_scores)}"
        )
    if not known_scores.isfinite().all():
        raise DataError("a score of a known sample is not finite; check for a diverged model")
    return float(known_scores.sort().values[rank - 1])
