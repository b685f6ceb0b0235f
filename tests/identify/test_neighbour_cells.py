"""Cells: centres, the recall that is promised, and all cells together against an exact search."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor

from lond.identify import neighbour_cells as module
from lond.identify.neighbour_cells import cell_neighbours, enough_cells, learn_centres, nearest_centre


def exact(bank: Tensor, queries: Tensor, k: int) -> tuple[Tensor, Tensor]:
    found = (queries @ bank.T).topk(k, dim=1)
    return found.indices, found.values


def points(count: int, size: int = 4) -> Tensor:
    drawn = torch.randn(count, size, generator=torch.Generator().manual_seed(0))
    return torch.nn.functional.normalize(drawn, dim=1)


def test_all_cells_together_are_an_exact_search(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "RECALL", 1.0)
    monkeypatch.setattr(module, "MOST_SHARE", 1.0)
    monkeypatch.setattr(module, "SAMPLE", 400)
    bank = points(400)
    found = cell_neighbours(bank, 6, exact)
    assert found.recall == 1
    assert found.indices.equal(exact(bank, bank, 6)[0])
    assert torch.allclose(found.similarities, exact(bank, bank, 6)[1])


def test_the_promised_recall_is_that_of_the_sample(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "SAMPLE", 2000)
    monkeypatch.setattr(module, "RECALL", 0.8)
    bank = points(2000)
    found = cell_neighbours(bank, 5, exact)
    true = exact(bank, bank, 5)[0]
    hits = (found.indices[:, :, None] == true[:, None]).any(dim=2).float().mean()
    assert float(hits) == pytest.approx(found.recall, abs=1e-6)
    assert found.recall >= 0.8 and found.compared < found.cells


def test_few_cells_are_compared_though_they_find_little(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "RECALL", 1.0)
    monkeypatch.setattr(module, "MOST_SHARE", 0.05)
    found = cell_neighbours(points(1000, 30), 5, exact)
    assert found.compared == -(-found.cells // 20) and found.recall < 0.9


def test_centres_are_means_of_their_points(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "ROUNDS", 50)
    bank = torch.cat([torch.eye(3)] * 40) + 0.05 * points(120, 3)
    bank = torch.nn.functional.normalize(bank, dim=1)
    centres = learn_centres(bank, 3, exact)
    own = nearest_centre(bank, centres, exact)
    assert sorted(own[:3].tolist()) == [0, 1, 2] and own.equal(own[:3].repeat(40))
    assert torch.allclose(centres[own[0]], torch.nn.functional.normalize(bank[::3].sum(dim=0), dim=0), atol=1e-6)
    assert nearest_centre(bank, bank[:3], exact).equal(exact(bank[:3], bank, 1)[0].squeeze(1))


def test_cells_without_enough_points_look_further() -> None:
    bank = torch.nn.functional.normalize(torch.tensor([[1.0, 0.0]] * 60 + [[0.0, 1.0]] * 4), dim=1)
    found = cell_neighbours(bank, 3, exact)
    assert found.indices.shape == (64, 3) and all(len(set(row)) == 3 for row in found.indices.tolist())


def test_how_many_cells_are_enough(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MOST_SHARE", 1.0)
    bank = points(64)
    own = torch.arange(64) % 4
    around = torch.stack([(torch.arange(4) + cell) % 4 for cell in range(4)])
    enough, recall = enough_cells(bank, 8, own, around, exact)
    ranks = (own[exact(bank, bank, 8)[0]] - own[:, None]) % 4
    assert recall == pytest.approx(float((ranks < enough).float().mean())) and recall >= module.RECALL
    assert enough == 1 or float((ranks < enough - 1).float().mean()) < module.RECALL
