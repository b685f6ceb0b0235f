"""The figure on growth: all panels, with and without an extrapolation."""

from __future__ import annotations

from pathlib import Path

import pytest
from benchmarks.growth import BASE, CHANGES
from benchmarks.growth_figure import draw_growth
from benchmarks.speed_page import changed, extrapolated


def test_the_figure_draws_what_is_held(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    cells = [BASE, *(BASE | {name: values[0]} for name, values in CHANGES.items())]
    rows = changed([cell | {"judging": 1.0, "search": 0.5, "peak_gigabytes": 0.4} for cell in cells])
    assert [len(found) for found in rows.values()] == [2, 2, 2, 2]
    audits = [
        {"images": images, "cpu_seconds": images / 1e3, "peak_gigabytes": images / 1e6, "width": 8}
        for images in (100_000, 1_000_000)
    ]
    for name, far in (("far.svg", extrapolated(audits)), ("near.svg", {})):
        draw_growth(audits, rows, far, tmp_path / name)
        assert "<svg" in (tmp_path / name).read_text()
    assert (tmp_path / "far.svg").stat().st_size > (tmp_path / "near.svg").stat().st_size


def test_an_extrapolation_needs_a_large_set() -> None:
    row = {"cpu_seconds": 10.0, "peak_gigabytes": 1.0, "width": 8}
    assert extrapolated([row | {"images": 10}, row | {"images": 100}]) == {}
    far = extrapolated([row | {"images": 500_000}, row | {"images": 1_000_000, "cpu_seconds": 20.0}])
    assert far["cpu_seconds"] == pytest.approx(200) and far["peak_gigabytes"] == pytest.approx(1)
