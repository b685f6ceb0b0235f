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
from lond.audit.run import AuditSettings, audit
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

    A label is doubted by the confidence of another suggested class, or by one minus that of its own. An image called
    foreign has no suggestion in the table; its neighbour margin takes that place.
    """
    table = found.table
    # Classes of arrays are named by their numbers; foreign images have no suggestion.
    given, suggested = (
        np.array([int(name or -1) for name in column]) for column in (table.label, table.suggested_label)
    )
    confidence, margin = np.array(table.confidence), np.array(table.neighbour_margin)
    verdict = np.array(table.verdict)
    foreign, wrong = verdict == "foreign", verdict == "mislabelled"
    doubt = np.where(suggested == given, 1 - confidence, confidence)
    score = np.where(foreign, (1 - margin) / 2, doubt)
    plan = plan_corrections(table)
    return Opinion(
        wrong_score=score,
        wrong=wrong,
        known_doubt=wrong | foreign,
        foreign_score=np.array(table.foreign_score),
        foreign=foreign,
        suggested=suggested,
        confidence=np.where(wrong, confidence, np.nan),
        labels=np.array([int(image.label or -1) for image in plan.images]),
        kept=np.array([image.action != Action.LEAVE_OUT for image in plan.images]),
        rates=_rates(found),
        tested=tested,
    )


def _rates(found: Audit) -> dict[str, Rate]:
    names = {"wrong": "closed", "foreign": "open"}
    shown = {name: (found.summary.get("rates") or {}).get(key) for name, key in names.items()}
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
    if run.decision is not None:
        flagged = told.scores > threshold_at(run.decision.known_scores, FALSE_ALARMS)
    return Tested(told.probabilities.argmax(dim=1).numpy(), told.scores.numpy(), flagged.numpy())
