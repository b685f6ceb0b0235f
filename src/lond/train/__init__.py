"""The training loop and what it needs: runtime, schedule, checkpoints and log."""

from lond.train.loop import Result, Trainer, TrainSettings
from lond.train.runtime import Runtime, RuntimeSettings
from lond.train.schedule import OptimiserSettings

__all__ = ["OptimiserSettings", "Result", "Runtime", "RuntimeSettings", "TrainSettings", "Trainer"]
