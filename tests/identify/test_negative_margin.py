"""Eq. 10-11 against loops, by hand and at the edges."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from reference import identify as ref

from lond.identify.negative_margin import negative_margin, select_open


@pytest.mark.parametrize(("rows", "classes"), [(1, 2), (30, 2), (30, 7)])
def test_margin_equals_reference(rows: int, classes: int) -> None:
    rng = np.random.default_rng(0)
    positives, labels = rng.random((rows, classes)), rng.integers(classes, size=rows)
    expected = ref.negative_margin(positives, labels)
    got = negative_margin(torch.tensor(1 - positives), torch.tensor(labels))
    assert got.dtype == torch.float64
    np.testing.assert_allclose(got, expected, atol=1e-15)
    got = negative_margin(torch.tensor(1 - positives).float(), torch.tensor(labels))
    np.testing.assert_allclose(got, expected, atol=1e-6)


def test_margin_by_hand() -> None:
    """The other class is the one of largest negative probability, and the sign is dropped."""
    negatives = torch.tensor([[0.1, 0.9, 0.5], [0.9, 0.1, 0.5], [0.7, 0.7, 0.0], [1.0, 1.0, 1.0]])
    got = negative_margin(negatives, torch.tensor([0, 0, 1, 2]))
    np.testing.assert_allclose(got, [0.8, 0.4, 0.0, 0.0], atol=1e-6)


def test_margin_leaves_its_input_alone() -> None:
    negatives = torch.rand(4, 3)
    before = negatives.clone()
    negative_margin(negatives, torch.zeros(4).long())
    assert torch.equal(negatives, before)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_margin_in_half_precision(dtype: torch.dtype) -> None:
    negatives = torch.tensor([[0.0, 1.0, 0.5]], dtype=dtype)
    assert negative_margin(negatives, torch.tensor([0])).tolist() == [1]


@pytest.mark.parametrize("share", ["0", "0.1", "0.29", "0.3", "0.57", "0.999", "1"])
@pytest.mark.parametrize("rows", [1, 10, 100])
def test_open_equals_reference(rows: int, share: str) -> None:
    rng = np.random.default_rng(1)
    margins = rng.random(rows)
    for clean in (np.zeros(rows, dtype=bool), rng.random(rows) < 0.4, np.ones(rows, dtype=bool)):
        got = select_open(torch.tensor(margins), torch.tensor(clean), float(share))
        assert got.dtype == torch.bool
        assert got.tolist() == ref.select_open(margins, clean, share)


def test_open_by_hand() -> None:
    """Half of the four that are not clean; the smallest margin of all belongs to a clean sample."""
    margins = torch.tensor([0.0, 0.4, 0.1, 0.3, 0.2])
    clean = torch.tensor([True, False, False, False, False])
    assert select_open(margins, clean, 0.5).nonzero().flatten().tolist() == [2, 4]
    assert clean.tolist() == [True, False, False, False, False]


@pytest.mark.parametrize("share", range(101))
def test_a_share_of_a_hundred_is_exact(share: int) -> None:
    """0.29 * 100 is 28.999999999999996 in floats."""
    assert int(select_open(torch.arange(100.0), torch.zeros(100).bool(), share / 100).sum()) == share


def test_a_fraction_is_rounded_down() -> None:
    assert int(select_open(torch.arange(19.0), torch.zeros(19).bool(), 0.1).sum()) == 1
    assert int(select_open(torch.arange(9.0), torch.zeros(9).bool(), 0.1).sum()) == 0


def test_ties_go_to_the_lower_index() -> None:
    clean = torch.zeros(60).bool()
    clean[1] = True
    assert select_open(torch.zeros(60), clean, 0.05).nonzero().flatten().tolist() == [0, 2]


@settings(max_examples=60, deadline=None, derandomize=True)
@given(st.lists(st.tuples(st.booleans(), st.floats(0, 1, width=32)), min_size=1, max_size=40), st.integers(0, 100))
def test_open_is_below_the_rest_and_never_clean(samples: list[tuple[bool, float]], percent: int) -> None:
    clean, margins = (torch.tensor(x) for x in zip(*samples, strict=True))
    chosen = select_open(margins, clean, percent / 100)
    rest = ~clean & ~chosen
    assert not (chosen & clean).any()
    assert int(chosen.sum()) == percent * int((~clean).sum()) // 100
    if chosen.any() and rest.any():
        assert margins[chosen].max() <= margins[rest].min()
