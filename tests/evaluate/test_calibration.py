import math

import numpy as np
import pytest
import torch

from lond.evaluate.calibration import expected_calibration_error


def slow_ece(probabilities, labels, bins):
    total, known = 0.0, [i for i, label in enumerate(labels) if label >= 0]
    for number in range(bins):
        lower, upper = number / bins, (number + 1) / bins
        inside = [
            i for i in known if (lower < max(probabilities[i]) <= upper) or (number == 0 and max(probabilities[i]) == 0)
        ]
        if inside:
            accuracy = np.mean([int(np.argmax(probabilities[i])) == labels[i] for i in inside])
            confidence = np.mean([max(probabilities[i]) for i in inside])
            total += len(inside) / len(known) * abs(accuracy - confidence)
    return total


@pytest.mark.parametrize("bins", [1, 10, 15])
def test_equals_the_slow_reference(bins):
    random = np.random.RandomState(0)
    probabilities = random.dirichlet([0.5] * 4, 200)
    labels = random.randint(-1, 4, 200)
    got = expected_calibration_error(torch.from_numpy(probabilities), torch.from_numpy(labels), bins)
    assert got == pytest.approx(slow_ece(probabilities, labels, bins), abs=1e-12)


def test_by_hand():
    probabilities = torch.tensor([[0.9, 0.1], [0.9, 0.1], [0.4, 0.6], [0.4, 0.6]])
    labels = torch.tensor([0, 1, 1, 1])
    # 0.9 twice with accuracy 1/2, 0.6 twice with accuracy 1.
    assert expected_calibration_error(probabilities, labels, 10) == pytest.approx((2 * 0.4 + 2 * 0.4) / 4)


def test_right_and_sure_is_calibrated():
    assert expected_calibration_error(torch.eye(3), torch.arange(3)) == 0


def test_nothing_known_is_nan():
    assert math.isnan(expected_calibration_error(torch.eye(2), torch.tensor([-1, -1])))


@pytest.mark.parametrize("bad", [-0.1, 1.1, 60.0, math.nan, math.inf])
def test_values_that_are_no_probabilities_are_refused(bad: float) -> None:
    with pytest.raises(ValueError, match=r"must lie in \[0, 1\]"):
        expected_calibration_error(torch.tensor([[0.5, 0.5], [bad, 0.2]]), torch.tensor([0, 1]))
    # Foreign rows do not count.
    assert expected_calibration_error(torch.tensor([[0.5, 0.5], [bad, 0.2]]), torch.tensor([0, -1])) == 0.5


def test_other_lengths_are_refused() -> None:
    with pytest.raises(ValueError, match="shapes"):
        expected_calibration_error(torch.full((3, 2), 0.5), torch.tensor([0, 1]))


def test_the_first_bin_and_the_default_number_of_bins():
    """With 40 classes the confidences reach the first of fifteen bins, and one lies on the border of two."""
    random = np.random.RandomState(1)
    probabilities = random.dirichlet([2.0] * 40, 300)
    probabilities[0] = 1 / 40
    probabilities[1] = np.where(np.arange(40) == 3, 2 / 15, (1 - 2 / 15) / 39)
    # Of the least sure rows a tenth is right, which is more than they claim; of the others none.
    order = probabilities.max(axis=1).argsort()
    labels = (probabilities.argmax(axis=1) + 1) % 40
    labels[order[:150:8]] -= 1
    labels %= 40
    got = expected_calibration_error(torch.from_numpy(probabilities), torch.from_numpy(labels))
    assert (probabilities.max(axis=1) < 1 / 15).any()
    assert got == pytest.approx(slow_ece(probabilities, labels, 15), abs=1e-12)
    assert got != pytest.approx(slow_ece(probabilities, labels, 16), abs=1e-6)


@pytest.mark.parametrize(("largest", "fits"), [(1.001, True), (1.0011, False)])
def test_a_probability_may_exceed_one_as_far_as_half_precision_rounds(largest: float, fits: bool) -> None:
    probabilities = torch.tensor([[largest, 0.0]], dtype=torch.float64)
    if fits:
        assert expected_calibration_error(probabilities, torch.tensor([0])) == pytest.approx(0.001)
        return
    with pytest.raises(ValueError, match="must lie in"):
        expected_calibration_error(probabilities, torch.tensor([0]))
