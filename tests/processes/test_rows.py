"""Rows divided among processes: the same outputs, and the same gradients once they are averaged."""

from __future__ import annotations

import pytest
import torch
from processes.threads import run_together
from torch import Tensor

from lond.processes.rows import by_rows, share_rows


@pytest.mark.parametrize(("processes", "total"), [(2, 6), (2, 7), (3, 8), (4, 4), (4, 3), (3, 1)])
def test_gradients_of_a_coupled_loss_are_those_of_one_process(processes: int, total: int) -> None:
    inputs = torch.randn(total, 3, generator=torch.Generator().manual_seed(0))
    start = torch.randn(3, 2, generator=torch.Generator().manual_seed(1))

    def work(_rank: int) -> tuple[Tensor, ...]:
        inner, outer = start.clone().requires_grad_(), torch.ones(2).requires_grad_()
        first, second = by_rows(lambda rows: (rows @ inner, (rows @ inner).square()), inputs)
        # Every row meets every other, and a parameter stands outside of what is divided.
        loss = ((first * outer) @ first.T).exp().mean() + second.mean()
        loss.backward()
        return loss.detach(), first.detach(), inner.grad, outer.grad

    alone, found = work(0), run_together(processes, work)
    for own in found:
        assert torch.allclose(own[0], alone[0])
        assert torch.allclose(own[1], alone[1])
    for place in (2, 3):
        averaged = torch.stack([own[place] for own in found]).mean(dim=0)
        assert torch.allclose(averaged, alone[place], rtol=1e-4)


def test_each_process_runs_its_rows_only() -> None:
    seen = run_together(2, lambda _rank: _sizes(5))
    assert seen == [[2], [3]]
    assert run_together(4, lambda _rank: _sizes(3)) == [[3]] * 4


def _sizes(total: int) -> list[int]:
    sizes: list[int] = []

    def note(rows: Tensor) -> tuple[Tensor]:
        sizes.append(len(rows))
        return (rows,)

    by_rows(note, torch.zeros(total, 1))
    return sizes


@pytest.mark.parametrize(("processes", "total"), [(1, 5), (2, 5), (3, 7), (4, 2)])
def test_shared_rows_are_in_order(processes: int, total: int) -> None:
    found = run_together(processes, lambda _rank: share_rows(lambda rows: (torch.arange(total)[rows],), total))
    assert all(torch.equal(rows, torch.arange(total)) for (rows,) in found)
