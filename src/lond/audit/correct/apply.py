"""From an audit's table and a person's decisions to a corrected set; the originals are never touched."""

from __future__ import annotations

import math
import os
from collections import Counter
from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from lond.audit.correct.decisions import (
    Choice,
    ReviewDecision,
    check_labels,
    choice_of,
    read_decisions,
    read_not_copies,
)
from lond.audit.correct.link_tree import locate, write_link_tree
from lond.audit.correct.plan import LIKELY, Action, CorrectionPlan, PlannedImage, Reason
from lond.audit.table import HARD_TO_SEE, AuditTable
from lond.data.read.tables import CONFIRMED, CORRECTED
from lond.errors import ConfigError, DataError
from lond.io.csv_files import neutralise, write_rows
from lond.types import Verdict

__all__ = [
    "Choice",
    "CorrectionPlan",
    "ReviewDecision",
    "plan_corrections",
    "read_decisions",
    "read_not_copies",
    "write_corrected_csv",
    "write_link_tree",
]  # fmt: skip


SURELY_CALLED = 0.65
"""Chance to be foreign from which on every audit calls an image so, unless it is spared on purpose."""

UNDECIDED = {
    Verdict.FOREIGN: Reason.UNSURE_FOREIGN,
    Verdict.MISLABELLED: Reason.UNSURE_MISLABELLED,
    Verdict.UNLABELLED: Reason.UNLABELLED,
}
"""Reason to do nothing, or to leave the image out on request, where the evidence for the verdict is too weak."""


@dataclass(frozen=True)
class _Rules:
    """What is done about images that nobody decided on; see ``plan_corrections``."""

    min_confidence: float
    drop_foreign: bool
    min_foreign: float | None
    keep_undecided: bool


def plan_corrections(
    table: AuditTable,
    decisions: Mapping[str, ReviewDecision] | None = None,
    *,
    min_confidence: float = 0.5,
    drop_foreign: bool = True,
    min_foreign: float | None = None,
    keep_undecided: bool = True,
    drop_copies: bool = False,
    allow_new_labels: bool = False,
    not_copies: Collection[str] = (),
) -> CorrectionPlan:
    """Return the planned correction of every image; decisions override the table, except for unreadable images.

    Without a decision, unreadable images and duplicates with conflicting labels are left out.

    Args:
        table: the audit's table. The decisions that a second look took (its column ``decided``) count as well.
        decisions: id -> decision, from ``read_decisions``; they come before those of the table.
        min_confidence: least confidence at which the label suggested for a mislabelled image is given to it.
        drop_foreign: whether foreign images are left out; otherwise they keep their label.
        min_foreign: least chance to be foreign of an image that is left out, whatever its verdict; None leaves out what
            the audit calls foreign.
        keep_undecided: whether images stay, as they are, of which the audit is not sure enough, and unlabelled ones.
        drop_copies: whether only one stays of images that repeat each other (``duplicate_of``).
        allow_new_labels: whether a person may give labels that the table does not know.
        not_copies: ids of images that repeat no other image, as a person said, from ``read_not_copies``. Where all
            labels of the remaining copies agree, they are in conflict no more.

    Raises:
        DataError: the decisions name unknown images or labels, or the table has an unknown verdict or an id twice.
        ConfigError: a confidence or chance is out of range.

    Examples:
        >>> import numpy as np
        >>> from lond.audit import AuditSettings, audit
        >>> points = np.random.default_rng(0).normal(size=(40, 4)) + 9 * np.eye(2, 4)[np.arange(40) % 2]
        >>> labels = np.arange(40) % 2
        >>> labels[0] = 1  # a label error
        >>> found = audit((points, labels), settings=AuditSettings(map="none"))
        >>> print(plan_corrections(found.table).describe())
        40 of 40 images stay, 1 of them under another label; 0 are left out
          keep            39  called clean
          relabel          1  mislabelled (confidence at least 0.5)
        labels that change:
                 1  1 -> 0
    """
    if not (0 <= min_confidence <= 1 and (min_foreign is None or 0 <= min_foreign <= 1)):
        raise ConfigError(f"min_confidence and min_foreign must lie in [0, 1], got {min_confidence} and {min_foreign}")
    rules = _Rules(min_confidence, drop_foreign, min_foreign, keep_undecided)
    _check(table, decisions or {}, not_copies, allow_new_labels)
    decisions = decided_before(table) | dict(decisions or {})
    table, settled = without_groups(table, not_copies)
    images = []
    for row in table.rows():
        decision = decisions.get(row["id"])
        if decision is None and row["id"] in settled:
            images.append(_image(row, Action.KEEP, Reason.CONFLICT_SETTLED))
        else:
            images.append(_with_doubts(row, rules) if decision is None else _by_person(row, decision))
    return CorrectionPlan(_without_copies(table, images, decisions) if drop_copies else tuple(images))


def write_corrected_csv(
    path: Path,
    plan: CorrectionPlan,
    root: Path | None = None,
    *,
    overwrite: bool = False,
    allow_outside: bool = False,
) -> None:
    """Write the kept images and their labels atomically, as a table for ``lond train``.

    The column ``confirmed``, if there is one, marks labels that a person gave or confirmed. Training and later audits
    take these as known.
    Text that a spreadsheet would take for a formula gets an apostrophe in front, which ``lond train`` takes off, and a
    path of that kind ``./``, which every program understands.

    Args:
        path: file to write.
        plan: what becomes of the images.
        root: folder that the paths of the plan are relative to. With it they are written relative to the file's own
            folder, where they are looked for; without it they are written as they are.
        overwrite: whether an existing file may be replaced.
        allow_outside: whether images may lie outside the root or, without one, paths may be absolute or lead up.

    Raises:
        DataError: the file exists and may not be replaced, or the images are not below the root.

    Examples:
        >>> import numpy as np
        >>> from lond.audit import AuditSettings, audit
        >>> points = np.random.default_rng(0).normal(size=(40, 4)) + 9 * np.eye(2, 4)[np.arange(40) % 2]
        >>> found = audit((points, np.arange(40) % 2), settings=AuditSettings(map="none"))
        >>> plan = plan_corrections(found.table)
        >>> write_corrected_csv(Path("corrected.csv"), plan)
        >>> Path("corrected.csv").read_text().splitlines()[0]
        'id,path,label,given_label,action,reason'
    """
    _check_paths(plan, root, allow_outside)
    if path.exists() and not overwrite:
        raise DataError(f"{path} exists; it may be the original, so choose another name or remove it")
    rows = []
    for image in plan.kept:
        place = image.path
        if root is not None and place:
            place = os.path.relpath(root.resolve() / place, path.parent.resolve()).replace(os.sep, "/")
        place = f"./{place}" if neutralise(place) != place else place
        confirmed = "yes" if image.confirmed else ""
        rows.append((image.id, place, image.label, image.given, image.action, image.why, confirmed))
    columns = (*CORRECTED, CONFIRMED) if any(image.confirmed for image in plan.kept) else CORRECTED
    write_rows(path, columns, [row[: len(columns)] for row in rows])


def _check_paths(plan: CorrectionPlan, root: Path | None, allow_outside: bool) -> None:
    """Check that all images that stay are files below the root; without one, that their paths lead nowhere else."""
    wrong, why = [], ""
    for image in plan.kept:
        try:
            if image.path and root is not None:
                locate(image.path, root.resolve(), allow_outside=allow_outside)
            elif not allow_outside and _leads_out(image.path):
                raise DataError("its path leads outside the source folder")
        except DataError as error:
            wrong.append(image.path)
            why = why or str(error)
    if wrong:
        where = root or "the folder of the images"
        raise DataError(
            f"{where} does not hold {_few(wrong)} ({why}); give the folder that was audited as root, "
            "or allow images outside it"
        )


def _leads_out(path: str) -> bool:
    parts = path.replace("\\", "/").split("/")
    return os.path.isabs(path) or path[:1] == "\\" or path[1:2] == ":" or os.pardir in parts or "\0" in path


def _check(
    table: AuditTable, decisions: Mapping[str, ReviewDecision], not_copies: Collection[str], allow_new_labels: bool
) -> None:
    strange = {*table.verdict} - {str(verdict) for verdict in Verdict}
    if strange:
        raise DataError(f"the table has verdicts that there are none of: {_few(sorted(strange))}")
    twice = [name for name, count in Counter(table.id).items() if count > 1]
    if twice:
        raise DataError(f"the table has more than one row of {_few(twice)}; leave one of each")
    unknown = {*decisions, *not_copies} - set(table.id)
    if unknown:
        raise DataError(
            f"the decisions name images that the table does not: {_few(sorted(unknown))}; they belong to another audit"
        )
    if any(decision.label == "" for decision in decisions.values()):
        raise DataError("a decision to relabel needs a new label")
    if not allow_new_labels:
        check_labels(decisions, {*table.label, *table.suggested_label}, "correct it, or allow it with --new-labels")


def _few(names: list[str]) -> str:
    more = f" and {len(names) - 5} others" if len(names) > 5 else ""
    return ", ".join(repr(name[:80]) for name in names[:5]) + more


def _image(
    row: dict[str, Any], action: Action, reason: Reason, label: str | None = None, *, detail: str = ""
) -> PlannedImage:
    """Return the planned image; a label equal to the given one is no change."""
    given = row["label"]
    if action == Action.RELABEL and label == given:
        action = Action.KEEP
    return PlannedImage(row["id"], row["path"], given, given if label is None else label, action, reason, detail)


def _by_person(row: dict[str, Any], decision: ReviewDecision) -> PlannedImage:
    if row["verdict"] == Verdict.UNREADABLE:
        return _image(row, Action.LEAVE_OUT, Reason.UNREADABLE)
    if decision.choice == Choice.FOREIGN:
        return _image(row, Action.LEAVE_OUT, Reason.PERSON_FOREIGN)
    if decision.choice == Choice.RELABEL:
        return _image(row, Action.RELABEL, Reason.PERSON_RELABELLED, decision.new_label)
    if decision.choice == Choice.KEEP:
        return _image(row, Action.KEEP, Reason.PERSON_KEPT if row["label"] else Reason.UNLABELLED)
    if decision.choice == Choice.NOT_SURE:
        return _image(row, Action.KEEP, Reason.PERSON_UNSURE)
    # What was accepted is what the person saw, even if the table was made anew since.
    verdict = decision.verdict or row["verdict"]
    suggested = decision.suggested_label if decision.verdict else decision.suggested_label or row["suggested_label"]
    if verdict == Verdict.FOREIGN:
        return _image(row, Action.LEAVE_OUT, Reason.PERSON_ACCEPTED_FOREIGN)
    if verdict != Verdict.CLEAN and suggested:
        return _image(row, Action.RELABEL, Reason.PERSON_ACCEPTED_LABEL, suggested)
    if verdict in (Verdict.CLEAN, Verdict.UNLABELLED):
        return _image(row, Action.KEEP, Reason.PERSON_ACCEPTED)
    return _image(row, Action.LEAVE_OUT, Reason.PERSON_ACCEPTED_NO_LABEL, detail=verdict)


def decided_before(table: AuditTable) -> dict[str, ReviewDecision]:
    """Return id -> decision of the images that a second look has a decision of; its suggestion is the decided label.

    Raises:
        DataError: the table has a word that is no decision.
    """
    found = {}
    for name, word, verdict, label in zip(table.id, table.decided, table.verdict, table.suggested_label, strict=True):
        choice = choice_of(word)
        if choice is not None and (label or choice != Choice.RELABEL):
            found[name] = ReviewDecision(choice, label, verdict, label)
    return found


def _with_doubts(row: dict[str, Any], rules: _Rules) -> PlannedImage:
    """Return the image planned by the rules, with what a person should know about it."""
    judged = row["verdict"] in (Verdict.CLEAN, Verdict.MISLABELLED, Verdict.UNLABELLED)
    likely = judged and rules.drop_foreign and _perhaps_foreign(row) >= LIKELY
    unseen = tuple(name for name in row["quality"] if name in HARD_TO_SEE)
    return replace(_by_rules(row, rules), likely_foreign=likely, hard_to_see=unseen)


def _by_rules(row: dict[str, Any], rules: _Rules) -> PlannedImage:
    verdict = Verdict(row["verdict"])
    judged = verdict in (Verdict.CLEAN, Verdict.MISLABELLED, Verdict.UNLABELLED)
    least = rules.min_foreign
    if judged and rules.drop_foreign and least is not None and _perhaps_foreign(row) >= least:
        return _image(row, Action.LEAVE_OUT, Reason.PERHAPS_FOREIGN, detail=f"{least:g}")
    if verdict == Verdict.CLEAN:
        return _image(row, Action.KEEP, Reason.NO_DOUBT)
    if verdict == Verdict.UNREADABLE:
        return _image(row, Action.LEAVE_OUT, Reason.UNREADABLE)
    if verdict == Verdict.DUPLICATE_CONFLICT:
        return _image(row, Action.LEAVE_OUT, Reason.DUPLICATE_CONFLICT)
    if verdict == Verdict.FOREIGN and not rules.drop_foreign:
        return _image(row, Action.KEEP, Reason.FOREIGN_WANTED)
    # Comparisons with a missing number (NaN) are false, so without evidence nothing is done.
    if verdict == Verdict.FOREIGN and least is None and _chance_foreign(row) >= LIKELY:
        return _image(row, Action.LEAVE_OUT, Reason.CALLED_FOREIGN)
    if verdict == Verdict.FOREIGN and least is not None and _chance_foreign(row) >= least:
        return _image(row, Action.LEAVE_OUT, Reason.FOREIGN, detail=f"{least:g}")
    if verdict == Verdict.MISLABELLED and row["suggested_label"] and row["confidence"] >= rules.min_confidence:
        detail = f"{rules.min_confidence:g}"
        return _image(row, Action.RELABEL, Reason.MISLABELLED, row["suggested_label"], detail=detail)
    return _image(row, Action.KEEP if rules.keep_undecided else Action.LEAVE_OUT, UNDECIDED[verdict])


def _chance_foreign(row: dict[str, Any]) -> float:
    """Return how likely an image called foreign is so; older audits tell a p-value instead."""
    chance: float = 1 - row["p_value"] if math.isnan(row["confidence"]) else row["confidence"]
    return chance


def _perhaps_foreign(row: dict[str, Any]) -> float:
    """Return how likely an image that was not called foreign is so; NaN in older audits, which tell p-values.

    What reaches every limit of an audit and was not called foreign was spared on purpose.
    """
    chance: float = row["foreign_score"]
    return chance if math.isnan(row["p_value"]) and chance < SURELY_CALLED else math.nan


def _without_copies(
    table: AuditTable, images: list[PlannedImage], decisions: Mapping[str, ReviewDecision]
) -> tuple[PlannedImage, ...]:
    """Leave one of the images that repeat each other, and those on which a person decided."""
    repeats = dict(zip(table.id, table.duplicate_of, strict=True))
    originals = {image.id: _original(image.id, repeats) for image in images if image.action != Action.LEAVE_OUT}
    # The original stays; if it is left out, the first of its copies takes its place.
    staying = {original: original if original in originals else name for name, original in reversed(originals.items())}
    result = []
    for image in images:
        if image.id in originals and image.id not in decisions and staying[originals[image.id]] != image.id:
            image = replace(image, action=Action.LEAVE_OUT, label=image.given, reason=Reason.REPEATED, detail="")
        result.append(image)
    return tuple(result)


def without_groups(table: AuditTable, not_copies: Collection[str]) -> tuple[AuditTable, frozenset[str]]:
    """Return the table in which some images repeat nothing, and the ids of conflicts that this has settled."""
    if not not_copies:
        return table, frozenset()
    repeats = dict(zip(table.id, table.duplicate_of, strict=True))
    groups: dict[str, list[int]] = {}
    for place, name in enumerate(table.id):
        groups.setdefault(_original(name, repeats), []).append(place)
    first = list(table.duplicate_of)
    settled: set[str] = set()
    for places in groups.values():
        alone = [place for place in places if table.id[place] in not_copies]
        left = [place for place in places if table.id[place] not in not_copies]
        if not alone:
            continue
        for place in alone:
            first[place] = ""
        for place in left:
            first[place] = "" if place == left[0] else table.id[left[0]]
        agreed = left if len({table.label[place] for place in left} - {""}) < 2 else []
        settled |= {table.id[at] for at in (*alone, *agreed) if table.verdict[at] == Verdict.DUPLICATE_CONFLICT}
    return replace(table, duplicate_of=tuple(first)), frozenset(settled)


def _original(name: str, repeats: Mapping[str, str]) -> str:
    """Follow the chain of repetitions to its end in the table; a circle ends at its first name."""
    seen = {name}
    while (before := repeats[name]) in repeats and before not in seen:
        seen.add(before)
        name = before
    return min(seen) if before in seen else name
