"""The audit: from images with doubtful labels to a table, estimated rates, a map and a page."""

from __future__ import annotations

import math
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from lond.audit.duplicates import DuplicateGroups, Leak, content_hashes, difference_bits, find_duplicates, find_leaks
from lond.audit.extractors import ExtractorSettings
from lond.audit.features import Computed, FeatureCache, Progress, compute_features
from lond.audit.findings import Findings
from lond.audit.learn import default_folds, head_config, learn
from lond.audit.mapping import MapKind, two_dimensions
from lond.audit.result import Audit
from lond.config import to_dict
from lond.data.features import FeaturePixels
from lond.data.options import ReadOptions
from lond.data.sources import has_split, load
from lond.data.split import take
from lond.errors import ConfigError, DataError
from lond.runs.decision import FALSE_ALARM_RATE
from lond.train.runtime import RuntimeSettings
from lond.types import UNLABELLED, Samples

FEW = 10
"""A class of fewer images is warned about."""

NOWHERE = (math.nan, math.nan)


@dataclass(frozen=True)
class AuditSettings:
    """How an audit is made."""

    extractor: ExtractorSettings = ExtractorSettings()
    epochs: int = 15
    """Epochs in which the heads are trained on the features, a third of them warm-up."""
    seed: int = 0
    folds: int = 0
    """In how many parts the images are judged, each by heads trained on the others; 0 = by their number, 2 to 5."""
    false_alarm_rate: float = FALSE_ALARM_RATE
    """Share of known images that may be called foreign."""
    neighbours: int = 8
    """Nearest images that the table names."""
    map: MapKind = "auto"
    """"tsne", "pca", "none", or "auto": t-SNE if openTSNE is installed, else principal components."""
    max_page_bytes: int = 40_000_000

    def __post_init__(self) -> None:
        """Refuse values that mean nothing."""
        if self.epochs < 2 or self.neighbours < 1:
            raise ConfigError("an audit needs at least 2 epochs and 1 neighbour")
        if self.folds < 0 or self.folds == 1:
            raise ConfigError("folds must be at least 2, or 0 to choose by the number of images")


def audit(
    source: object,
    *,
    test: object = None,
    settings: AuditSettings | None = None,
    cache: Path | None = None,
    folder: Path | None = None,
    runtime: RuntimeSettings | None = None,
    read: ReadOptions | None = None,
    progress: Callable[[str], Progress] | None = None,
) -> Audit:
    """Audit a set of images; see ``lond.data.load`` for what a source may be.

    Args:
        source: the images and their doubtful labels.
        test: other images, among which copies of the audited ones are looked for; the source's own test split if None.
        settings: how.
        cache: folder of computed features, used again next time; None keeps them for this call only.
        folder: where the trained run is kept, and resumed from; None keeps it in memory.
        runtime: device and threads.
        read: how a source is read.
        progress: gives a progress function for a named piece of work.

    Raises:
        DataError: the source cannot be audited.
    """
    settings, runtime = settings or AuditSettings(), runtime or RuntimeSettings()
    options = replace(read or ReadOptions(), size=settings.extractor.size)
    samples = load(source, options=options)
    notes = first_look(samples)
    with _kept(cache) as place:
        return _audit(
            source, test, samples, notes, options, folder, _Work(settings, runtime, place, progress or _quiet)
        )


def _quiet(name: str) -> Progress:
    return lambda done, total: None


@contextmanager
def _kept(cache: Path | None) -> Iterator[Path]:
    """Give the folder of computed features, a passing one if there is none."""
    if cache is not None:
        yield cache
        return
    with tempfile.TemporaryDirectory() as passing:
        yield Path(passing)


def _audit(
    source: object,
    test: object,
    samples: Samples,
    notes: list[str],
    options: ReadOptions,
    folder: Path | None,
    work: _Work,
) -> Audit:
    settings = work.settings
    hashes, computed = work.features(samples)
    plain = torch.from_numpy(computed.features[:, 0]).float()
    bits = difference_bits(samples, work.progress("looks"))
    groups = find_duplicates(hashes, samples.labels, plain, bits)
    leaks = work.leaks(source, test, samples, options, hashes, plain, bits)
    rows, training = training_rows(samples, computed, groups)
    learned = learn(
        replace(training, pixels=FeaturePixels(computed.features[rows.numpy()])),
        head_config(len(rows), settings.epochs, settings.seed),
        folder,
        work.runtime,
        folds=settings.folds or default_folds(len(rows)),
        shown_neighbours=settings.neighbours,
        false_alarm_rate=settings.false_alarm_rate,
    )
    found = Findings(samples, computed, groups, rows, learned)
    at = found.own_row()
    verdicts = found.verdicts(at)
    points = two_dimensions(learned.embeddings, settings.map, settings.seed)
    return Audit(
        f"Audit of {Path(samples.origin).name or samples.origin}",
        found.table(at, verdicts),
        samples.class_names,
        found.summary(verdicts, notes, leaks) | {"settings": to_dict(settings)},
        # The page leaves images without a place, the unreadable ones, off the map.
        None if points is None else [points[row] if row >= 0 else NOWHERE for row in at.tolist()],
        found.thumbnail,
    )


def first_look(samples: Samples) -> list[str]:
    """Return what should be known before anything is learned: tiny and empty classes, files left out.

    Raises:
        DataError: there is nothing to audit.
    """
    if samples.num_classes < 2:
        raise DataError(
            f"{samples.origin} has {samples.num_classes} class(es); an audit compares at least two, "
            "e.g. one folder of images a class"
        )
    counts = torch.bincount(samples.labels[samples.labels >= 0], minlength=samples.num_classes).tolist()
    named = zip(samples.class_names, counts, strict=True)
    notes = [
        f"class {name!r} has only {count} image(s); its verdicts are guesses" for name, count in named if count < FEW
    ]
    unlabelled = int((samples.labels == UNLABELLED).sum())
    if unlabelled:
        notes.append(f"{unlabelled} image(s) have no label; they are judged but not learned from")
    if samples.problems:
        notes.append(f"{len(samples.problems)} file(s) or folder(s) were left out; the reasons are listed")
    return notes


@dataclass(frozen=True)
class _Work:
    """The costly parts, with their progress."""

    settings: AuditSettings
    runtime: RuntimeSettings
    cache: Path
    progress: Callable[[str], Progress]

    def features(self, samples: Samples) -> tuple[list[str], Computed]:
        """Return content hashes and features of all images."""
        hashes = content_hashes(samples, self.progress("reading"))
        device = "cuda" if self.runtime.accelerator in ("auto", "gpu") and torch.cuda.is_available() else "cpu"
        if self.runtime.threads:
            torch.set_num_threads(self.runtime.threads)
        store = FeatureCache(self.cache, self.settings.extractor)
        return hashes, compute_features(samples, hashes, store, device, self.progress("features"))

    def leaks(
        self,
        source: object,
        test: object,
        samples: Samples,
        options: ReadOptions,
        hashes: list[str],
        features: Tensor,
        bits: Tensor,
    ) -> list[dict[str, Any]]:
        """Return which images are in the test set as well."""
        if test is None and not has_split(source, "test", options):
            return []
        others = load(source if test is None else test, "test", class_names=samples.class_names, options=options)
        other_hashes, computed = self.features(others)
        other_features = torch.from_numpy(computed.features[:, 0]).float()
        other_bits = difference_bits(others, self.progress("looks"))
        leaks: list[Leak] = find_leaks(hashes, other_hashes, features, other_features, bits, other_bits)
        return [
            {"id": samples.ids[leak.train], "test_id": others.ids[leak.test], "exact": leak.exact} for leak in leaks
        ]


def training_rows(samples: Samples, computed: Computed, groups: DuplicateGroups) -> tuple[Tensor, Samples]:
    """Return the places of the images to learn from, and those images.

    Unreadable images are left out, exact copies count once, and images whose copies carry other labels have none.
    """
    usable = ~groups.exact.clone()
    usable[list(computed.unreadable)] = False
    rows = usable.nonzero().squeeze(1)
    if len(rows) < 2:
        raise DataError(f"fewer than two images of {samples.origin} can be read")
    labels = torch.where(groups.conflict, UNLABELLED, samples.labels)
    return rows, take(samples.with_labels(labels, samples.true_labels), rows)
