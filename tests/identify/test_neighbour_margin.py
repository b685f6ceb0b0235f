"""Eq. 7-9 against loops, by hand and at the edges."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from reference import identify as ref

from lond.identify.neighbour_margin import clean_quota, neighbour_labels, neighbour_margin, select_clean
from lond.identify.neighbours import Neighbours, nearest_neighbours
from lond.types import UNLABELLED

TAU = 0.1


def random_case(rows: int, classes: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Unit embeddings, positives and labels, of which about one in five is missing."""
    rng = np.random.default_rng(seed)
    z = rng.normal(size=(rows, 4))
    labels = rng.integers(classes, size=rows)
    labels[rng.random(rows) < 0.2] = UNLABELLED
    return z / np.linalg.norm(z, axis=1, keepdims=True), rng.random((rows, classes)), labels


def votes_for(counts: list[int]) -> tuple[torch.Tensor, torch.Tensor]:
    """Distributions and labels in which class c has ``counts[c]`` agreeing samples and one that disagrees."""
    classes = len(counts)
    labels = [c for c, n in enumerate(counts) for _ in range(n)] + list(range(classes))
    votes = [c for c, n in enumerate(counts) for _ in range(n)] + [(c + 1) % classes for c in range(classes)]
    return torch.eye(classes)[votes], torch.tensor(labels)


class TestNeighbourLabels:
    @pytest.mark.parametrize("include_self", [True, False])
    @pytest.mark.parametrize(("rows", "classes", "k"), [(2, 2, 1), (25, 4, 6), (25, 4, 24), (10, 30, 3)])
    def test_equals_reference(self, rows: int, classes: int, k: int, include_self: bool) -> None:
        z, positives, _ = random_case(rows, classes)
        expected = ref.neighbour_labels(z, ref.neighbours(z, k, include_self), positives, TAU)
        for dtype, tolerance in ((torch.float64, 1e-13), (torch.float32, 1e-6)):
            near = nearest_neighbours(torch.tensor(z, dtype=dtype), k, include_self=include_self)
            got = neighbour_labels(near, torch.tensor(positives, dtype=dtype), TAU)
            assert got.dtype == dtype
            np.testing.assert_allclose(got, expected, atol=tolerance)

    def test_by_hand(self) -> None:
        """Weights 3/4 and 1/4 of votes (1/2, 1/2) and (1, 0); the rows vote with a normalised voice."""
        near = Neighbours(torch.tensor([[0, 1]]), torch.tensor([[math.log(3), 0.0]]) * TAU)
        got = neighbour_labels(near, torch.tensor([[0.9, 0.9], [0.1, 0.0]]), TAU)
        np.testing.assert_allclose(got, [[0.625, 0.375]], atol=1e-6)

    def test_neighbours_vote_not_the_sample_itself(self) -> None:
        near = nearest_neighbours(torch.tensor([[1.0, 0], [1.0, 0]]), 1, include_self=False)
        assert neighbour_labels(near, torch.eye(2), TAU).tolist() == [[0, 1], [1, 0]]

    def test_rows_of_zeros_have_no_vote(self) -> None:
        near = Neighbours(torch.tensor([[0, 1], [0, 0]]), torch.ones(2, 2))
        got = neighbour_labels(near, torch.tensor([[0.0, 0.0], [0.2, 0.6]]), TAU)
        np.testing.assert_allclose(got, [[0.25, 0.75], [0, 0]], atol=1e-6)

    def test_tiny_positives_vote_as_loud_as_large_ones(self) -> None:
        near = Neighbours(torch.tensor([[0, 1]]), torch.ones(1, 2))
        got = neighbour_labels(near, torch.tensor([[1e-30, 3e-30], [0.9, 0.1]]), TAU)
        np.testing.assert_allclose(got, [[0.575, 0.425]], atol=1e-6)

    def test_small_temperature_does_not_overflow(self) -> None:
        near = Neighbours(torch.tensor([[0, 1]]), torch.tensor([[1.0, 0.5]]))
        np.testing.assert_allclose(neighbour_labels(near, torch.eye(2), 1e-4), [[1, 0]], atol=1e-6)

    @pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
    def test_half_precision(self, dtype: torch.dtype) -> None:
        z, positives, labels = random_case(12, 4)
        got = neighbour_labels(nearest_neighbours(torch.tensor(z).to(dtype), 3), torch.tensor(positives).to(dtype), TAU)
        np.testing.assert_allclose(got.double().sum(1), np.ones(12), atol=2e-2)
        assert neighbour_margin(got, torch.tensor(labels), 3).isfinite().all()


class TestNeighbourMargin:
    @pytest.mark.parametrize(("classes", "top"), [(2, 1), (2, 3), (5, 1), (5, 3), (5, 4), (5, 99)])
    def test_equals_reference(self, classes: int, top: int) -> None:
        _, positives, labels = random_case(40, classes)
        q = positives / positives.sum(axis=1, keepdims=True)
        expected = ref.neighbour_margin(q, labels, top)
        np.testing.assert_allclose(neighbour_margin(torch.tensor(q), torch.tensor(labels), top), expected, atol=1e-14)
        got = neighbour_margin(torch.tensor(q).float(), torch.tensor(labels), top)
        np.testing.assert_allclose(got, expected, atol=1e-6)

    def test_by_hand(self) -> None:
        q = torch.tensor([[0.5, 0.3, 0.15, 0.05]]).expand(3, 4)
        got = neighbour_margin(q, torch.tensor([0, 3, 1]), 2)
        np.testing.assert_allclose(got, [0.5 - 0.225, 0.05 - 0.4, 0.3 - 0.325], atol=1e-6)

    def test_own_probability_is_clipped_the_others_are_not(self) -> None:
        got = neighbour_margin(torch.tensor([[1.0, 0.0], [1.0, 0.0]]), torch.tensor([0, 1]), 1)
        np.testing.assert_allclose(got, [0.99, 0.01 - 1.0], atol=1e-6)

    def test_an_unlabelled_sample_is_compared_with_every_class(self) -> None:
        got = neighbour_margin(torch.tensor([[0.7, 0.2, 0.1]]), torch.tensor([UNLABELLED]), 1)
        np.testing.assert_allclose(got, [0.01 - 0.7], atol=1e-6)

    def test_a_tie_with_the_given_label_still_counts(self) -> None:
        assert neighbour_margin(torch.tensor([[0.5, 0.5]]), torch.tensor([0]), 1).tolist() == [0]

    def test_inputs_are_left_alone(self) -> None:
        q, labels = torch.tensor([[0.6, 0.4]]), torch.tensor([UNLABELLED])
        neighbour_margin(q, labels, 1)
        assert labels.tolist() == [UNLABELLED]
        assert torch.equal(q, torch.tensor([[0.6, 0.4]]))


class TestCleanQuota:
    @settings(max_examples=100, deadline=None, derandomize=True)
    @given(st.lists(st.integers(0, 60), min_size=2, max_size=30), st.integers(0, 100))
    def test_equals_exact_fractions(self, counts: list[int], percent: int) -> None:
        assert clean_quota(*votes_for(counts), percent / 100) == ref.quantile(counts, f"{percent / 100:.2f}")

    def test_by_hand(self) -> None:
        counts = [10, 20, 30, 40]
        assert clean_quota(*votes_for(counts), 0.0) == 10
        assert clean_quota(*votes_for(counts), 1.0) == 40
        assert clean_quota(*votes_for(counts), 0.9) == 37  # position 2.7
        assert clean_quota(*votes_for(counts), 0.5) == 20  # the lower median, not 25
        assert clean_quota(*votes_for(counts), 0.25) == 17  # position 0.75: 17.5 rounded down

    def test_float_error_takes_nobody_away(self) -> None:
        """Ten classes at alpha_ID = 0.9: position 8.1, so 0 + 0.1 * 10 = 1, not 0.999... = 0."""
        assert clean_quota(*votes_for([0] * 9 + [10]), 0.9) == 1
        assert clean_quota(*votes_for([0] * 4 + [10] * 6), 0.4) == 6
        assert clean_quota(*votes_for([0] * 29 + [100] * 72), 0.29) == 100

    def test_only_agreeing_samples_count(self) -> None:
        q = torch.tensor([[0.9, 0.1], [0.4, 0.6], [0.2, 0.8], [0.9, 0.1]])
        labels = [0, 0, 1, UNLABELLED]
        assert ref.agreement_counts(q.numpy(), labels) == [1, 1]
        assert clean_quota(q, torch.tensor(labels), 1.0) == 1
        assert clean_quota(q, torch.full((4,), UNLABELLED), 1.0) == 0

    def test_an_absent_class_counts_as_zero(self) -> None:
        q = torch.eye(3)[[0, 0, 1]]
        assert clean_quota(q, torch.tensor([0, 0, 1]), 0.0) == 0
        assert clean_quota(q, torch.tensor([0, 0, 1]), 0.5) == 1


class TestSelectClean:
    @pytest.mark.parametrize("quota", [0, 1, 3, 1000])
    def test_equals_reference(self, quota: int) -> None:
        _, _, labels = random_case(60, 5)
        margins = np.random.default_rng(1).normal(size=60)
        got = select_clean(torch.tensor(margins), torch.tensor(labels), quota)
        assert got.dtype == torch.bool
        assert got.tolist() == ref.select_clean(margins, labels, 5, quota)

    def test_by_hand(self) -> None:
        margins = torch.tensor([0.1, 0.9, 0.5, -0.3, 0.2, 0.99])
        labels = torch.tensor([0, 0, 0, 2, 2, UNLABELLED])
        assert select_clean(margins, labels, 2).nonzero().flatten().tolist() == [1, 2, 3, 4]
        assert select_clean(margins, labels, 1).nonzero().flatten().tolist() == [1, 4]

    def test_ties_go_to_the_lower_index(self) -> None:
        assert select_clean(torch.zeros(50), torch.zeros(50).long(), 3).nonzero().flatten().tolist() == [0, 1, 2]

    def test_one_sample(self) -> None:
        assert select_clean(torch.tensor([0.1]), torch.tensor([0]), 1).tolist() == [True]
        assert select_clean(torch.tensor([0.1]), torch.tensor([UNLABELLED]), 1).tolist() == [False]

    @settings(max_examples=60, deadline=None, derandomize=True)
    @given(
        st.lists(st.tuples(st.integers(-2, 4), st.floats(-1, 1, width=32)), min_size=1, max_size=40), st.integers(0, 9)
    )
    def test_quota_and_threshold(self, samples: list[tuple[int, float]], quota: int) -> None:
        labels, margins = (torch.tensor(x) for x in zip(*samples, strict=True))
        clean = select_clean(margins, labels, quota)
        assert not clean[labels < 0].any()
        for c in range(5):
            members = labels == c
            assert int(clean[members].sum()) == min(quota, int(members.sum()))
            kept, left = margins[members & clean], margins[members & ~clean]
            if len(kept) and len(left):
                assert kept.min() >= left.max()
