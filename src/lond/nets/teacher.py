"""A mean teacher: the running average of a network's weights."""

from __future__ import annotations

import copy
from typing import Any, Literal

import torch
from torch import Tensor, nn

from lond.errors import ConfigError


class MeanTeacher(nn.Module):
    """A copy of a network whose weights follow it slowly; it is never trained itself.

    The first steps average evenly (step t keeps ``min(memory, 1 - 1 / t)``), so that random initial weights are
    forgotten at once; after ``1 / (1 - memory)`` steps this is the plain running average.

    Args:
        student: the network to copy and follow.
        memory: how much of itself the teacher keeps at each step, in [0, 1).
        statistics: where its batch-norm statistics come from. "own": from its own forwards in training mode, for a
            teacher that runs in training mode and normalises by the batch. "average": they follow the student's as the
            weights do, for a teacher that only runs in evaluation mode.

    Raises:
        ConfigError: an argument is out of range.
    """

    steps: Tensor

    def __init__(self, student: nn.Module, memory: float, statistics: Literal["own", "average"] = "own") -> None:
        """Copy the student."""
        super().__init__()
        if not 0 <= memory < 1:
            raise ConfigError("a teacher's memory must lie in [0, 1)")
        if statistics not in ("own", "average"):
            raise ConfigError(f"a teacher's statistics are 'own' or 'average', not {statistics!r}")
        self.memory, self.statistics = memory, statistics
        self.net = copy.deepcopy(student)
        self.net.requires_grad_(requires_grad=False)
        self.register_buffer("steps", torch.zeros((), dtype=torch.long))

    @torch.no_grad()
    def follow(self, student: nn.Module) -> None:
        """Move every weight towards the student's: ``w <- m w + (1 - m) w_student``."""
        self.steps += 1
        mine: list[Tensor] = list(self.net.parameters())
        theirs = [weight.detach() for weight in student.parameters()]
        if self.statistics == "average":
            mine += self.net.buffers()
            theirs += student.buffers()
        # Made on the device: reading the count back would make the processor wait at each step.
        share = (1 / self.steps).clamp_min(1 - self.memory)
        for own, other in zip(mine, theirs, strict=True):
            if own.is_floating_point():
                own.lerp_(other, share.to(own.dtype))
            else:
                own.copy_(other)

    @torch.no_grad()
    def forward(self, *inputs: Any) -> Any:
        """Return the copy's output, without gradients."""
        return self.net(*inputs)
