"""Which runs are needed, what they are called, and what is left out."""

from __future__ import annotations

from pathlib import Path

import pytest
from paper.reproduce.made import made_plan

from lond.errors import DataError
from lond.paper import EXPERIMENTS
from lond.paper.reproduce.planning import data_problems, without_data
from lond.paper.reproduce.scales import SCALES


@pytest.mark.parametrize("scale", SCALES)
def test_every_cell_is_planned_once_or_left_out(scale: str) -> None:
    for name in ("table2", "table3", "table4", "table5", "table7", "figure1", "figure2", "figure5", "figure6"):
        experiment = EXPERIMENTS[name]
        plan = made_plan(name, scale, seeds=[0, 1])
        assert len(plan.cells) + len(plan.left_out) == len(experiment.cells)
        assert all([run.seed for run in plan.runs_of(cell)] == [0, 1] for cell in plan.cells)
        assert len({run.folder for run in plan.runs}) == len(plan.runs)


def test_runs_are_shared() -> None:
    assert len(made_plan("table2", "smoke", ["sym80"]).runs) == 3
    # The benchmarks of a smoke run are one.
    assert len(made_plan("table1", "smoke").runs) == 30
    assert len(made_plan("table3", "smoke").runs) == 12
    assert len(made_plan("table1", "full").runs) == 60
    (run,) = made_plan("table6", "smoke", ["MDS", "KNN", "sym20"]).runs
    assert run.detectors == {"mds", "knn"} and not run.needs_map
    assert run.name.startswith("digits-sym20-sed-")
    assert all(run.needs_map for run in made_plan("figure6", "mini").runs)
    names = {run.name.rpartition("-")[0] for run in made_plan("table7", "frozen", ["SED"]).runs}
    assert "cifar100n+places365-10k-sym50-frozen-sed" in names
    assert made_plan("table3", "full", ["SED", "web-car"]).runs[0].name.startswith("web-car-sed-")


def test_without_data_there_is_a_reason(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    plan = made_plan("table3", "full", ["SED"])
    assert len(data_problems(plan.runs)) == 3
    with pytest.raises(DataError, match=r"nothing of table3 can be run on the scale full: .*web-aircraft"):
        without_data(plan, plan.runs)
    # What is stored needs no data.
    assert without_data(plan, []) == plan
    assert len(without_data(plan, plan.runs[:1]).cells) == 2
    assert without_data(made_plan("table5"), []).runs == ()
    with pytest.raises(DataError, match="there is no reduced Web-Car"):
        without_data(made_plan("table3", "mini"), [])


def test_cells_with_data_stay(monkeypatch: pytest.MonkeyPatch) -> None:
    def read(settings: object) -> None:
        if settings.name == "cifar100n":  # type: ignore[attr-defined]
            raise DataError("no files")

    monkeypatch.setattr("lond.paper.reproduce.planning.load_benchmark", read)
    whole = made_plan("table1", "full", ["SED"], [0, 1])
    plan = without_data(whole, whole.runs)
    assert {cell.data for cell in plan.cells} == {"cifar80n"}
    assert [(cell.data, reason) for cell, reason in plan.left_out.items()] == [("cifar100n", "no files")] * 3
    assert len(plan.runs) == 6
