import math

import pytest
import torch

from lond.evaluate.verdicts import true_verdicts, verdict_quality
from lond.types import FOREIGN, UNLABELLED, Verdict

C, M, F, U = Verdict.CLEAN, Verdict.MISLABELLED, Verdict.FOREIGN, Verdict.UNLABELLED


def test_true_verdicts_by_hand():
    given = torch.tensor([0, 1, 1, UNLABELLED, UNLABELLED])
    true = torch.tensor([0, 0, FOREIGN, 1, FOREIGN])
    assert true_verdicts(given, true) == [C, M, F, U, F]


def test_the_first_class_is_a_label_like_any_other():
    assert true_verdicts(torch.tensor([0, 0, 0]), torch.tensor([0, 1, FOREIGN])) == [C, M, F]


def test_quality_by_hand():
    given = torch.tensor([0, 0, 1, 1, 0, 1])
    true = torch.tensor([0, 0, 0, 0, FOREIGN, FOREIGN])
    quality = verdict_quality([C, M, M, F, F, C], given, true)
    assert quality["verdict_clean_precision"] == 1 / 2
    assert quality["verdict_clean_recall"] == 1 / 2
    assert quality["verdict_mislabelled_precision"] == 1 / 2
    assert quality["verdict_mislabelled_recall"] == 1 / 2
    assert quality["verdict_foreign_precision"] == 1 / 2
    assert quality["verdict_foreign_recall"] == 1 / 2
    assert quality["verdict_foreign_f1"] == pytest.approx(1 / 2)


def test_no_denominator_is_nan():
    quality = verdict_quality([C], torch.tensor([0]), torch.tensor([0]))
    assert math.isnan(quality["verdict_foreign_precision"])
    assert math.isnan(quality["verdict_foreign_recall"])
    assert math.isnan(quality["verdict_foreign_f1"])
    assert quality["verdict_clean_f1"] == 1


def test_unequal_precision_and_recall_by_hand():
    """Four called foreign, of which three are; five are in all."""
    given = torch.zeros(7, dtype=torch.long)
    true = torch.tensor([FOREIGN] * 5 + [0, 0])
    quality = verdict_quality([F, F, F, C, C, F, C], given, true)
    assert quality["verdict_foreign_precision"] == 3 / 4
    assert quality["verdict_foreign_recall"] == 3 / 5
    assert quality["verdict_foreign_f1"] == pytest.approx(2 * (3 / 4) * (3 / 5) / (3 / 4 + 3 / 5))


def test_other_lengths_are_refused():
    with pytest.raises(ValueError, match="verdicts but"):
        verdict_quality([C, C], torch.tensor([0]), torch.tensor([0]))
    with pytest.raises(ValueError, match="equally long"):
        true_verdicts(torch.tensor([0, 1]), torch.tensor([0]))
