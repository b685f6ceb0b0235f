"""Seeds: a pure function of their purpose."""

from __future__ import annotations

import random

import numpy as np
import torch

from lond.seeds import derive_seed, generator, seed_global_state


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


def test_global_state_is_seeded_in_all_three_libraries() -> None:
    def draw() -> tuple[float, float, float]:
        return float(torch.rand(())), float(np.random.rand()), random.random()

    seed_global_state(4, "global", 2)
    first = draw()
    assert draw() != first
    seed_global_state(4, "global", 2)
    assert draw() == first
    seed_global_state(4, "global", 3)
    assert not set(draw()) & set(first)
