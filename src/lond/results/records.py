"""What is kept of a finished run, as plain frozen records. Importing it loads no network."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

SCHEMA = 1
"""Version of the files; a reader refuses others."""

PaperScale = Literal["full", "mini", "frozen", "smoke"]
"""The published length and data; reduced data; heads on a frozen network; cut short."""

Scale = Literal[PaperScale, "own"]
"""A scale of the paper's runs, or ``own``: a user's own images."""

Metrics = Mapping[str, float | None]
"""Value by name; None where it could not be computed."""

SEEDS = ("data.benchmark.noise.seed", "data.split_seed", "train.seed")
"""Settings in which the repetitions of a run differ."""


@dataclass(frozen=True)
class Seeds:
    """The three seeds of a run.

    Examples:
        >>> Seeds(training=1).split
        0
    """

    training: int
    split: int = 0
    noise: int | None = None
    """None if the noise is the data's own."""


@dataclass(frozen=True)
class Machine:
    """Machine of a run: what results and times depend on besides code and settings; None = not known.

    Examples:
        >>> Machine(threads=2, device="cpu").precision is None
        True
    """

    threads: int | None = None
    device: str | None = None
    precision: str | None = None
    processes: int | None = None


@dataclass(frozen=True)
class DataPart:
    """Fingerprint of a training or test set.

    Examples:
        >>> DataPart(images=1198, pixels_sha256="0f", labels_sha256="1e").images
        1198
    """

    images: int
    pixels_sha256: str
    labels_sha256: str


@dataclass(frozen=True)
class DetectorRecord:
    """A post-hoc detector on the run's own test set, at the last epoch.

    Examples:
        >>> DetectorRecord("knn", "clean", {"auroc": 0.9}).figures["auroc"]
        0.9
    """

    name: str
    fitted_on: str
    """"all" or "clean" training samples, "held-out" ones, "-" for none."""
    figures: Metrics
    """Its metrics; the files call them so."""
    seconds: float | None = None
    problem: str = ""


@dataclass(frozen=True)
class Record:
    """One finished run.

    Examples:
        >>> record = Record("a1", "v1", "sed", "digits", "sym40", "mini", Seeds(0), {}, metrics={"accuracy": 0.875})
        >>> record.value("accuracy")
        0.875
    """

    identity: str
    """Hash of the settings (without paths), seeds included, and of the data."""
    variant: str
    """Hash of the settings alone, without seeds: repetitions of one run share it."""
    method: str
    data: str
    """Data set, e.g. "cifar80n" or "cifar100n+tinyimagenet-10k"; for own images the name of their folder."""
    noise: str
    """"sym50", "asym40", ...; "" for the data's own."""
    scale: Scale
    seeds: Seeds
    config: Mapping[str, Any] = field(hash=False)
    """All settings but paths, nested."""
    preset: str = ""
    changes: Mapping[str, Any] = field(default_factory=dict, hash=False)
    """Settings, by dotted key, that differ from the preset (seeds aside)."""
    versions: Mapping[str, str] = field(default_factory=dict, hash=False)
    machine: Machine = Machine()
    fingerprint: Mapping[str, DataPart] = field(default_factory=dict, hash=False)
    """"train" and, where there is one, "test"."""
    classes: int = 0
    rates: Metrics = field(default_factory=dict, hash=False)
    """Actual closed_rate, open_share and overall rate of the noise, where the truth is known."""
    epochs: int = 0
    warmup_epochs: int = 0
    mean_over_last: int = 0
    """Epochs that ``metrics`` are means over."""
    metrics: Metrics = field(default_factory=dict, hash=False)
    last_epoch: Metrics = field(default_factory=dict, hash=False)
    verdicts: Metrics = field(default_factory=dict, hash=False)
    detectors: tuple[DetectorRecord, ...] = field(default=(), hash=False)
    curves: Mapping[str, tuple[float | None, ...]] = field(default_factory=dict, hash=False)
    """One value per epoch, to six digits; None in epochs without one."""
    seconds: Mapping[str, float] = field(default_factory=dict, hash=False)
    """Of all epochs together, by what was done."""
    finished: str | None = None
    """Time of the last epoch in UTC, e.g. "2026-01-31T12:00:00Z"; None if not known."""
    schema: int = SCHEMA

    @property
    def name(self) -> str:
        """Readable name, ending with the identity; the file is ``<name>.json``."""
        words = (self.data, self.noise, self.method, f"seed{self.seeds.training}", self.identity)
        return "-".join(re.sub(r"[^\w.+-]+", "_", word)[:60] for word in words if word)

    @property
    def total_seconds(self) -> float:
        """Seconds of all epochs."""
        return sum(self.seconds.values())

    def value(self, metric: str) -> float | None:
        """Return the value of a metric, None if the run has none.

        "accuracy" is the mean over the last epochs, "last.accuracy" that of the last one, "verdict_foreign_f1" a value
        of the verdicts, "msp.auroc" and "knn.clean.auroc" those of detectors, "seconds" those of all epochs.
        """
        return dict(self.values()).get(metric)

    def values(self) -> Iterator[tuple[str, float | None]]:
        """Yield all values with the names that ``value`` takes."""
        yield from self.metrics.items()
        yield from self.verdicts.items()
        yield "seconds", self.total_seconds
        yield "seconds_an_epoch", self.total_seconds / self.epochs if self.epochs else None
        for name, value in self.last_epoch.items():
            yield f"last.{name}", value
        for detector in self.detectors:
            fit = "" if detector.fitted_on in ("", "-") else f".{detector.fitted_on}"
            for name, value in detector.figures.items():
                yield f"{detector.name}{fit}.{name}", value
