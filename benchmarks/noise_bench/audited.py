"""``lond audit`` as it stands, with its table, its rates, the set that ``apply`` leaves, and its trained model."""

from __future__ import annotations

import tempfile
from pathlib import Path

import numpy as np
import torch
from benchmarks.noise_bench.opinion import FALSE_ALARMS, Opinion, Rate, Task, Tested

from lond.audit.correct.apply import plan_corrections
from lond.audit.correct.plan import Action
from lond.audit.result import Audit
from lond.audit.run import audit
from lond.audit.settings import AuditSettings
from lond.data.sources import load
from lond.detect.threshold import threshold_at
from lond.runs import load_run
from lond.train.runtime import RuntimeSettings


def audited(task: Task) -> Opinion:
    """Return what an audit of the features says; see ``read_audit`` for how its table becomes scores."""
    settings = AuditSettings(map="none", seed=task.seed)
    with tempfile.TemporaryDirectory() as folder:
        found = audit((task.features, task.given), settings=settings, runtime=_RUNTIME, folder=Path(folder))
        tested = tested_by_model(Path(folder) / "model", task) if len(task.test_features) else None
    return read_audit(found, tested)


_RUNTIME = RuntimeSettings("cpu", threads=1)


def read_audit(found: Audit, tested: Tested | None) -> Opinion:
    """Return the opinion that an audit's table, its rates and the defaults of ``apply`` amount to.

    Whether a label is doubted among images of known classes goes by its chance to be wrong, if the image is known.
    """
    table = found.table
    # Classes of arrays are named by their numbers; foreign images have no suggestion.
    suggested = np.array([int(name or -1) for name in table.suggested_label])
    confidence, score, outside = (
        np.array(column) for column in (table.confidence, table.wrong_score, table.foreign_score)
    )
    verdict = np.array(table.verdict)
    foreign, wrong = verdict == "foreign", verdict == "mislabelled"
    plan = plan_corrections(table)
    return Opinion(
        wrong_score=score,
        wrong=wrong,
        known_score=score / np.maximum(1 - outside, 1e-9),
        known_doubt=wrong | foreign,
        foreign_score=outside,
        foreign=foreign,
        suggested=suggested,
        confidence=np.where(wrong, confidence, np.nan),
        labels=np.array([int(image.label or -1) for image in plan.images]),
        kept=np.array([image.action != Action.LEAVE_OUT for image in plan.images]),
        rates=_rates(found),
        tested=tested,
    )


def _rates(found: Audit) -> dict[str, Rate]:
    told = found.summary.get("rates") or {}
    shown = {name: told.get(name) for name in ("wrong", "foreign", "either")}
    return {
        name: (float(rate["estimate"]), float(rate["low"]), float(rate["high"]))
        for name, rate in shown.items()
        if rate is not None
    }


def tested_by_model(folder: Path, task: Task) -> Tested:
    """Return what the audit's model says of the test images, at the threshold of its own training images."""
    run = load_run(folder)
    samples = load((task.test_features, np.zeros(len(task.test_features), dtype=np.int64)), "test")
    told = run.predict(samples)
    flagged = torch.zeros(len(samples), dtype=torch.bool)
    if run.calibration is not None:
        flagged = told.scores > threshold_at(run.calibration.known_scores, FALSE_ALARMS)
    return Tested(told.probabilities.argmax(dim=1).numpy(), told.scores.numpy(), flagged.numpy())
