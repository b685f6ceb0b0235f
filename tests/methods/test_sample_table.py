"""The table of rows a sample: writing, samples that were not seen, checkpoints."""

from __future__ import annotations

import torch

from lond.methods.sample_table import SampleTable


def test_rows_are_taken_over_at_the_end_of_the_epoch() -> None:
    table = SampleTable(4, 2)
    table.write(torch.tensor([2, 0]), torch.tensor([[1.0, 2.0], [3.0, 4.0]]))
    assert table.rows.tolist() == [[0, 0]] * 4
    seen = table.merge()
    assert seen.tolist() == [True, False, True, False]
    assert table.rows.tolist() == [[3, 4], [0, 0], [1, 2], [0, 0]]


def test_unseen_samples_keep_their_row() -> None:
    table = SampleTable(3, 1)
    table.write(torch.arange(3), torch.tensor([[1.0], [2.0], [3.0]]))
    table.merge()
    table.write(torch.tensor([1]), torch.tensor([[9.0]]))
    assert table.merge().tolist() == [False, True, False]
    assert table.rows.tolist() == [[1], [9], [3]]
    assert not table.merge().any()
    assert table.rows.tolist() == [[1], [9], [3]]


def test_writing_again_replaces() -> None:
    table = SampleTable(2, 1)
    for value in (5.0, 7.0):
        table.write(torch.tensor([1]), torch.tensor([[value]]))
    assert table.merge().tolist() == [False, True]
    assert table.rows.tolist() == [[0], [7]]


def test_rows_carry_no_gradient_and_are_single_precision() -> None:
    table = SampleTable(2, 1)
    table.write(torch.tensor([0]), torch.ones(1, 1, dtype=torch.bfloat16, requires_grad=True))
    table.merge()
    assert table.rows.dtype == torch.float32
    assert not table.rows.requires_grad


def test_loading_forgets_what_was_written() -> None:
    table = SampleTable(0, 3)
    table.load(torch.ones(4, 3))
    table.write(torch.tensor([1]), torch.zeros(1, 3))
    table.load(torch.full((4, 3), 2.0))
    assert not table.merge().any()
    assert table.rows.tolist() == [[2.0] * 3] * 4


def test_an_empty_table_can_be_merged() -> None:
    assert SampleTable(0, 3).merge().shape == (0,)
