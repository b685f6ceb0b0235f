"""The audit: from images with doubtful labels to a table, estimated rates, a map and a page."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, get_args

import torch
from torch import Tensor

from lond.audit.copies.duplicates import DuplicateGroups, find_duplicates
from lond.audit.copies.leaks import leaks_into_test
from lond.audit.findings import Findings
from lond.audit.judge.folds import default_folds
from lond.audit.judge.learn import learn, unit_features
from lond.audit.judge.out_of_fold import AUDIT_FALSE_ALARM_RATE
from lond.audit.result import Audit
from lond.config import to_dict
from lond.data.feature_views import FeaturePixels
from lond.data.options import ReadOptions
from lond.data.read.embeddings import read_embeddings
from lond.data.read.files import Progress
from lond.data.resized import at_side
from lond.data.sources import load
from lond.data.split import take
from lond.device import choose_device
from lond.errors import ConfigError, DataError
from lond.frozen.cache import Features
from lond.frozen.extractor import ExtractorSettings
from lond.frozen.read import FeatureReader, ImageFacts, quiet
from lond.layout_map import MapKind, two_dimensions
from lond.presets.for_audit import TrainingKind, for_audit
from lond.presets.own_data import SMALL_IMAGE
from lond.train.runtime import RuntimeSettings
from lond.types import UNLABELLED, Samples

FEW = 10
"""A class of fewer images is warned about."""

NOWHERE = (math.nan, math.nan)


@dataclass(frozen=True)
class AuditSettings:
    """How an audit is made."""

    extractor: ExtractorSettings = ExtractorSettings()
    train: TrainingKind = "heads"
    """"heads" on features of the frozen network, "finetune" it as a whole, or a network from "scratch"."""
    epochs: int = 0
    """Epochs of the training, a third of them warm-up; 0 = by what is trained, 9, 12 or 60."""
    seed: int = 0
    folds: int = 0
    """In how many parts the images are judged, each by heads trained on the others; 0 = by their number, 2 to 5."""
    false_alarm_rate: float = AUDIT_FALSE_ALARM_RATE
    """Share of known images that may be called foreign."""
    neighbours: int = 8
    """Nearest images that the table names."""
    map: MapKind = "auto"
    """"tsne", "pca", "none", or "auto": t-SNE if openTSNE is installed, else principal components."""
    max_page_bytes: int = 40_000_000

    def __post_init__(self) -> None:
        """Check that the training is known, counts are large enough and the rate lies in (0, 1)."""
        if self.train not in get_args(TrainingKind):
            raise ConfigError(f"there is no training {self.train!r}; choose one of {', '.join(get_args(TrainingKind))}")
        if self.epochs == 1 or self.epochs < 0 or self.neighbours < 1:
            raise ConfigError("an audit needs at least 2 epochs (0 = the usual number) and 1 neighbour")
        if not 0 < self.false_alarm_rate < 1:
            raise ConfigError(f"the rate of false alarms must lie between 0 and 1, not be {self.false_alarm_rate}")
        if self.folds < 0 or self.folds == 1:
            raise ConfigError("folds must be at least 2, or 0 to choose by the number of images")


def audit(
    source: object,
    *,
    test: object = None,
    embeddings: Path | str | None = None,
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
        embeddings: file of your own features for the images of the source, in place of a frozen network's.
        settings: how.
        cache: folder of computed features, used again next time; None keeps them for this call only.
        folder: where the trained run is kept, and resumed from; None keeps it in memory.
        runtime: device and threads.
        read: how a source is read.
        progress: gives a progress function for a named piece of work.

    Raises:
        DataError: the source cannot be audited.
    """
    settings, runtime, options = settings or AuditSettings(), runtime or RuntimeSettings(), read or ReadOptions()
    samples = load(source, options=options)
    notes = first_look(samples)
    if embeddings is not None and isinstance(samples.pixels, FeaturePixels):
        raise ConfigError(f"{samples.origin} holds embeddings already; give the images, or leave out the other file")
    own = samples.pixels if isinstance(samples.pixels, FeaturePixels) else None
    if embeddings is not None:
        own = read_embeddings(embeddings, samples.ids)
    reader = FeatureReader(cache, choose_device(runtime.accelerator, runtime.threads), progress or quiet)
    facts = reader.read(samples, settings.extractor if own is None else None, perceptual=True, thumbnails=True)
    if own is not None:
        facts = replace(facts, features=own.values)
    leaks = leaks_into_test(source, test, facts, options, reader)
    return _audit(facts, notes, leaks, settings, folder, runtime, str(cache or "") if own is None else None)


def _audit(
    facts: ImageFacts,
    notes: list[str],
    leaks: list[dict[str, Any]],
    settings: AuditSettings,
    folder: Path | None,
    runtime: RuntimeSettings,
    cache: str | None,
) -> Audit:
    samples = facts.samples
    groups = find_duplicates(facts.hashes, samples.labels, facts.perceptual)
    rows, training = training_rows(facts, groups)
    features = facts.features[rows.numpy()]
    seen = learned_from(settings.train, training, features, settings.extractor)
    config = for_audit(
        settings.train, len(seen), seen.pixels.size[0], settings.extractor, settings.epochs, settings.seed, cache
    )
    used = replace(settings, epochs=config.train.epochs, folds=settings.folds or default_folds(len(rows)))
    learned = learn(
        seen,
        unit_features(features),
        config,
        folder,
        runtime,
        folds=used.folds,
        together=_near_copies(groups, rows),
        shown_neighbours=settings.neighbours,
        false_alarm_rate=settings.false_alarm_rate,
    )
    found = Findings(facts, groups, rows, learned)
    at = found.own_row()
    verdicts = found.verdicts(at)
    points = two_dimensions(learned.embeddings, settings.map, settings.seed)
    return Audit(
        f"Audit of {Path(samples.origin).name or samples.origin}",
        found.table(at, verdicts),
        samples.class_names,
        found.summary(verdicts, notes, leaks) | {"settings": to_dict(used)},
        # The page leaves images without a place, the unreadable ones, off the map.
        None if points is None else [points[row] if row >= 0 else NOWHERE for row in at.tolist()],
        facts.thumbnail,
    )


def learned_from(trained: TrainingKind, samples: Samples, features: Features, extractor: ExtractorSettings) -> Samples:
    """Return the samples as the training sees them: features ``(N, V, D)``, or images at the side of the network.

    Raises:
        DataError: a network is to be trained on embeddings.
    """
    if trained == "heads":
        return replace(samples, pixels=FeaturePixels(features))
    if isinstance(samples.pixels, FeaturePixels):
        raise DataError(f"{samples.origin} holds embeddings; a network can only be trained on images")
    side = extractor.size if trained == "finetune" else min(SMALL_IMAGE, *samples.pixels.size)
    return replace(samples, pixels=at_side(samples.pixels, side))


def _near_copies(groups: DuplicateGroups, rows: Tensor) -> Tensor:
    """Return for each image at ``rows`` the place among them of the one that it nearly repeats, or its own."""
    places = torch.full_like(groups.first, -1)
    places[rows] = torch.arange(len(rows))
    first = places[groups.first[rows]]
    return torch.where(first >= 0, first, torch.arange(len(rows)))


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
        f"class {name!r} has only {count} image(s); its verdicts are guesses" if count else f"class {name!r} is empty"
        for name, count in named
        if count < FEW
    ]
    unlabelled = int((samples.labels == UNLABELLED).sum())
    if unlabelled:
        notes.append(f"{unlabelled} image(s) have no label; they are judged but not learned from")
    if samples.problems:
        notes.append(f"{len(samples.problems)} file(s) or folder(s) were left out; the reasons are listed")
    return notes


def training_rows(facts: ImageFacts, groups: DuplicateGroups) -> tuple[Tensor, Samples]:
    """Return the places of the images to learn from, and those images.

    Unreadable images are left out, exact copies count once, and images whose copies carry other labels have none.
    """
    samples, usable = facts.samples, ~groups.exact.clone()
    usable[list(facts.unreadable)] = False
    rows = usable.nonzero().squeeze(1)
    if len(rows) < 2:
        raise DataError(f"fewer than two images of {samples.origin} can be read")
    left = samples.labels[rows]
    if len(left[left >= 0].unique()) < 2:
        raise DataError(f"the readable images of {samples.origin} are of one class; an audit compares at least two")
    labels = torch.where(groups.conflict, UNLABELLED, samples.labels)
    return rows, take(samples.with_labels(labels, samples.true_labels), rows)
