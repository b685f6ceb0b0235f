"""The page on speed: as the stored results make it, and its extrapolation by hand."""

from __future__ import annotations

from pathlib import Path

import pytest
from benchmarks import speed_page
from benchmarks.speed_page import (
    extraction,
    growth,
    highest_rate,
    large,
    on_older_processors,
    page,
    ratios,
    ten_million,
)

ROOT = Path(speed_page.__file__).parents[1]


def test_the_page_is_what_the_stored_results_make_of_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(speed_page, "RESULTS", ROOT / "results")
    assert (ROOT / "docs" / "speed.md").read_text() == page()


def test_ten_million_images_follow_from_the_two_largest_sets() -> None:
    rows = [
        {"images": 10, "cpu_seconds": 1, "peak_gigabytes": 1, "width": 8},
        {"images": 100_000, "cpu_seconds": 3600.0, "peak_gigabytes": 1.0, "width": 8},
        {"images": 1_000_000, "cpu_seconds": 36000.0, "peak_gigabytes": 10.0, "width": 8},
    ]
    told = ten_million(rows)
    assert "the power 1.00" in told and "100 CPU hours and 100 GB" in told and "128 GB" in told
    assert "25.0 hours" in told
    assert ten_million(rows[:2]).startswith("No set of 1,000,000 images") and ten_million([]) == ten_million(rows[:1])


def test_nothing_stored_is_told() -> None:
    assert ratios({}) == large([]) == extraction({}) == "Nothing is stored yet."
    assert growth([]).endswith("Nothing is stored yet.")


def test_the_rate_on_older_processors_is_that_of_its_file() -> None:
    stored = {"contenders": {"bare": {"cpu_ms_an_image": 7.42}, "features": {"cpu rate over bare": 0.833}}}
    assert "it takes 7.4 ms, and the rate is 0.83" in on_older_processors(stored)
    assert on_older_processors({}) == ""


def test_the_highest_rate_is_that_of_the_network_and_decoding_alone() -> None:
    stored = {"contenders": {"bare": {"cpu_ms_an_image": 3.0}, "decoding": {"cpu_ms_an_image": 1.0}}}
    assert "4.0 ms, a rate of 0.75" in highest_rate(stored)
    assert highest_rate({}) == ""
