"""The table of rows a sample: writing, joining processes, samples that were not seen, checkpoints."""

from __future__ import annotations

import copy

import torch
from torch import Tensor

from lond.methods.base import Total
from lond.methods.sample_table import SampleTable


def alone(tensor: Tensor) -> Tensor:
    return tensor


def merge_together(*tables: SampleTable) -> list[Tensor]:
    """Merge as several processes do: what each asks for is summed over all."""
    asked = [_asked(table) for table in tables]
    sums = [torch.stack(parts).sum(dim=0) for parts in zip(*asked, strict=True)]
    return [table.merge(_answering(sums)) for table in tables]


def _asked(table: SampleTable) -> list[Tensor]:
    """Return what a table's merge wants to be summed, in order."""
    asked: list[Tensor] = []

    def note(tensor: Tensor) -> Tensor:
        asked.append(tensor.clone())
        return tensor

    copy.deepcopy(table).merge(note)
    return asked


def _answering(sums: list[Tensor]) -> Total:
    rest = iter(sums)
    return lambda tensor: next(rest).clone()


def test_rows_are_taken_over_at_the_end_of_the_epoch() -> None:
    table = SampleTable(4, 2)
    table.write(torch.tensor([2, 0]), torch.tensor([[1.0, 2.0], [3.0, 4.0]]))
    assert table.rows.tolist() == [[0, 0]] * 4
    seen = table.merge(alone)
    assert seen.tolist() == [True, False, True, False]
    assert table.rows.tolist() == [[3, 4], [0, 0], [1, 2], [0, 0]]


def test_unseen_samples_keep_their_row() -> None:
    table = SampleTable(3, 1)
    table.write(torch.arange(3), torch.tensor([[1.0], [2.0], [3.0]]))
    table.merge(alone)
    table.write(torch.tensor([1]), torch.tensor([[9.0]]))
    assert table.merge(alone).tolist() == [False, True, False]
    assert table.rows.tolist() == [[1], [9], [3]]
    assert not table.merge(alone).any()
    assert table.rows.tolist() == [[1], [9], [3]]


def test_writing_again_replaces() -> None:
    table = SampleTable(2, 1)
    for value in (5.0, 7.0):
        table.write(torch.tensor([1]), torch.tensor([[value]]))
    assert table.merge(alone).tolist() == [False, True]
    assert table.rows.tolist() == [[0], [7]]


def test_two_processes_end_with_the_same_table() -> None:
    first, second = SampleTable(5, 2), SampleTable(5, 2)
    old = torch.arange(10.0).reshape(5, 2)
    first.load(old)
    second.load(old.clone())
    first.write(torch.tensor([0, 2]), torch.tensor([[1.0, 1.0], [2.0, 2.0]]))
    second.write(torch.tensor([4, 1]), torch.tensor([[3.0, 3.0], [4.0, 4.0]]))
    seen = merge_together(first, second)
    assert torch.equal(*seen)
    assert seen[0].tolist() == [True, True, True, False, True]
    assert torch.equal(first.rows, second.rows)
    assert first.rows.tolist() == [[1, 1], [4, 4], [2, 2], [6, 7], [3, 3]]
    # The next epoch starts afresh.
    first.write(torch.tensor([3]), torch.tensor([[8.0, 8.0]]))
    merge_together(first, second)
    assert first.rows.tolist() == second.rows.tolist() == [[1, 1], [4, 4], [2, 2], [8, 8], [3, 3]]


def test_a_sample_that_two_processes_saw_gets_the_mean() -> None:
    first, second = SampleTable(2, 1), SampleTable(2, 1)
    first.write(torch.tensor([0]), torch.tensor([[1.0]]))
    second.write(torch.tensor([0, 1]), torch.tensor([[2.0], [5.0]]))
    merge_together(first, second)
    assert first.rows.tolist() == second.rows.tolist() == [[1.5], [5]]


def test_rows_carry_no_gradient_and_are_single_precision() -> None:
    table = SampleTable(2, 1)
    table.write(torch.tensor([0]), torch.ones(1, 1, dtype=torch.bfloat16, requires_grad=True))
    table.merge(alone)
    assert table.rows.dtype == torch.float32
    assert not table.rows.requires_grad


def test_loading_forgets_what_was_written() -> None:
    table = SampleTable(0, 3)
    table.load(torch.ones(4, 3))
    table.write(torch.tensor([1]), torch.zeros(1, 3))
    table.load(torch.full((4, 3), 2.0))
    assert not table.merge(alone).any()
    assert table.rows.tolist() == [[2.0] * 3] * 4


def test_an_empty_table_can_be_merged() -> None:
    assert SampleTable(0, 3).merge(alone).shape == (0,)
