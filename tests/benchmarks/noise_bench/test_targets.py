from __future__ import annotations

import pytest
from benchmarks.noise_bench.targets import expected_right


def test_exact_confidences_miss_by_chance() -> None:
    # Of ten coins 4, 5 or 6 are heads in 210 + 252 + 210 of 1024 cases; nine suggestions are too few to judge.
    cells = {
        ("judge", "ten", 0): {"audit": {"confidence_50-70": [10, 0.9, 0.5]}},
        ("judge", "nine", 0): {"audit": {"confidence_50-70": [9, 0.5, 0.5]}},
        ("judge", "none", 0): {"audit": {}},
    }
    assert expected_right(cells, "audit", "50-70") == pytest.approx(672 / 1024)
    assert expected_right(cells, "audit", "70-90") == 0
