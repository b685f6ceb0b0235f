"""What is mixed up with what."""

from __future__ import annotations

import torch

from lond.audit.judge.confusions import confusions
from lond.types import UNLABELLED

NAMES = ("ant", "bee", "cat", "dog")


def test_confusions() -> None:
    given = torch.tensor([2, 2, 3, 2, 0, UNLABELLED, 1, 3])
    suggested = torch.tensor([3, 3, 2, 1, 1, 2, -1, 2])
    verdicts = ["mislabelled"] * 7 + ["foreign"]
    expected = [
        {"given": "cat", "suggested": "dog", "images": 2},
        {"given": "ant", "suggested": "bee", "images": 1},
        {"given": "cat", "suggested": "bee", "images": 1},
        {"given": "dog", "suggested": "cat", "images": 1},
    ]
    assert confusions(given, suggested, verdicts, NAMES) == expected
    assert confusions(given, suggested, verdicts, NAMES, most=1) == expected[:1]
    assert confusions(given, suggested, verdicts, NAMES, most=0) == []
    assert confusions(given[:0], suggested[:0], [], NAMES) == []
