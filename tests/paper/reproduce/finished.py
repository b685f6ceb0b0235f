"""Records of finished runs of a plan, with the settings and changes that training would leave, without training."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from results.run_samples import write_run

from lond.paper.reproduce.planning import Run, RunPlan
from lond.results import Record, record_of
from lond.results.records import Machine

MACHINE = Machine(1, "cpu", "32-true", 1)


def finished_run(run: Run, accuracy: float = 0.5) -> Path:
    return write_run(run.folder, run.config, accuracy=accuracy)


def finished_records(plan: RunPlan, accuracy: Callable[[Run], float] = lambda run: 0.5) -> dict[Run, Record]:
    """Return a record a run; the reported accuracy is one point below the given one."""
    return {
        run: record_of(finished_run(run, accuracy(run)), scale=plan.scale, baseline=run.baseline, machine=MACHINE)
        for run in plan.runs
    }
