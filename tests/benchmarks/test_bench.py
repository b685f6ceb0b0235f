"""The bench: what is named as worse, what is left out, and that every measurement has its two functions."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch
from benchmarks.bench import MEASUREMENTS, Pair, grown, lacking, read
from benchmarks.bench_work import WORKS
from benchmarks.large_audit import blocks, classes_of, make


@pytest.mark.parametrize("name", MEASUREMENTS)
def test_every_measurement_has_its_functions(name: str) -> None:
    for pair in MEASUREMENTS[name](True):
        assert {pair.ours, pair.theirs} <= WORKS.keys()


def test_a_ratio_that_grew_by_more_than_a_tenth_is_named() -> None:
    stored = {"a": {"ratio": 1.0}, "b": {"ratio": 2.0}}
    found = {"a": {"ratio": 1.2}, "b": {"ratio": 2.1}, "new": {"ratio": 9.0}}
    assert grown(stored, found) == ["a: 1.20 was 1.00"]


def test_what_is_missing_is_told(tmp_path: Path) -> None:
    pair = Pair("x", "search", "search", 1, needs=("torch", "no_such_package", "data:cifar"))
    assert lacking(pair, str(tmp_path)) == ["no_such_package", "cifar"]
    (tmp_path / "cifar").mkdir()
    assert lacking(pair, str(tmp_path)) == ["no_such_package"]
    assert read(tmp_path / "none.json") == {}


def test_made_up_noise_has_the_promised_rates(tmp_path: Path) -> None:
    ((values, given, true),) = blocks(4000)
    assert values.shape == (4000, 256) and classes_of(4000) == 10
    assert float((true < 0).mean()) == pytest.approx(0.1, abs=0.02)
    assert float((given != true)[true >= 0].mean()) == pytest.approx(0.2, abs=0.03)
    assert np.array_equal(make(tmp_path / "a.npz", 4000), true)
    stored = np.load(tmp_path / "a.npz")
    assert np.array_equal(stored["labels"], given) and torch.from_numpy(stored["embeddings"]).isfinite().all()
