"""Threads that talk as the processes of a run do: fast, and enough for what the room itself promises."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any, TypeVar

import torch
from torch import Tensor

from lond.processes.group import ProcessGroup, together

T = TypeVar("T")
CPU = torch.device("cpu")


@dataclass
class Exchange:
    """Where threads put what they hold, and wait for the others."""

    count: int
    held: list[Any] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.held, self.barrier = [None] * self.count, threading.Barrier(self.count, timeout=20)

    def all(self, rank: int, own: Any) -> list[Any]:
        self.held[rank] = own
        self.barrier.wait()
        found = list(self.held)
        self.barrier.wait()
        return found


@dataclass(frozen=True)
class ThreadGroup(ProcessGroup):
    """A group whose processes are threads."""

    exchange: Exchange = field(default_factory=lambda: Exchange(1))

    def sum(self, tensor: Tensor) -> Tensor:
        return torch.stack(self.exchange.all(self.rank, tensor)).sum(dim=0)

    def gather(self, rows: Tensor, total: int) -> Tensor:
        assert len(rows) == self.sizes(total)[self.rank]
        return torch.cat(self.exchange.all(self.rank, rows))

    def gather_objects(self, own: Any) -> list[Any]:
        return self.exchange.all(self.rank, own)


def run_together(processes: int, work: Callable[[int], T]) -> list[T]:
    """Return what ``work`` gives in each of several threads that work together."""
    exchange = Exchange(processes)

    def one(rank: int) -> T:
        with together(ThreadGroup(rank, processes, CPU, exchange)):
            return work(rank)

    with ThreadPoolExecutor(processes) as pool:
        return list(pool.map(one, range(processes)))
