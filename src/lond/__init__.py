"""Learn from images with unreliable labels: a classifier, a detector of foreign images, and an audit."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lond.errors import CollapseError, ConfigError, DataError, LondError, MissingDependencyError
from lond.lazy import lazy_names

if TYPE_CHECKING:
    from lond.config import RunConfig
    from lond.estimator import LondClassifier
    from lond.presets.benchmarks import preset
    from lond.runs import load_run, train_run
    from lond.types import FOREIGN, UNLABELLED, Partition, Verdict

__version__ = "0.1.0"

__all__ = [
    "FOREIGN",
    "UNLABELLED",
    "CollapseError",
    "ConfigError",
    "DataError",
    "LondClassifier",
    "LondError",
    "MissingDependencyError",
    "Partition",
    "RunConfig",
    "Verdict",
    "__version__",
    "load_run",
    "preset",
    "train_run",
]

__getattr__, __dir__ = lazy_names(__name__, __all__)
