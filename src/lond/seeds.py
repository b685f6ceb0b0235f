"""Seeded random generators: every seed is derived from the purpose of its generator.

A run's randomness is a pure function of (seed, epoch, purpose, process), so a resumed run draws what the
uninterrupted one would have drawn.
"""

from __future__ import annotations

import hashlib
import os
import random
import threading
from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
import torch


def derive_seed(seed: int, *purpose: str | int) -> int:
    """Return a 63-bit seed that depends on the seed and on every part of the purpose."""
    text = "/".join(str(part) for part in (seed, *purpose))
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "little") >> 1


def generator(seed: int, *purpose: str | int) -> torch.Generator:
    """Return a CPU generator for one purpose."""
    return torch.Generator().manual_seed(derive_seed(seed, *purpose))


@contextmanager
def own_random_state(seed: int, *purpose: str | int) -> Iterator[None]:
    """Seed the global generators of torch, NumPy and Python while the context lasts, and leave them as they were.

    This is for code that is not ours and takes no generator: initial weights, dropout, a user's module. One thread at a
    time is in such a context, so two runs in threads of one process draw what each would draw alone.
    """
    with _one_at_a_time:
        python, numpy, mps = random.getstate(), np.random.get_state(), torch.backends.mps.is_available()
        on_mps = torch.mps.get_rng_state() if mps else None
        # Asking for the state of a GPU that nobody uses would take memory on it.
        gpus = range(torch.cuda.device_count()) if torch.cuda.is_initialized() else ()
        try:
            with torch.random.fork_rng(devices=gpus):
                _seed_global_state(derive_seed(seed, *purpose))
                yield
        finally:
            random.setstate(python)
            np.random.set_state(numpy)
            if on_mps is not None:
                torch.mps.set_rng_state(on_mps)


def _seed_global_state(seed: int) -> None:
    torch.manual_seed(seed)
    np.random.seed(seed % 2**32)
    random.seed(seed)


def _renew_lock() -> None:
    """Free a forked process from a lock that another thread of its parent held."""
    global _one_at_a_time
    _one_at_a_time = threading.RLock()


_one_at_a_time = threading.RLock()
if hasattr(os, "register_at_fork"):  # not on Windows
    os.register_at_fork(after_in_child=_renew_lock)
