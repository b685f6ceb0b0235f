import pytest
import torch

from lond.detect.conformal import p_values
from lond.detect.threshold import threshold_at
from lond.errors import DataError


def slow_p_value(score, known):
    return (1 + sum(value >= score for value in known)) / (len(known) + 1)


def test_equals_the_slow_reference_with_ties():
    random = torch.Generator().manual_seed(0)
    known = torch.randint(0, 10, (50,), generator=random) / 10
    scores = torch.randint(-2, 13, (40,), generator=random) / 10
    expected = [slow_p_value(score, known.tolist()) for score in scores.tolist()]
    assert p_values(scores, known).tolist() == pytest.approx(expected, abs=1e-12)


def test_by_hand():
    known = torch.tensor([0.1, 0.2, 0.3])
    assert p_values(torch.tensor([0.0, 0.2, 0.9]), known).tolist() == [1.0, 3 / 4, 1 / 4]


@pytest.mark.parametrize("rate", [0.01, 0.05, 0.1, 0.3])
def test_says_the_same_as_the_threshold(rate):
    random = torch.Generator().manual_seed(1)
    known, scores = torch.rand(997, generator=random), torch.rand(500, generator=random)
    assert torch.equal(p_values(scores, known) <= rate, scores > threshold_at(known, rate))


def test_small_p_values_are_as_rare_as_they_say():
    random = torch.Generator().manual_seed(2)
    flagged = [
        float((p_values(torch.randn(100, generator=random), torch.randn(99, generator=random)) <= 0.1).double().mean())
        for _ in range(200)
    ]
    assert sum(flagged) / len(flagged) == pytest.approx(0.1, abs=0.01)


def test_refuses_empty_and_non_finite_calibration():
    with pytest.raises(DataError, match="there are none"):
        p_values(torch.zeros(1), torch.empty(0))
    with pytest.raises(DataError, match="not finite"):
        p_values(torch.zeros(1), torch.tensor([float("nan")]))


def test_no_scores_give_no_p_values():
    assert p_values(torch.empty(0), torch.zeros(3)).shape == (0,)
