"""Seeds: a pure function of their purpose."""

from __future__ import annotations

import random
import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
import torch

from lond.seeds import derive_seed, generator, own_random_state


def test_a_seed_depends_on_every_part_of_its_purpose() -> None:
    purposes = [(0,), (1,), (0, "a"), (0, "b"), (0, "a", 1), (0, "a", 2), (0, "a", 1, 0), (0, "a", 10), (-1, "a", 1)]
    assert len({derive_seed(*purpose) for purpose in purposes}) == len(purposes)


def test_a_seed_never_changes() -> None:
    """Results on disk rest on these values."""
    assert derive_seed(0, "order", 3, "robust") == derive_seed(0, "order", 3, "robust")
    import hashlib

    digest = hashlib.sha256(b"0/order/3/robust").digest()
    assert derive_seed(0, "order", 3, "robust") == int.from_bytes(digest[:8], "little") // 2
    assert 0 <= derive_seed(0, "order", 3, "robust") < 2**63


def test_generators_are_independent_of_the_global_state() -> None:
    torch.manual_seed(1)
    first = torch.rand(3, generator=generator(5, "views"))
    torch.manual_seed(2)
    assert torch.equal(first, torch.rand(3, generator=generator(5, "views")))
    assert not torch.equal(first, torch.rand(3, generator=generator(5, "order")))


def draw() -> tuple[float, float, float]:
    return float(torch.rand(())), float(np.random.rand()), random.random()


def drawn(*purpose: str | int) -> list[tuple[float, float, float]]:
    with own_random_state(4, *purpose):
        return [draw(), draw()]


def test_global_state_is_seeded_in_all_three_libraries() -> None:
    first = drawn("global", 2)
    assert first[0] != first[1]
    assert drawn("global", 2) == first
    assert not set(drawn("global", 3)[0]) & set(first[0])


def test_the_callers_global_state_is_left_as_it_was_also_after_an_error() -> None:
    def mine() -> tuple[float, float, float]:
        torch.manual_seed(1), np.random.seed(1), random.seed(1)
        return draw()

    torch.manual_seed(1), np.random.seed(1), random.seed(1)
    with pytest.raises(ZeroDivisionError), own_random_state(0):
        raise ZeroDivisionError
    assert draw() == mine()


def test_threads_take_turns_and_a_context_may_hold_another() -> None:
    def slow(purpose: int) -> list[float]:
        with own_random_state(0, purpose):
            first = random.random()
            drawn("within")
            time.sleep(0.05)
            return [first, random.random()]

    alone = [slow(0), slow(1)]
    with ThreadPoolExecutor(2) as threads:
        assert list(threads.map(slow, [0, 1])) == alone
