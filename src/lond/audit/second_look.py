"""A second look: a person's decisions about some images, taken as truth when all others are judged again."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import torch
from torch import Tensor

from lond.audit.copies.duplicates import DuplicateGroups, in_conflict
from lond.audit.correct.decisions import Choice, ReviewDecision, check_labels, read_decisions, read_not_copies
from lond.crossfit.decided import NO_CLASS, UNDECIDED, taught_labels
from lond.errors import DataError, counted
from lond.types import UNLABELLED, Samples, Verdict

Decisions = Path | str | Mapping[str, ReviewDecision]
"""A CSV file of the page, or id -> decision."""

FEW = 5
"""Ids that an error names."""


@dataclass(frozen=True)
class SecondLook:
    """What a person decided about N images.

    ``truth`` ``(N,)`` is the true class of an image, -1 if it is foreign, -2 if that is not decided. ``words`` are the
    decisions, "" where there is none; "not sure" is a decision that tells no truth. ``apart`` are places of
    images that repeat no other image, ``notes`` what a person should know. ``confirmed`` ``(N,)`` marks images of a
    corrected set whose label a person gave or confirmed before. ``judged`` tells by id how images were judged when they
    were decided on: verdict, suggested label and confidence, as far as that is known.
    """

    truth: Tensor
    words: tuple[str, ...]
    apart: frozenset[int] = frozenset()
    notes: tuple[str, ...] = ()
    confirmed: Tensor | None = None
    judged: Mapping[str, tuple[str, str, float | None]] = field(default_factory=dict)

    @property
    def decided(self) -> int:
        """Number of decided images, those of which a person is not sure included."""
        return sum(map(bool, self.words))

    @property
    def taught(self) -> int:
        """Number of decided images whose truth is told."""
        return sum(
            bool(word) and truth != UNDECIDED for word, truth in zip(self.words, self.truth.tolist(), strict=True)
        )

    @property
    def key(self) -> str:
        """A short text that other decisions do not have."""
        content = json.dumps([self.truth.tolist(), self.words, sorted(self.apart)])
        return hashlib.sha256(content.encode()).hexdigest()[:8]

    def says_nothing(self, hidden: Tensor) -> Tensor:
        """Return the decisions ``(N,)`` that say nothing of how other images are judged.

        They are on confirmed labels, which are all right, or on ``hidden`` ``(N,)`` images, which the network did not
        really see.
        """
        return hidden if self.confirmed is None else hidden | self.confirmed

    def labels(self, given: Tensor) -> Tensor:
        """Return the labels ``(N,)`` after the decisions; foreign images have none."""
        return taught_labels(given, self.truth)

    def verdict(self, place: int, label: int) -> Verdict | None:
        """Return what a person's decision says about the image at a place and its given label; None if nothing.

        "Not sure" says nothing: the audit's own verdict stays, and the table's ``decided`` marks it.
        """
        truth = int(self.truth[place])
        if truth == NO_CLASS:
            return Verdict.FOREIGN
        if truth == UNDECIDED:
            return None
        if label < 0:
            return Verdict.UNLABELLED
        return Verdict.CLEAN if truth == label else Verdict.MISLABELLED

    def among_copies(self, hashes: Sequence[str]) -> SecondLook:
        """Return the same with one truth for exact copies of a picture, by content hashes; none where they differ."""
        told: dict[str, set[int]] = {}
        for text, truth in zip(hashes, self.truth.tolist(), strict=True):
            if text and truth != UNDECIDED:
                told.setdefault(text, set()).add(truth)
        truth, words = self.truth.clone(), list(self.words)
        for place, text in enumerate(hashes):
            if text in told and len(told[text]) == 1:
                truth[place] = min(told[text])
            elif text in told:
                truth[place], words[place] = UNDECIDED, ""
        split = sum(len(each) > 1 for each in told.values())
        note = f"exact copies of {counted(split, 'image')} were decided differently; they count as undecided"
        return replace(self, truth=truth, words=tuple(words), notes=(*self.notes, *([note] if split else [])))


def second_look(decisions: Decisions, samples: Samples) -> SecondLook:
    """Return what decisions say about samples.

    Raises:
        DataError: they name other images, or labels that are no class.
    """
    found = decisions if isinstance(decisions, Mapping) else read_decisions(Path(decisions))
    apart: Collection[str] = () if isinstance(decisions, Mapping) else read_not_copies(Path(decisions))
    places = {name: place for place, name in enumerate(samples.ids)}
    strange = sorted({*found, *apart} - places.keys())
    if strange:
        raise DataError(
            f"the decisions name images that {samples.origin} lacks: {_few(strange)}; they belong to another set"
        )
    names = {name: number for number, name in enumerate(samples.class_names)}
    check_labels(found, names, "correct it (lond apply takes new labels with --new-labels)")
    truth = torch.full((len(samples),), UNDECIDED)
    words = [""] * len(samples)
    for name, decision in found.items():
        place = places[name]
        truth[place] = _truth(decision, int(samples.labels[place]), names)
        if int(truth[place]) != UNDECIDED or decision.choice == Choice.NOT_SURE:
            words[place] = str(decision.choice)
    judged = {name: told for name, decision in found.items() if (told := _judged(decision)) is not None}
    return SecondLook(truth, tuple(words), frozenset(places[name] for name in apart), judged=judged)


def with_confirmed(look: SecondLook | None, samples: Samples) -> SecondLook | None:
    """Return decisions with the confirmed labels of a corrected set, where nothing else is decided; None if none."""
    if samples.confirmed is None:
        return look
    if look is None:
        look = SecondLook(torch.full((len(samples),), UNDECIDED), ("",) * len(samples))
    open_ones = torch.tensor([not word for word in look.words])
    before = samples.confirmed & (samples.labels >= 0)
    confirmed = before & open_ones
    words = [str(Choice.KEEP) if known else word for known, word in zip(confirmed.tolist(), look.words, strict=True)]
    count = int(confirmed.sum())
    told = "was confirmed by a person and is" if count == 1 else "were confirmed by a person and are"
    note = f"{counted(count, 'label')} of the corrected set {told} taken as truth"
    truth = torch.where(confirmed, samples.labels, look.truth)
    return replace(
        look,
        truth=truth,
        words=tuple(words),
        notes=(*look.notes, *([note] if confirmed.any() else [])),
        confirmed=before & (truth == samples.labels),
    )


def after_decisions(groups: DuplicateGroups, given: Tensor, truth: Tensor) -> DuplicateGroups:
    """Return the same groups, in conflict where the labels still differ that decisions and undecided images have.

    An undecided image follows decisions on others of its group that had the same label: a label that turned out wrong
    for one copy contradicts no other copy with it.

    Args:
        groups: of N images.
        given: ``(N,)`` labels before the decisions; negative = none.
        truth: ``(N,)`` what was decided, see ``lond.crossfit.decided``.
    """
    told: dict[tuple[int, int], set[int]] = {}
    grouped = groups.groups >= 0
    for place in (grouped & (truth != UNDECIDED)).nonzero().squeeze(1).tolist():
        told.setdefault((int(groups.groups[place]), int(given[place])), set()).add(int(truth[place]))
    labels = torch.where(truth == UNDECIDED, given, truth)
    for place in (grouped & (truth == UNDECIDED)).nonzero().squeeze(1).tolist():
        said = told.get((int(groups.groups[place]), int(given[place])), set())
        if len(said) == 1:
            labels[place] = min(said)
    labels = torch.where(labels < 0, UNLABELLED, labels)
    return replace(groups, conflict=in_conflict(groups.groups.clamp_min(0), labels, grouped & (labels != UNLABELLED)))


def _judged(decision: ReviewDecision) -> tuple[str, str, float | None] | None:
    """Return how the image was judged when it was decided on; None if that is unknown, or a decision itself."""
    is_decided = decision.confidence is not None and decision.confidence >= 1
    if not decision.verdict or is_decided:
        return None
    return decision.verdict, decision.suggested_label, decision.confidence


def _truth(decision: ReviewDecision, given: int, names: Mapping[str, int]) -> int:
    """Return the class that a decision says an image is of; -1 if it is foreign, -2 if that is not said."""
    if decision.label is not None:
        return names[decision.label]
    accepts = decision.choice == Choice.ACCEPT
    if decision.choice == Choice.FOREIGN or (accepts and decision.verdict == Verdict.FOREIGN):
        return NO_CLASS
    if decision.choice == Choice.KEEP or (accepts and decision.verdict == Verdict.CLEAN):
        return given if given >= 0 else UNDECIDED
    return UNDECIDED


def _few(names: Sequence[str]) -> str:
    more = f" and {len(names) - FEW} more" if len(names) > FEW else ""
    return ", ".join(repr(name[:80]) for name in names[:FEW]) + more
