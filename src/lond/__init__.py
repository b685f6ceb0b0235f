"""Learn from images with unreliable labels: a classifier, a detector of foreign images, and an audit."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from lond.errors import CollapseError, ConfigError, DataError, LondError, MissingDependencyError

if TYPE_CHECKING:
    from lond.config import RunConfig
    from lond.estimator import LondClassifier
    from lond.presets import preset
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

_HOME = {
    "FOREIGN": "lond.types",
    "UNLABELLED": "lond.types",
    "LondClassifier": "lond.estimator",
    "Partition": "lond.types",
    "RunConfig": "lond.config",
    "Verdict": "lond.types",
    "load_run": "lond.runs",
    "preset": "lond.presets",
    "train_run": "lond.runs",
}
"""Name -> module that is imported when the name is first used."""


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'lond' has no attribute {name!r}")
    globals()[name] = value = getattr(import_module(_HOME[name]), name)
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
