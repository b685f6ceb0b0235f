import torch

from lond.identify.verdicts import judge
from lond.types import UNLABELLED, Verdict


def test_judge_by_hand():
    labels = torch.tensor([0, 0, 0, UNLABELLED, UNLABELLED, 1])
    predicted = torch.tensor([0, 1, 0, 1, 1, 0])
    scores = torch.tensor([0.1, 0.1, 0.6, 0.1, 0.6, 0.5])
    assert judge(labels, predicted, scores, 0.5) == [
        Verdict.CLEAN,
        Verdict.MISLABELLED,
        Verdict.FOREIGN,
        Verdict.UNLABELLED,
        Verdict.FOREIGN,
        Verdict.MISLABELLED,  # a score at the threshold is not above it
    ]


def test_judge_nothing():
    empty = torch.empty(0)
    assert judge(empty.long(), empty.long(), empty, 0.5) == []
