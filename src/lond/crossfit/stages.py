"""Finished stages of a judgement, stored so that a killed one can resume."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

import torch
from torch import Tensor

from lond.crossfit.heads import Heads
from lond.identify.neighbours import Neighbours


class StageStore(Protocol):
    """Keeps named tensors."""

    def load(self, name: str) -> dict[str, Tensor] | None:
        """Return what was saved under a name; None if nothing was."""

    def save(self, name: str, tensors: dict[str, Tensor]) -> None:
        """Keep tensors under a name."""


class Stages:
    """Makes what took long once, and has it from the store afterwards; without a store it is made every time."""

    def __init__(self, store: StageStore | None = None) -> None:
        """Take the store."""
        self.store = store

    @property
    def kept(self) -> bool:
        """Whether anything is kept."""
        return self.store is not None

    def heads(self, name: str, make: Callable[[], Heads]) -> Heads:
        """Return heads from the store, or make and keep them."""
        kept = self._load(name)
        if kept is not None:
            return Heads(kept["weights"], kept["offsets"])
        made = make()
        self._save(name, {"weights": made.weights, "offsets": made.offsets})
        return made

    def neighbours(self, make: Callable[[], Neighbours]) -> Neighbours:
        """Return neighbours from the store, or make and keep them."""
        kept = self._load("neighbours")
        if kept is not None:
            return Neighbours(kept["indices"].long(), kept["similarities"], float(kept["recall"]))
        made = make()
        recall = torch.tensor(made.recall, dtype=torch.float64)
        small = made.indices.to(torch.int32)
        self._save("neighbours", {"indices": small, "similarities": made.similarities, "recall": recall})
        return made

    def _load(self, name: str) -> dict[str, Tensor] | None:
        return None if self.store is None else self.store.load(name)

    def _save(self, name: str, tensors: dict[str, Tensor]) -> None:
        if self.store is not None:
            self.store.save(name, {key: value.contiguous() for key, value in tensors.items()})
