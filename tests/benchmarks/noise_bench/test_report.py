"""Tables of the noise bench's page, by hand."""

from __future__ import annotations

from typing import Any

from benchmarks.noise_bench.report import confidence_table


def cell(family: str, **shares: tuple[int, float, float]) -> dict[str, dict[str, Any]]:
    return {"audit": {"family": family} | {f"confidence_{name[1:].replace('_', '-')}": v for name, v in shares.items()}}


def test_confidences_are_pooled_by_hand() -> None:
    cells = {
        ("judge", "a", 0): cell("people10", _50_70=(10, 0.5, 0.6)),
        ("judge", "b", 0): cell("people25", _50_70=(30, 0.9, 0.6), _90_100=(1000, 1.0, 0.95)),
        ("judge", "c", 0): cell("uniform", _50_70=(0, 0.0, 0.0)),
    }
    assert confidence_table(cells).splitlines()[2:] == [
        "| all | 80.0 / 60.0 (40) | - | 100.0 / 95.0 (1,000) |",
        "| people | 80.0 / 60.0 (40) | - | 100.0 / 95.0 (1,000) |",
    ]
