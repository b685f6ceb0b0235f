"""Plans and records by hand, without training."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from lond.paper import experiment
from lond.paper.reproduce.filters import chosen_cells
from lond.paper.reproduce.planning import RunPlan, plan_experiment
from lond.presets.scales import Places
from lond.results.batch import Outcome
from lond.results.records import DetectorRecord, PaperScale, Record, Seeds


def made_plan(
    name: str,
    scale: PaperScale = "smoke",
    cells: Sequence[str] = (),
    seeds: Sequence[int] = (0,),
    out: Path = Path("out"),
) -> RunPlan:
    wanted = experiment(name)
    places = Places("data", out / "web-digits")
    return plan_experiment(wanted, chosen_cells(wanted.cells, cells), scale, seeds, places, out)


def made_record(
    values: dict[str, float | None], seed: int = 0, detectors: Sequence[DetectorRecord] = (), **rest: Any
) -> Record:
    return Record(
        identity="0" * 10,
        variant="1" * 10,
        method="lond-drs",
        data="digits",
        noise="sym80",
        scale="smoke",
        seeds=Seeds(seed, 0, 0),
        config={},
        epochs=2,
        metrics=values,
        curves={name: (value, value) for name, value in values.items()},
        detectors=tuple(detectors),
        **rest,
    )


def same_for_all(plan: RunPlan, values: dict[str, float | None]) -> Outcome:
    return Outcome({run: made_record(values, run.seed) for run in plan.runs})
