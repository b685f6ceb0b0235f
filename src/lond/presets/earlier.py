"""Runs as version 0.1.0 made them, to find their results again where the defaults have changed since."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from lond.config import RunConfig, former_defaults

STEP_LIMITS = {("mini80", "cir-plus"): 50, ("mini80", "unicon"): 35}
"""Benchmark and method -> the most steps of a phase, where there are others now."""

SETTINGS: dict[str, dict[str, Any]] = {"cir-plus": {"iterations": 0}, "npn-soft": {"ramp_epochs": 0}}
"""Method -> settings of reduced runs that had their defaults, or nothing, in the place of today's values."""


def as_first_released(config: RunConfig) -> RunConfig:
    """Return the run as version 0.1.0 made it of the same preset and method; an equal one if nothing has changed."""
    benchmark, method = config.data.benchmark.name, config.method
    settings = dict(former_defaults(method))
    if not benchmark.startswith("cifar") or method != "cir-plus":
        settings |= SETTINGS.get(method, {})
    steps = config.train.max_steps
    if not config.data.frozen.backbone:
        steps = STEP_LIMITS.get((benchmark, method), steps)
    return replace(
        config,
        settings=replace(config.settings, **settings),
        train=replace(config.train, max_steps=steps),
    )
