"""The chances of images under their own labels: copies, conflicts, decisions and images without a label."""

from __future__ import annotations

import math
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from torch import Tensor

from lond.audit.own_chances import OwnChances, own_chances
from lond.crossfit.decided import NO_CLASS, UNDECIDED
from lond.types import UNLABELLED

LIKELY = torch.tensor([[0.9, 0.1], [0.3, 0.7]])
JUDGEMENT: Any = SimpleNamespace(
    labels=torch.tensor([0, UNLABELLED]),
    chances=torch.tensor([[0.7, 0.2, 0.1], [0.5, 0.1, 0.4]]),
    evidence=SimpleNamespace(log_chances_of=lambda rows: LIKELY[rows].log()),
)


def chances(at: list[int], labels: list[int], truth: list[int] | None = None) -> OwnChances:
    return own_chances(
        JUDGEMENT, torch.tensor(at), torch.tensor(labels), None if truth is None else torch.tensor(truth)
    )


def near(values: Tensor) -> Any:
    return pytest.approx(values.tolist(), nan_ok=True)


def test_chances_are_those_of_the_judgement_where_it_knew_the_label() -> None:
    found = chances([0, 0, -1], [0, 0, 1])
    assert near(found.wrong) == [0.2, 0.2, math.nan] and near(found.foreign) == [0.1, 0.1, math.nan]


def test_a_label_that_was_not_judged_is_as_likely_as_its_class() -> None:
    found = chances([1, 1, 1, 0], [0, 1, UNLABELLED, 1])
    assert near(found.wrong) == [0.7 * 0.6, 0.3 * 0.6, math.nan, 0.9 * 0.9]
    assert near(found.foreign) == [0.4, 0.4, 0.4, 0.1]


def test_decided_images_are_certain_each_under_its_own_label() -> None:
    found = chances([0, 0, 0, 0], [0, 1, 0, UNLABELLED], [0, 0, NO_CLASS, 0])
    assert near(found.wrong) == [0, 1, 0, math.nan] and found.foreign.tolist() == [0, 0, 1, 0]
    assert near(chances([0], [0], [UNDECIDED]).wrong) == [0.2]


def test_the_confidence_of_a_suggestion_is_at_most_the_chance_of_a_wrong_label() -> None:
    found = chances([0, 1], [0, UNLABELLED])
    assert found.of_suggestion(0, 0.6) == pytest.approx(0.2) and found.of_suggestion(0, 0.1) == 0.1
    assert found.of_suggestion(1, 0.6) == 0.6
