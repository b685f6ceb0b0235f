"""Every random number comes from a generator whose seed is a function of what it is for.

A run's randomness is a pure function of (seed, epoch, purpose, process), so a resumed run draws what the
uninterrupted one would have drawn.
"""

from __future__ import annotations

import hashlib
import random

import numpy as np
import torch


def derive_seed(seed: int, *purpose: str | int) -> int:
    """Return a 63-bit seed that depends on the seed and on every part of the purpose."""
    text = "/".join(str(part) for part in (seed, *purpose))
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "little") >> 1


def generator(seed: int, *purpose: str | int) -> torch.Generator:
    """Return a CPU generator for one purpose."""
    return torch.Generator().manual_seed(derive_seed(seed, *purpose))


def seed_global_state(seed: int, *purpose: str | int) -> None:
    """Seed the global generators of torch, NumPy and Python, for code that is not ours (dropout, a user's module)."""
    derived = derive_seed(seed, *purpose)
    torch.manual_seed(derived)
    np.random.seed(derived % 2**32)
    random.seed(derived)
