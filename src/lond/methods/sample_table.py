"""What was seen of every training sample during an epoch."""

from __future__ import annotations

import torch
from torch import Tensor


class SampleTable:
    """Rows ``(N, D)`` float32, one per sample, written step by step and taken over at the epoch's end.

    Samples that an epoch did not show keep their old row.
    """

    def __init__(self, samples: int, width: int) -> None:
        """Start with zeros."""
        self.rows = torch.zeros(samples, width)
        self._start()

    def _start(self) -> None:
        self._fresh = torch.zeros_like(self.rows)
        self._seen = torch.zeros(len(self.rows), dtype=torch.bool, device=self.rows.device)

    def write(self, indices: Tensor, rows: Tensor) -> None:
        """Note the rows ``(B, D)`` of samples ``(B,)``; of a sample written twice one row stays."""
        if self.rows.device != rows.device:
            self.rows, self._fresh, self._seen = (part.to(rows.device) for part in (self.rows, self._fresh, self._seen))
        self._fresh[indices] = rows.detach().float()
        self._seen[indices] = True

    def merge(self) -> Tensor:
        """Take over the rows of this epoch; return the mask ``(N,)`` of samples that were seen."""
        seen = self._seen
        self.rows = torch.where(seen[:, None], self._fresh, self.rows)
        self._start()
        return seen

    def load(self, rows: Tensor) -> None:
        """Take rows from a checkpoint."""
        self.rows = rows
        self._start()
