"""From what was found out about the images to the rows and figures that a person sees."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from lond.audit.copies.duplicates import DuplicateGroups
from lond.audit.judge.confusions import confusions
from lond.audit.judge.learn import Learned
from lond.audit.judge.rates import told_rates
from lond.audit.own_chances import OwnChances, own_chances
from lond.audit.places import paths_of
from lond.audit.second_look import SecondLook
from lond.audit.table import AuditTable
from lond.crossfit.chances import DOUBTED_FROM
from lond.crossfit.decided import UNDECIDED
from lond.frozen.read import ImageFacts
from lond.types import Samples, Verdict


@dataclass(frozen=True)
class Findings:
    """Everything that was found out, on its way into the table.

    ``rows`` are the places that were learned from, ``look`` is what a person decided before.
    """

    facts: ImageFacts
    groups: DuplicateGroups
    rows: Tensor
    learned: Learned
    look: SecondLook | None = None

    @property
    def samples(self) -> Samples:
        """The audited images."""
        return self.facts.samples

    def own_row(self) -> Tensor:
        """Return for each image the row of what was learned about it (a copy has its original's), -1 if unreadable."""
        row = torch.full((len(self.samples),), -1)
        row[self.rows] = torch.arange(len(self.rows))
        copies = self.groups.exact.nonzero().squeeze(1)
        row[copies] = row[self.groups.first[copies]]
        return row

    def verdicts(self, at: Tensor) -> list[Verdict]:
        """Return the verdict on every image; ``at`` is ``own_row``."""
        judgement = self.learned.judgement
        foreign, wrong = judgement.foreign.tolist(), judgement.wrong.tolist()
        found = []
        conflict = self.groups.conflict.tolist()
        for place, (row, label) in enumerate(zip(at.tolist(), self.samples.labels.tolist(), strict=True)):
            told = self.look and self.look.verdict(place, label)
            if row < 0:
                found.append(Verdict.UNREADABLE)
            elif told:
                found.append(told)
            elif conflict[place]:
                found.append(Verdict.DUPLICATE_CONFLICT)
            elif foreign[row]:
                found.append(Verdict.FOREIGN)
            elif label < 0:
                found.append(Verdict.UNLABELLED)
            else:
                found.append(Verdict.MISLABELLED if wrong[row] else Verdict.CLEAN)
        return found

    def chances(self, at: Tensor) -> OwnChances:
        """Return how likely every label is wrong and every image foreign; ``at`` is ``own_row``."""
        truth = None if self.look is None else self.look.truth
        return own_chances(self.learned.judgement, at, self.samples.labels, truth)

    def suggestions(self, at: Tensor, verdicts: list[Verdict], likely: OwnChances) -> tuple[list[str], list[float]]:
        """Return for every image the likeliest class, "" if it is none, and how likely the verdict is right.

        That is the chance of a foreign image to be foreign, of a clean label to be right, and else of the suggestion,
        which is never likelier than that the given label is wrong.
        """
        judgement, names = self.learned.judgement, self.samples.class_names
        clean, _, foreign = (column.tolist() for column in judgement.chances.unbind(dim=1))
        other, sure = judgement.evidence.suggested.tolist(), judgement.confidence.tolist()
        classes, shares = judgement.evidence.best.tolist(), judgement.evidence.best_chance.tolist()
        labels, confidences = [], []
        given = self.samples.labels.tolist()
        for place, (row, verdict) in enumerate(zip(at.tolist(), verdicts, strict=True)):
            truth = UNDECIDED if self.look is None else int(self.look.truth[place])
            if verdict is Verdict.UNREADABLE:
                label, confidence = "", math.nan
            elif truth != UNDECIDED:
                label, confidence = names[truth] if truth >= 0 else "", 1.0
            elif verdict is Verdict.FOREIGN:
                label, confidence = "", foreign[row]
            elif verdict is Verdict.CLEAN:
                label, confidence = names[given[place]], clean[row]
            elif verdict is Verdict.MISLABELLED:
                label, confidence = names[other[row]], likely.of_suggestion(place, sure[row])
            else:
                label, confidence = names[classes[row]], shares[row] * (1 - foreign[row])
                if classes[row] != given[place]:
                    confidence = likely.of_suggestion(place, confidence)
            labels.append(label)
            confidences.append(confidence)
        return labels, confidences

    def table(self, at: Tensor, verdicts: list[Verdict]) -> AuditTable:
        """Return one row per image."""
        learned, ids, names = self.learned, self.samples.ids, self.samples.class_names
        rows = at.tolist()
        learned_ids = [ids[place] for place in self.rows.tolist()]
        named = [tuple(learned_ids[n] for n in places) for places in learned.neighbours.tolist()]
        near = [named[row] if row >= 0 else () for row in rows]
        # A copy has what was learned of its original, but its own label.
        margins = learned.margins(at.clamp_min(0), self.samples.labels)
        likely = self.chances(at)
        suggested, confidence = self.suggestions(at, verdicts, likely)
        repeated = self.groups.first.tolist()

        def readable(values: Tensor) -> tuple[float, ...]:
            # One and the same NaN, so that equal tables compare equal.
            known = zip(values.tolist(), rows, strict=True)
            return tuple(value if row >= 0 and value == value else math.nan for value, row in known)

        return AuditTable(
            id=ids,
            path=paths_of(self.samples),
            label=tuple(names[label] if label >= 0 else "" for label in self.samples.labels.tolist()),
            verdict=tuple(map(str, verdicts)),
            suggested_label=tuple(suggested),
            confidence=tuple(confidence),
            neighbour_margin=readable(margins[0]),
            negative_margin=readable(margins[1]),
            wrong_score=readable(likely.wrong),
            foreign_score=readable(likely.foreign),
            p_value=(math.nan,) * len(ids),
            duplicate_of=tuple("" if first == place else ids[first] for place, first in enumerate(repeated)),
            reason=tuple(self.facts.unreadable.get(place, "") for place in range(len(ids))),
            neighbours=tuple(near),
            copy=self.groups.kinds(),
            decided=() if self.look is None else self.look.words,
            copy_group=tuple("" if group < 0 else str(group + 1) for group in self.groups.groups.tolist()),
            # What the limit for wrong labels is compared with.
            wrong_if_known=readable((likely.wrong / (1 - likely.foreign)).clamp_max(1)),
        )

    def summary(self, verdicts: list[Verdict], notes: list[str], leaks: list[dict[str, Any]]) -> dict[str, Any]:
        """Return counts, estimated rates, confusions and what went wrong, as plain values."""
        judgement, names = self.learned.judgement, self.samples.class_names
        told = [verdicts[place] for place in self.rows.tolist()]
        return {
            "images": len(self.samples),
            "counts": {str(verdict): count for verdict, count in Counter(verdicts).most_common()},
            "rates": told_rates(judgement, names),
            "confusions": confusions(self.samples.labels[self.rows], judgement.evidence.suggested, told, names),
            "notes": notes,
            "problems": [
                *({"id": self.samples.ids[place], "reason": why} for place, why in self.facts.unreadable.items()),
                *({"id": problem.id, "reason": problem.reason} for problem in self.samples.problems),
            ],
            "leaks": leaks,
            "threshold": judgement.foreign_from,
            "wrong_threshold": DOUBTED_FROM,
        }
