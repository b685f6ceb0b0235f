"""The drop-rate schedule and the small-loss selection: by hand, against sorting in Python, and at the edges."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from lond.identify import drop_rate, kept_count, smallest


def test_ten_epochs_rise_in_nine_equal_steps() -> None:
    got = [drop_rate(epoch, 0.18, 10) for epoch in range(14)]
    np.testing.assert_allclose(got, [0.02 * min(epoch, 9) for epoch in range(14)], atol=1e-15)
    np.testing.assert_allclose(got[:10], np.linspace(0, 0.18, 10), atol=1e-15)


def test_short_ramps() -> None:
    assert [drop_rate(epoch, 0.4, 0) for epoch in range(3)] == [0.4, 0.4, 0.4]
    assert [drop_rate(epoch, 0.4, 1) for epoch in range(3)] == [0, 0.4, 0.4]
    assert [drop_rate(epoch, 0.4, 2) for epoch in range(3)] == [0, 0.4, 0.4]
    assert [drop_rate(epoch, 0.4, 3) for epoch in range(4)] == [0, 0.2, 0.4, 0.4]


def test_the_exponent_bends_the_ramp_and_leaves_its_end() -> None:
    np.testing.assert_allclose([drop_rate(t, 0.5, 10, 2.0) for t in range(5)], [0, 0.5 / 9, 2 / 9, 0.5, 0.5])
    slow = [drop_rate(t, 0.5, 3, 0.5) for t in range(6)]
    np.testing.assert_allclose(slow, [0, 0.25, 0.25 * 2**0.5, 0.25 * 3**0.5, 0.5, 0.5])


def test_no_noise_drops_nothing() -> None:
    assert {drop_rate(epoch, 0.0, 10) for epoch in range(20)} == {0.0}


@pytest.mark.parametrize(
    ("size", "rate", "count"),
    [(128, 0.8, 25), (128, 0.2, 102), (128, 0.0, 128), (4, 0.8, 0), (0, 0.2, 0), (10, 0.9, 1)],
)
def test_kept_samples_are_rounded_down(size: int, rate: float, count: int) -> None:
    """(1 - 0.9) * 10 is 0.9999999999999998 in floats."""
    assert kept_count(size, rate) == count


@settings(max_examples=60, deadline=None, derandomize=True)
@given(st.lists(st.sampled_from([0.0, 0.5, 1.0, 2.5, float("inf")]), max_size=20), st.integers(0, 25))
def test_smallest_equals_sorting(values: list[float], count: int) -> None:
    chosen = sorted(range(len(values)), key=lambda index: (values[index], index))[:count]
    got = smallest(torch.tensor(values), count)
    assert got.dtype == torch.bool
    assert got.shape == (len(values),)
    assert got.nonzero().flatten().tolist() == sorted(chosen)
