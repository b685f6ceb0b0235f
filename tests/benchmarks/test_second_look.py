"""How decisions are counted: a person who tells the truth, and errors that become fewer."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
import torch
from benchmarks.made_up import task
from benchmarks.noise_bench.cells import Cell
from benchmarks.noise_bench.specs import Spec
from benchmarks.second_look import ORDERS, decisions_and_errors, decisions_to_halve, doubt, final_labels

from lond.crossfit.judgement import judge_labels


def test_the_half_is_found_between_two_steps() -> None:
    assert decisions_to_halve([(0, 100), (10, 60), (20, 40)]) == 15
    assert decisions_to_halve([(0, 100), (10, 60)]) is None


@pytest.mark.parametrize("order", ORDERS)
def test_decisions_leave_fewer_errors(order: str) -> None:
    made, true = task(each=40, wrong=0.3)
    every = np.ones(len(true), dtype=bool)
    cell = Cell(Spec("made", "clusters", 3, 40), made.features, made.given, true, made.features, true, 3, every)
    curve = decisions_and_errors(cell, ORDERS[order], again=True)
    assert curve[0][0] == 0 and all(after > before for (before, _), (after, _) in pairwise(curve))
    assert len(curve) == 1 or curve[-1][1] <= curve[0][1]


def test_labels_and_doubt_follow_the_verdicts() -> None:
    made, _ = task(each=40, wrong=0.2)
    said = judge_labels(torch.from_numpy(made.features), torch.from_numpy(made.given), 3)
    left, unsure = final_labels(said), doubt(said)
    for row in range(len(left)):
        if said.foreign[row]:
            assert left[row] == -1 and unsure[row] == 1 - said.chances[row, 2]
        elif said.wrong[row]:
            changes = bool(said.confidence[row] >= 0.5)
            assert left[row] == (said.evidence.suggested[row] if changes else said.labels[row])
            assert unsure[row] == 1 - said.confidence[row]
        else:
            assert left[row] == said.labels[row] and unsure[row] == 1 - said.chances[row, 0]
