"""Which class is taken for which."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

from torch import Tensor

from lond.types import Verdict


def confusions(
    given: Tensor, suggested: Tensor, verdicts: Sequence[str], names: Sequence[str], most: int = 50
) -> list[dict[str, Any]]:
    """Return how often which given label should be which other one, by the verdicts, most frequent first.

    Args:
        given: ``(N,)`` given labels; negative = none.
        suggested: ``(N,)`` suggested labels; negative = none.
        verdicts: N values of ``Verdict``; only mislabelled images count.
        names: C class names.
        most: how many pairs at most.
    """
    rows = zip(given.tolist(), suggested.tolist(), verdicts, strict=True)
    pairs = Counter((old, new) for old, new, verdict in rows if verdict == Verdict.MISLABELLED and min(old, new) >= 0)
    ordered = sorted(pairs.items(), key=lambda item: (-item[1], item[0]))[: max(0, most)]
    return [{"given": names[old], "suggested": names[new], "images": count} for (old, new), count in ordered]
