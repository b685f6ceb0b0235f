"""Learn from images with unreliable labels: a classifier, a detector of foreign images, and an audit."""

from __future__ import annotations

import os
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

# Threads of PyTorch that wait for work would keep cores busy that other programs use, and slow small networks down
# several times over. It counts if PyTorch is not loaded yet.
os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")

__getattr__, __dir__ = lazy_names(__name__, __all__)
