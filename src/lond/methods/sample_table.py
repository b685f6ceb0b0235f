"""What was seen of every training sample during an epoch."""

from __future__ import annotations

import torch
from torch import Tensor

from lond.methods.base import Total


class SampleTable:
    """Rows ``(N, D)`` float32, one per sample, written step by step and joined over all processes at the epoch's end.

    Samples that an epoch did not show keep their old row.
    """

    def __init__(self, samples: int, width: int) -> None:
        """Start with zeros."""
        self.rows = torch.zeros(samples, width)
        self._start()

    def _start(self) -> None:
        self._fresh = torch.zeros_like(self.rows)
        self._seen = torch.zeros(len(self.rows), device=self.rows.device)

    def write(self, indices: Tensor, rows: Tensor) -> None:
        """Note the rows ``(B, D)`` of samples ``(B,)``; of a sample written twice one row stays."""
        if self.rows.device != rows.device:
            self.rows, self._fresh, self._seen = (part.to(rows.device) for part in (self.rows, self._fresh, self._seen))
        self._fresh[indices] = rows.detach().float()
        self._seen[indices] = 1

    def merge(self, total: Total) -> Tensor:
        """Take over the rows of this epoch from all processes; return the mask ``(N,)`` of samples that were seen."""
        fresh, counts = total(self._fresh), total(self._seen)
        seen = counts > 0
        self.rows = torch.where(seen[:, None], fresh / counts.clamp_min(1)[:, None], self.rows)
        self._start()
        return seen

    def load(self, rows: Tensor) -> None:
        """Take rows from a checkpoint."""
        self.rows = rows
        self._start()
