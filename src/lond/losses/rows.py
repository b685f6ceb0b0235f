"""The one check that all losses of a batch share."""

from __future__ import annotations

from torch import Tensor


def check_rows(**parts: Tensor) -> None:
    """Check that all parts of a loss have one row a sample: broadcasting would hide that some are missing.

    Raises:
        ValueError: they differ in length, or one is a single number; the message names them all.
    """
    lengths = {name: len(part) if part.ndim else None for name, part in parts.items()}
    if len(set(lengths.values())) > 1 or None in lengths.values():
        found = ", ".join(f"{name} {tuple(part.shape)}" for name, part in parts.items())
        raise ValueError(f"a loss needs one row a sample in each of its parts, not {found}")
