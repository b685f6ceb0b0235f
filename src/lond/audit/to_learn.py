"""Which of the read images an audit learns from, and in which form."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import torch
from torch import Tensor

from lond.audit.copies.duplicates import DuplicateGroups
from lond.audit.second_look import SecondLook
from lond.crossfit.decided import UNDECIDED
from lond.data.feature_views import FeaturePixels
from lond.data.resized import at_side
from lond.data.split import take
from lond.data.two_classes import check_two_classes
from lond.errors import DataError, counted
from lond.frozen.cache import Features
from lond.frozen.extractor import ExtractorSettings
from lond.frozen.read import ImageFacts
from lond.presets.for_audit import TrainingKind
from lond.presets.own_data import SMALL_IMAGE
from lond.types import UNLABELLED, Samples, told_problems

ROWS = 65_536
"""Images whose features are averaged at a time."""

FEW = 10
"""A class of fewer images is warned about."""

FEW_NAMED = 10
"""Files left out that a note names."""


def first_look(samples: Samples) -> list[str]:
    """Return what should be known before anything is learned: tiny and empty classes, files left out.

    Raises:
        DataError: there is nothing to audit.
    """
    check_two_classes(samples, "an audit compares")
    counts = torch.bincount(samples.labels[samples.labels >= 0], minlength=samples.num_classes).tolist()
    named = zip(samples.class_names, counts, strict=True)
    notes = [
        f"class {name!r} has only {counted(count, 'image')}; its verdicts are guesses"
        if count
        else f"class {name!r} is empty"
        for name, count in named
        if count < FEW
    ]
    unlabelled = int((samples.labels == UNLABELLED).sum())
    if unlabelled:
        told = "it is" if unlabelled == 1 else "they are"
        have = "has" if unlabelled == 1 else "have"
        notes.append(f"{counted(unlabelled, 'image')} {have} no label; {told} judged but not learned from")
    if samples.problems:
        out = "was left out and has" if len(samples.problems) == 1 else "were left out and have"
        lost = f"{counted(len(samples.problems), 'file or folder', 'files or folders')} {out} no row in the table"
        notes.append(f"{lost}: {told_problems(samples.problems, FEW_NAMED)}")
    return notes


def no_label_below_zero(labels: Tensor) -> Tensor:
    """Return labels ``(N,)`` in which every negative one is that of an unlabelled image."""
    return torch.where(labels < 0, UNLABELLED, labels)


def training_rows(facts: ImageFacts, groups: DuplicateGroups, look: SecondLook | None = None) -> tuple[Tensor, Samples]:
    """Return the places of the images to learn from, and those images.

    Unreadable images are left out, exact copies count once, and images whose copies carry other labels have none,
    unless a person decided on them.
    """
    samples, usable = facts.samples, ~groups.exact.clone()
    usable[list(facts.unreadable)] = False
    rows = usable.nonzero().squeeze(1)
    if len(rows) < 2:
        raise DataError(f"fewer than two images of {samples.origin} can be read")
    left = samples.labels[rows]
    if len(left[left >= 0].unique()) < 2:
        raise DataError(f"the readable images of {samples.origin} are of one class; an audit compares at least two")
    open_conflict = groups.conflict if look is None else groups.conflict & (look.truth == UNDECIDED)
    labels = torch.where(open_conflict, UNLABELLED, samples.labels)
    return rows, take(samples.with_labels(labels, samples.true_labels), rows)


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


def mean_of_views(features: Features) -> Tensor:
    """Return the mean ``(N, D)`` float32 of features ``(N, V, D)``, without a copy where they are that already."""
    if features.shape[1] == 1 and features.dtype == np.float32:
        return torch.from_numpy(features[:, 0])
    found = torch.empty(len(features), features.shape[2])
    for start in range(0, len(features), ROWS):
        found[start : start + ROWS] = torch.from_numpy(features[start : start + ROWS]).float().mean(dim=1)
    return found


def near_copies(groups: DuplicateGroups, rows: Tensor) -> Tensor:
    """Return for each image at ``rows`` the place among them of the one that it nearly repeats, or its own."""
    places = torch.full_like(groups.first, -1)
    places[rows] = torch.arange(len(rows))
    first = places[groups.first[rows]]
    return torch.where(first >= 0, first, torch.arange(len(rows)))
