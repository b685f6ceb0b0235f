"""From what was found out about the images to the rows and figures that a person sees."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from lond.audit.copies.duplicates import DuplicateGroups
from lond.audit.judge.learn import Learned
from lond.audit.rates.confusions import confusions
from lond.audit.rates.estimate import RateSettings, estimate_rates
from lond.audit.table import AuditTable
from lond.frozen.read import ImageFacts
from lond.identify import judge
from lond.types import Samples, Verdict


@dataclass(frozen=True)
class Findings:
    """Everything that was found out, on its way into the table. ``rows`` are the places that were learned from."""

    facts: ImageFacts
    groups: DuplicateGroups
    rows: Tensor
    learned: Learned

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
        prediction, calibration = self.learned.prediction, self.learned.calibration
        threshold = math.inf if calibration is None else calibration.threshold
        chosen = at.clamp_min(0)
        truths = self.learned.truths.argmax(dim=1)
        verdicts = judge(self.samples.labels, truths[chosen], prediction.scores[chosen], threshold)
        for place in range(len(verdicts)):
            if at[place] < 0:
                verdicts[place] = Verdict.UNREADABLE
            elif self.groups.conflict[place]:
                verdicts[place] = Verdict.DUPLICATE_CONFLICT
        return verdicts

    def table(self, at: Tensor, verdicts: list[Verdict]) -> AuditTable:
        """Return one row per image."""
        learned, ids, names = self.learned, self.samples.ids, self.samples.class_names
        best = learned.truths.max(dim=1)
        rows = at.tolist()
        silent = (Verdict.FOREIGN, Verdict.UNREADABLE)
        near = [tuple(ids[self.rows[n]] for n in learned.neighbours[row].tolist()) if row >= 0 else () for row in rows]
        repeated = self.groups.first.tolist()

        def column(values: Tensor) -> tuple[float, ...]:
            found = values.tolist()
            return tuple(found[row] if row >= 0 else math.nan for row in rows)

        def given(values: Tensor) -> tuple[float, ...]:
            return tuple(value if row >= 0 else math.nan for value, row in zip(values.tolist(), rows, strict=True))

        # A copy has what was learned of its original, but its own label.
        margins = learned.margins(at.clamp_min(0), self.samples.labels)
        suggested = [names[c] for c in best.indices.tolist()]
        return AuditTable(
            id=ids,
            path=ids,
            label=tuple(names[label] if label >= 0 else "" for label in self.samples.labels.tolist()),
            verdict=tuple(map(str, verdicts)),
            suggested_label=tuple("" if v in silent else suggested[row] for v, row in zip(verdicts, rows, strict=True)),
            confidence=tuple(
                math.nan if v in silent else c for v, c in zip(verdicts, column(best.values), strict=True)
            ),
            neighbour_margin=given(margins[0]),
            negative_margin=given(margins[1]),
            foreign_score=column(learned.prediction.scores),
            p_value=column(learned.p_values()),
            duplicate_of=tuple("" if first == place else ids[first] for place, first in enumerate(repeated)),
            reason=tuple(self.facts.unreadable.get(place, "") for place in range(len(ids))),
            neighbours=tuple(near),
        )

    def summary(self, verdicts: list[Verdict], notes: list[str], leaks: list[dict[str, Any]]) -> dict[str, Any]:
        """Return counts, estimated rates, confusions and what went wrong, as plain values."""
        learned, names = self.learned, self.samples.class_names
        calibration = learned.calibration
        told = [verdicts[place] for place in self.rows.tolist()]
        labels = self.samples.labels[self.rows]
        probabilities = learned.prediction.probabilities
        known = None if calibration is None else len(calibration.known_scores)
        rates = estimate_rates(
            labels,
            probabilities,
            told,
            names,
            None if calibration is None else learned.p_values(),
            RateSettings(calibration=known),
            class_p_values=None if calibration is None else learned.class_p_values(labels),
        )
        return {
            "images": len(self.samples),
            "counts": {str(verdict): count for verdict, count in Counter(verdicts).most_common()},
            "rates": rates.as_dict(),
            "confusions": confusions(labels, learned.truths.argmax(dim=1), told, names),
            "notes": notes,
            "problems": [
                *({"id": self.samples.ids[place], "reason": why} for place, why in self.facts.unreadable.items()),
                *({"id": problem.id, "reason": problem.reason} for problem in self.samples.problems),
            ],
            "leaks": leaks,
            "threshold": None if calibration is None else calibration.threshold,
        }
