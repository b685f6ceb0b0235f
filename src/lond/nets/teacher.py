"""A mean teacher: the running average of a network's weights."""

from __future__ import annotations

import copy
from typing import Any

import torch
from torch import Tensor, nn


class MeanTeacher(nn.Module):
    """A copy of a network whose weights follow it slowly; it is never trained itself.

    Only parameters are averaged. Batch-norm statistics are the copy's own: in training mode it normalises by the batch
    (as the released programs of Jo-SRC and SED do) and keeps running statistics, which evaluation mode then uses.

    Args:
        student: the network to copy and follow.
        memory: how much of itself the teacher keeps at each step, in [0, 1).
    """

    def __init__(self, student: nn.Module, memory: float) -> None:
        """Copy the student."""
        super().__init__()
        self.memory = memory
        self.net = copy.deepcopy(student)
        self.net.requires_grad_(requires_grad=False)

    @torch.no_grad()
    def follow(self, student: nn.Module) -> None:
        """Move every weight towards the student's: ``w <- memory * w + (1 - memory) * w_student``."""
        mine: list[Tensor] = list(self.net.parameters())
        theirs = [weight.detach() for weight in student.parameters()]
        torch._foreach_lerp_(mine, theirs, 1 - self.memory)

    @torch.no_grad()
    def forward(self, *inputs: Any) -> Any:
        """Return the copy's output, without gradients."""
        return self.net(*inputs)
