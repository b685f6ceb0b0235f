"""Exact neighbours against a full sort, in blocks and at the edges."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from reference import identify as ref

from lond.identify import neighbour_cells
from lond.identify import neighbours as module
from lond.identify.neighbours import nearest_neighbours


def unit(rows: int, size: int = 5, seed: int = 0) -> torch.Tensor:
    x = torch.randn(rows, size, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)
    return torch.nn.functional.normalize(x, dim=1)


@pytest.mark.parametrize("include_self", [True, False])
@pytest.mark.parametrize(("rows", "k"), [(2, 1), (30, 1), (30, 7), (30, 29)])
def test_equals_reference(rows: int, k: int, include_self: bool) -> None:
    bank = unit(rows)
    got = nearest_neighbours(bank, k, include_self=include_self)
    assert got.indices.shape == got.similarities.shape == (rows, k)
    assert got.indices.dtype == torch.int64
    assert got.indices.tolist() == ref.neighbours(bank.numpy(), k, include_self)
    expected = (bank @ bank.T).gather(1, got.indices)
    np.testing.assert_allclose(got.similarities, expected, atol=1e-14)


def test_by_hand() -> None:
    bank = torch.tensor([[1.0, 0.0], [0.8, 0.6], [0.0, 1.0]])
    got = nearest_neighbours(bank, 2)
    assert got.indices.tolist() == [[0, 1], [1, 0], [2, 1]]
    np.testing.assert_allclose(got.similarities, [[1, 0.8], [1, 0.8], [1, 0.6]], atol=1e-7)
    assert nearest_neighbours(bank, 2, include_self=False).indices.tolist() == [[1, 2], [0, 2], [1, 0]]


def test_self_is_first_or_absent() -> None:
    bank = unit(20)
    own = torch.arange(20)
    assert torch.equal(nearest_neighbours(bank, 5).indices[:, 0], own)
    assert not (nearest_neighbours(bank, 5, include_self=False).indices == own[:, None]).any()


def test_k_is_capped_by_the_candidates() -> None:
    bank = unit(6)
    for include_self, expected in ((True, 6), (False, 5)):
        got = nearest_neighbours(bank, 200, include_self=include_self)
        assert got.indices.shape == (6, expected)
        assert got.similarities.isfinite().all()
        assert all(len(set(row)) == expected for row in got.indices.tolist())


def test_one_row() -> None:
    assert nearest_neighbours(unit(1), 3).indices.tolist() == [[0]]
    with pytest.raises(ValueError, match="candidate"):
        nearest_neighbours(unit(1), 3, include_self=False)


@pytest.mark.parametrize(("rows", "k"), [(0, 1), (3, 0), (3, -1)])
def test_refuses_nothing_to_find(rows: int, k: int) -> None:
    with pytest.raises(ValueError, match="k >= 1"):
        nearest_neighbours(torch.ones(rows, 2), k)


@pytest.mark.parametrize("include_self", [True, False])
@pytest.mark.parametrize("rows_a_block", [1, 3, 7, 22, 23])
def test_blocks_smaller_than_the_data(monkeypatch: pytest.MonkeyPatch, rows_a_block: int, include_self: bool) -> None:
    """23 rows: the last block may be partial, and own columns must follow the block's start."""
    bank = unit(23)
    whole = nearest_neighbours(bank, 6, include_self=include_self)
    monkeypatch.setattr(module, "BLOCK_BYTES", rows_a_block * 4 * 23)
    blocks = nearest_neighbours(bank, 6, include_self=include_self)
    assert torch.equal(blocks.indices, whole.indices)
    np.testing.assert_allclose(blocks.similarities, whole.similarities, atol=1e-14)


def test_a_row_larger_than_the_block(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "BLOCK_BYTES", 1)
    bank = unit(9)
    assert nearest_neighbours(bank, 4).indices.tolist() == ref.neighbours(bank.numpy(), 4, include_self=True)


@pytest.mark.parametrize("block_bytes", [1, 64 * 2**20])
def test_queries_other_than_the_bank(monkeypatch: pytest.MonkeyPatch, block_bytes: int) -> None:
    """``include_self`` has no meaning for foreign queries: row i of the bank is no self of query i."""
    monkeypatch.setattr(module, "BLOCK_BYTES", block_bytes)
    bank, queries = unit(12), unit(5, seed=1)
    order = (queries @ bank.T).argsort(dim=1, descending=True)[:, :4]
    for include_self in (True, False):
        assert torch.equal(nearest_neighbours(bank, 4, queries=queries, include_self=include_self).indices, order)


def test_no_queries() -> None:
    got = nearest_neighbours(unit(4), 2, queries=torch.empty(0, 5, dtype=torch.float64))
    assert got.indices.shape == got.similarities.shape == (0, 2)


def test_duplicates_are_deterministic() -> None:
    bank = torch.cat([torch.eye(4)] * 20)
    first = nearest_neighbours(bank, 10)
    for _ in range(3):
        again = nearest_neighbours(bank, 10)
        assert torch.equal(first.indices, again.indices)
    assert (first.similarities == 1).all()
    assert (first.indices % 4 == torch.arange(80)[:, None] % 4).all()


def test_duplicates_never_bring_self_back() -> None:
    bank = torch.ones(12, 1)
    got = nearest_neighbours(bank, 11, include_self=False)
    assert [sorted(row) for row in got.indices.tolist()] == [[j for j in range(12) if j != i] for i in range(12)]


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32])
def test_other_precisions(dtype: torch.dtype) -> None:
    bank = unit(20).to(dtype)
    got = nearest_neighbours(bank, 5, include_self=False)
    assert got.similarities.isfinite().all()
    exact = bank.double() @ bank.double().T
    np.testing.assert_allclose(got.similarities.double(), exact.gather(1, got.indices), atol=8e-3)


def test_the_bank_is_left_alone() -> None:
    bank = unit(6)
    before = bank.clone()
    nearest_neighbours(bank, 3, include_self=False)
    assert torch.equal(bank, before)


@settings(max_examples=30, deadline=None, derandomize=True)
@given(st.integers(2, 25), st.integers(1, 30), st.booleans(), st.integers(0, 10**6))
def test_the_order_of_the_rows_does_not_matter(rows: int, k: int, include_self: bool, seed: int) -> None:
    bank = unit(rows, seed=seed)
    order = torch.randperm(rows, generator=torch.Generator().manual_seed(seed))
    plain = nearest_neighbours(bank, k, include_self=include_self)
    moved = nearest_neighbours(bank[order], k, include_self=include_self)
    assert torch.equal(order[moved.indices], plain.indices[order])
    np.testing.assert_allclose(moved.similarities, plain.similarities[order], atol=1e-14)


@pytest.mark.parametrize("include_self", [True, False])
def test_faiss_finds_what_pytorch_finds(monkeypatch: pytest.MonkeyPatch, include_self: bool) -> None:
    pytest.importorskip("faiss")
    bank = unit(300, 12).float()
    # Copies: of twelve equal rows some never meet themselves among the nearest.
    bank[40:52] = bank[0]
    plain = nearest_neighbours(bank, 7, include_self=include_self)
    monkeypatch.setattr(module, "FAISS_FROM", 1)
    found = nearest_neighbours(bank, 7, include_self=include_self)
    np.testing.assert_allclose(found.similarities, plain.similarities, atol=1e-6)
    exact = (bank.double() @ bank.double().T).gather(1, found.indices)
    np.testing.assert_allclose(found.similarities, exact, atol=1e-6)
    assert all(len(set(row)) == 7 for row in found.indices.tolist())
    if not include_self:
        assert not (found.indices == torch.arange(300)[:, None]).any()
    queries = unit(9, 12, seed=4).float()
    assert nearest_neighbours(bank[:40], 7, queries=queries).indices.equal((queries @ bank[:40].T).topk(7).indices)


def test_what_is_no_number_is_left_to_pytorch(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "FAISS_FROM", 1)
    bank = unit(20).float()
    bank[3] = torch.nan
    assert int(nearest_neighbours(bank, 4).indices.min()) >= 0


@pytest.mark.parametrize("include_self", [True, False])
def test_beyond_a_size_cells_are_compared(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, include_self: bool
) -> None:
    bank = unit(600, 3).float()
    plain = nearest_neighbours(bank, 5, include_self=include_self)
    monkeypatch.setattr(module, "EXACT_UP_TO", 500)
    with caplog.at_level("INFO", logger="lond"):
        found = nearest_neighbours(bank, 5, include_self=include_self)
    hits = (found.indices[:, :, None] == plain.indices[:, None]).any(dim=2).float().mean()
    assert found.recall > 0.9 and float(hits) > 0.9
    assert f"recall {found.recall:.3f}" in caplog.text
    assert found.first(2).recall == found.recall and plain.recall == 1
    assert include_self or not (found.indices == torch.arange(600)[:, None]).any()
    np.testing.assert_allclose(found.similarities, (bank @ bank.T).gather(1, found.indices), atol=1e-6)


def test_recall_by_cells_is_that_of_others(monkeypatch: pytest.MonkeyPatch) -> None:
    """A point surely finds itself; with one neighbour that would hide half of what is missed."""
    bank = unit(3000, 12).float()
    plain = nearest_neighbours(bank, 1, include_self=False)
    monkeypatch.setattr(module, "EXACT_UP_TO", 500)
    monkeypatch.setattr(neighbour_cells, "SAMPLE", 3000)
    found = nearest_neighbours(bank, 1, include_self=False)
    hits = float((found.indices == plain.indices).float().mean())
    assert hits < 0.9
    assert found.recall == pytest.approx(hits, abs=0.01)
