"""What the paper printed, and what to run to print it again, as plain records."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

MEAN = "mean"
"""Stands for the data set, the noise or the metric that a printed average runs over."""

Source = Literal["own", "re-run", "copied"]
"""The authors' own method; another method, run by them; a value copied from an earlier paper."""

Value = bool | int | float | str


@dataclass(frozen=True)
class Published:
    """Published value, in percent. The paper has no deviations.

    Examples:
        >>> from lond.paper import table
        >>> printed = table("table1")[0]
        >>> printed.row, printed.metric, printed.value
        ('Standard', 'accuracy', 35.5)
    """

    experiment: str
    """"table1" ... "table8"."""
    row: str
    """The contender as printed, whether the table lists contenders in rows or in columns."""
    method: str
    """Key in ``lond.methods.METHODS``."""
    data: str
    """Key in ``lond.paper.DATA_SETS``, or ``MEAN``."""
    noise: str
    """"sym20", "sym50", "sym80", "asym40"; "" for the web's own noise; or ``MEAN``."""
    metric: str
    """"accuracy", "auroc", "fpr95", or ``MEAN`` of accuracy and AUROC."""
    value: float
    detector: str = ""
    """Key in ``lond.detect.DETECTORS`` for a post-hoc detector; "" for the method's own output."""
    source: Source = "re-run"
    bold: bool = False
    notes: tuple[str, ...] = ()

    @property
    def is_mean(self) -> bool:
        """Whether the value is an average of other printed ones."""
        return MEAN in (self.data, self.noise, self.metric)


@dataclass(frozen=True)
class DataSet:
    """Data set of the paper: the benchmark used here, and the images of another source added to it.

    Examples:
        >>> from lond.paper import DATA_SETS
        >>> DATA_SETS["cifar80n"].printed
        'CIFAR80N'
    """

    printed: str
    benchmark: str
    open_set: str = ""
    """Folder, below the root of the benchmarks, with the images to add."""
    open_images: int = 0
    """How many of them are trained on."""


@dataclass(frozen=True)
class Cell:
    """One training run (or one detector on it) that an experiment needs, at full scale.

    Examples:
        >>> from lond.paper import experiment
        >>> cell = experiment("table1").cells[0]
        >>> cell.row, cell.data, cell.noise
        ('Standard', 'cifar100n', 'sym20')
    """

    experiment: str
    row: str
    """The contender as printed, or the hyper-parameter with its value."""
    data: str
    noise: str
    method: str
    preset: str
    """Key in ``lond.presets.benchmarks.PRESETS``; it is used with ``method``."""
    metrics: tuple[str, ...]
    """Names in the run's records (or in ``detectors.json`` if there is a detector); none for a map of images."""
    overrides: Mapping[str, Value] = field(default_factory=dict, hash=False)
    """Dotted configuration keys that differ from the preset."""
    detector: str = ""
    reading: str = ""
    """Which reading of an unclear description this is; "" if there is one only or it is the first choice."""

    @property
    def name(self) -> str:
        """The contender, with its reading if there are several."""
        return f"{self.row} ({self.reading})" if self.reading else self.row

    def texts(self) -> dict[str, str]:
        """Return the overrides as ``--set`` and ``lond.config.with_overrides`` take them."""
        return {key: value if isinstance(value, str) else json.dumps(value) for key, value in self.overrides.items()}


@dataclass(frozen=True)
class Experiment:
    """A numbered table or figure of the paper.

    Examples:
        >>> from lond.paper import experiment
        >>> experiment("table1").name
        'table1'
    """

    name: str
    """"table1" ... "table8", "figure1" ... "figure6"."""
    label: str
    """Its label in the paper's source."""
    title: str
    cells: tuple[Cell, ...]
    remarks: tuple[str, ...] = ()
    """What the paper leaves open, and where its values do not agree."""
