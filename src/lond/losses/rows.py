"""The checks that losses of a batch share: broadcasting would hide what does not belong together."""

from __future__ import annotations

from torch import Tensor


def check_tensors(**parts: Tensor) -> None:
    """Check that all parts of a loss are tensors.

    Raises:
        TypeError: one is something else; gradients need tensors.
    """
    for name, part in parts.items():
        if not isinstance(part, Tensor):
            raise TypeError(f"losses take tensors; give torch.as_tensor({name}) for this {type(part).__name__}")


def check_rows(**parts: Tensor) -> None:
    """Check that all parts of a loss are tensors with one row a sample: broadcasting would hide that some are missing.

    Raises:
        TypeError: one is no tensor; gradients need them.
        ValueError: they differ in length, or one is a single number; the message names them all.
    """
    check_tensors(**parts)
    lengths = {name: len(part) if part.ndim else None for name, part in parts.items()}
    if len(set(lengths.values())) > 1 or None in lengths.values():
        found = ", ".join(f"{name} {tuple(part.shape)}" for name, part in parts.items())
        raise ValueError(f"a loss needs one row a sample in each of its parts, not {found}")


def check_alike(dimensions: int, **parts: Tensor) -> None:
    """Check that all parts of a loss are tensors of one shape, with so many dimensions.

    Raises:
        TypeError: one is no tensor.
        ValueError: their shapes differ, or have another number of dimensions; the message names them all.
    """
    check_rows(**parts)
    shapes = {part.shape for part in parts.values()}
    if len(shapes) > 1 or any(len(shape) != dimensions for shape in shapes):
        found = ", ".join(f"{name} {tuple(part.shape)}" for name, part in parts.items())
        raise ValueError(f"a loss needs parts of one shape with {dimensions} dimensions, not {found}")
