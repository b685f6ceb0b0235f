"""Optimisers, and the learning rate as a function of the epoch."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Literal

import torch
from torch import nn

from lond.errors import ConfigError


@dataclass(frozen=True)
class OptimiserSettings:
    """Settings of the optimiser and the learning-rate plan; defaults are the paper's values for CIFAR."""

    name: Literal["sgd", "adam"] = "sgd"
    learning_rate: float = 0.05
    momentum: float = 0.9
    """Momentum of SGD, or beta1 of Adam."""
    nesterov: bool = True
    weight_decay: float = 5e-4
    plan: Literal["cosine", "late-cosine", "linear", "step", "constant"] = "cosine"
    """How the rate falls; "late-cosine" is one epoch behind "cosine" and begins with an epoch at the full rate."""
    constant_epochs: int = 50
    """Epochs at the full rate before a cosine or linear plan begins."""
    constant_rate: float | None = None
    """Rate of these epochs, if different from ``learning_rate``."""
    final_rate: float = 5e-5
    """Rate that cosine and linear plans end at."""
    milestones: tuple[int, ...] = ()
    """Epochs at which a "step" plan lowers the rate."""
    step_factor: float = 0.1
    """Factor on the rate at each step."""
    late_momentum: float | None = None
    """Momentum (beta1 of Adam) after the constant epochs, if different from ``momentum``."""

    def __post_init__(self) -> None:
        """Check that optimiser and plan are known, and rates and lengths lie in their ranges."""
        if self.name not in ("sgd", "adam"):
            raise ConfigError(f"optimiser {self.name!r} is unknown; use 'sgd' or 'adam'")
        if self.plan not in PLANS:
            raise ConfigError(f"learning-rate plan {self.plan!r} is unknown; use one of {', '.join(PLANS)}")
        if self.learning_rate <= 0 or self.weight_decay < 0 or self.constant_epochs < 0:
            raise ConfigError("learning_rate must be positive, weight_decay and constant_epochs not negative")
        if not 0 < self.step_factor <= 1 or (self.constant_rate is not None and self.constant_rate <= 0):
            raise ConfigError("step_factor must lie in (0, 1], constant_rate must be positive")
        if min(self.milestones, default=0) < 0 or bool(self.milestones) != (self.plan == "step"):
            raise ConfigError('the plan "step", and no other, needs milestones, none of them negative')
        if not 0 <= self.momentum < 1 or not 0 <= (self.late_momentum or 0) < 1:
            raise ConfigError("momentum and late_momentum must lie in [0, 1)")


def build_optimiser(parameters: Iterable[nn.Parameter], settings: OptimiserSettings) -> torch.optim.Optimizer:
    """Return the optimiser over all trainable parameters."""
    trainable = [parameter for parameter in parameters if parameter.requires_grad]
    if settings.name == "adam":
        betas = (settings.momentum, 0.999)
        return torch.optim.Adam(trainable, lr=settings.learning_rate, betas=betas, weight_decay=settings.weight_decay)
    return torch.optim.SGD(
        trainable,
        lr=settings.learning_rate,
        momentum=settings.momentum,
        nesterov=settings.nesterov and settings.momentum > 0,
        weight_decay=settings.weight_decay,
    )


def learning_rate(epoch: int, epochs: int, settings: OptimiserSettings) -> float:
    """Return the rate of one epoch, counted from 0."""
    if settings.constant_rate is not None and epoch < settings.constant_epochs:
        return settings.constant_rate
    return PLANS[settings.plan](epoch, epochs, settings)


def set_rate(optimiser: torch.optim.Optimizer, epoch: int, epochs: int, settings: OptimiserSettings) -> float:
    """Set learning rate and momentum of one epoch, and return the rate."""
    rate = learning_rate(epoch, epochs, settings)
    late = settings.late_momentum is not None and epoch >= settings.constant_epochs
    momentum = settings.late_momentum if late else settings.momentum
    for group in optimiser.param_groups:
        group["lr"] = rate
        if "betas" in group:
            group["betas"] = (momentum, group["betas"][1])
        else:
            group["momentum"] = momentum
    return rate


def _cosine(epoch: int, epochs: int, settings: OptimiserSettings) -> float:
    """Fall from the first epoch after the constant ones on; the last one has the final rate."""
    return _late_cosine(epoch + 1, epochs, settings)


def _late_cosine(epoch: int, epochs: int, settings: OptimiserSettings) -> float:
    """Fall from the full rate in the first falling epoch to the final rate in the one after the last."""
    share = (1 + math.cos(math.pi * _progress(epoch, epochs, settings))) / 2
    return settings.final_rate + (settings.learning_rate - settings.final_rate) * share


def _linear(epoch: int, epochs: int, settings: OptimiserSettings) -> float:
    """Fall from the full rate in the first falling epoch to the final rate in the one after the last."""
    share = 1 - _progress(epoch, epochs, settings)
    return settings.final_rate + (settings.learning_rate - settings.final_rate) * share


def _step(epoch: int, epochs: int, settings: OptimiserSettings) -> float:
    passed = sum(epoch >= milestone for milestone in settings.milestones)
    return float(settings.learning_rate * settings.step_factor**passed)


def _constant(epoch: int, epochs: int, settings: OptimiserSettings) -> float:
    return settings.learning_rate


def _progress(epoch: int, epochs: int, settings: OptimiserSettings) -> float:
    """Return how much of the falling part is gone: 0 until its first epoch, 1 after the last."""
    falling = max(1, epochs - settings.constant_epochs)
    return min(1.0, max(0, epoch - settings.constant_epochs) / falling)


PLANS: dict[str, Callable[[int, int, OptimiserSettings], float]] = {
    "cosine": _cosine,
    "late-cosine": _late_cosine,
    "linear": _linear,
    "step": _step,
    "constant": _constant,
}
"""Learning-rate plans by name."""
