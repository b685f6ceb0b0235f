"""The processes that work on one run together, and how they talk."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import torch
from torch import Tensor

from lond.errors import LostProcessError

_group: ContextVar[ProcessGroup | None] = ContextVar("lond_processes", default=None)


@dataclass(frozen=True)
class ProcessGroup:
    """This process among ``processes``; ``device`` is where it computes, and where tensors are exchanged."""

    rank: int
    processes: int
    device: torch.device

    def rows(self, total: int) -> slice:
        """Return which of ``total`` rows are this process's; shares differ by one row at most.

        Examples:
            >>> [ProcessGroup(rank, 3, torch.device("cpu")).rows(7) for rank in range(3)]
            [slice(0, 2, None), slice(2, 4, None), slice(4, 7, None)]
        """
        first, last = (total * part // self.processes for part in (self.rank, self.rank + 1))
        return slice(first, last)

    def sizes(self, total: int) -> list[int]:
        """Return how many of ``total`` rows each process has."""
        ends = [total * part // self.processes for part in range(self.processes + 1)]
        return [last - first for first, last in pairwise(ends)]

    def sum(self, tensor: Tensor) -> Tensor:
        """Return the sum of a tensor over all processes.

        Raises:
            LostProcessError: one of them does not answer.
        """
        there = tensor.to(self.device, copy=True).contiguous()
        self._ask(torch.distributed.all_reduce, there)
        return there.to(tensor.device)

    def gather(self, rows: Tensor, total: int) -> Tensor:
        """Return all ``total`` rows in order, of which this process holds those of ``rows(total)``.

        Raises:
            LostProcessError: a process does not answer.
        """
        longest = -(-total // self.processes)
        padded = rows.new_zeros(longest, *rows.shape[1:], device=self.device)
        padded[: len(rows)] = rows
        found = [torch.empty_like(padded) for _ in range(self.processes)]
        self._ask(torch.distributed.all_gather, found, padded)
        parts = [part[:size] for part, size in zip(found, self.sizes(total), strict=True)]
        return torch.cat(parts).to(rows.device)

    def gather_objects(self, own: Any) -> list[Any]:
        """Return what every process holds, in their order.

        Raises:
            LostProcessError: a process does not answer.
        """
        found: list[Any] = [None] * self.processes
        self._ask(torch.distributed.all_gather_object, found, own)
        return found

    def _ask(self, collective: Callable[..., Any], *arguments: Any) -> None:
        with told_if_lost(self.rank, self.processes):
            collective(*arguments)


@contextmanager
def told_if_lost(rank: int, processes: int) -> Iterator[None]:
    """Explain how to resume if the other processes cannot be reached.

    Raises:
        LostProcessError: they cannot.
    """
    try:
        yield
    # Backends raise RuntimeError, and ValueError once the group was torn down.
    except (RuntimeError, ValueError) as error:
        # Backends put the place in their source first, and advice of many lines last.
        text = re.sub(r"^\[\S+\] ", "", " ".join(str(error).split())).split(". ")[0][:100]
        raise LostProcessError(
            f"process {rank + 1} of {processes} cannot reach the others: one of them ended or does not answer "
            f"({text}). Start the same command again: the run resumes after its last finished epoch, on as many "
            "processes as you like."
        ) from error


@contextmanager
def together(group: ProcessGroup | None) -> Iterator[None]:
    """Divide work among the processes while the context lasts: all of them must do the same in it.

    With None, or a group of one, every process works alone: for what only one of them does, or each for itself.
    """
    token = _group.set(group if group is not None and group.processes > 1 else None)
    try:
        yield
    finally:
        _group.reset(token)


def current_group() -> ProcessGroup | None:
    """Return the group that work is divided among here; None if this process works alone."""
    return _group.get()
