"""Stored runs are found as the plan of a reproduction finds them."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from paper.reproduce.finished import finished_records
from paper.reproduce.made import made_plan
from results.run_samples import write_run
from tools.reproduced.stored import CellRuns, found_of, shared_draws

from lond.config import with_overrides
from lond.paper import EXPERIMENTS
from lond.paper.reproduce.filters import other_noises
from lond.presets.benchmarks import mini80, preset
from lond.presets.earlier import as_first_released
from lond.presets.features import on_frozen
from lond.results import Seeds, record_of

NAMES = ("table1", "table2", "table4", "table7", "figure1", "figure3", "figure4", "figure5", "figure6")


@pytest.mark.parametrize("scale", ["full", "frozen", "mini"])
def test_what_the_plan_finds_by_settings(scale: str, tmp_path: Path) -> None:
    records, wanted = {}, {}
    for name in NAMES:
        asked = [*other_noises(EXPERIMENTS[name].cells)[:1]] if name in ("table4", "figure5") else []
        asked += ["sym80"] if name in ("table1", "figure3", "figure4") else []
        plan = made_plan(name, scale, asked, [0, 1], tmp_path)
        own = finished_records(plan)
        records |= {record.name: record for record in own.values()}
        wanted |= {cell: {run.seed: own[run].name for run in plan.runs_of(cell)} for cell in plan.cells}
    assert len(wanted) > 50
    for cell, names in wanted.items():
        found = found_of(cell, scale, records.values())
        assert {seed: record.name for seed, record in found.runs.items()} == names, cell
        assert not found.others


def test_other_settings_are_no_run_of_a_cell(tmp_path: Path) -> None:
    (cell,) = made_plan("table1", "frozen", ["Ours", "cifar80n", "sym80"]).cells
    plain = on_frozen(preset("cifar80n-sym80"))
    changed = with_overrides(plain, {"settings.mixup": "0.5"})
    record = record_of(write_run(tmp_path / "a", plain))
    assert found_of(cell, "frozen", [record]).runs == {0: record}
    assert found_of(cell, "frozen", [record_of(write_run(tmp_path / "b", changed))]) == CellRuns()
    assert found_of(cell, "full", [record]) == CellRuns()


def test_runs_of_the_first_version_count_until_there_are_others(tmp_path: Path) -> None:
    (cell,) = made_plan("table1", "frozen", ["SED", "cifar80n", "sym80"]).cells
    new = on_frozen(preset("cifar80n-sym80", "sed"))
    first, today = (
        record_of(write_run(tmp_path / str(at), config)) for at, config in enumerate((as_first_released(new), new))
    )
    assert found_of(cell, "frozen", [first]) == CellRuns({0: first}, earlier=("clamp_logits=false",))
    assert found_of(cell, "frozen", [first, today]) == found_of(cell, "frozen", [today]) == CellRuns({0: today})
    assert shared_draws([cell], "frozen", [first]) == shared_draws([cell], "frozen", [today])
    (unchanged,) = made_plan("table1", "frozen", ["NGC", "cifar80n", "sym80"]).cells
    assert found_of(unchanged, "frozen", [first, today]) == CellRuns()


def test_mini80_needs_no_preset_to_know_its_changes(tmp_path: Path) -> None:
    cell = made_plan("figure4", "mini", ["K=2", "sym80"]).cells[0]
    plain = mini80("symmetric", 0.8)
    changed = with_overrides(plain, {"settings.identify.top": "2"})
    record = record_of(write_run(tmp_path / "a", changed))
    assert (record.preset, record.changes) == ("", {"settings.identify.top": 2})
    assert found_of(cell, "mini", [record]).runs == {0: record}
    assert record_of(write_run(tmp_path / "b", plain)).changes == {}


def test_runs_that_are_no_repetitions_are_told(tmp_path: Path) -> None:
    plan = made_plan("table1", "mini", ["Ours", "sym80"], [0, 1], tmp_path)
    (cell,) = plan.cells
    first, second = finished_records(plan).values()
    noise = [replace(first, identity=f"other{at}", seeds=Seeds(at, 0, 7), finished=f"2026-0{at}-01") for at in (1, 2)]
    found = found_of(cell, "mini", [noise[0], first, second])
    assert list(found.runs.values()) == [first, second] and found.others == (noise[0],)
    # Of groups of one size the latest counts.
    found = found_of(cell, "mini", [noise[0], first, second, noise[1]])
    assert list(found.runs) == [1, 2] and len(found.others) == 2
    assert found_of(cell, "frozen", [first]).runs == {}


def test_contenders_share_seeds_and_test_images(tmp_path: Path) -> None:
    plan = made_plan("table1", "frozen", ["Ours", "SED", "sym80", "cifar80n"], [0], tmp_path)
    sed, ours = sorted(finished_records(plan).values(), key=lambda record: record.method, reverse=True)
    other = [
        replace(ours, identity=f"other{at}", seeds=Seeds(at, 0, 1), finished="2026-01-01T00:00:00Z") for at in (0, 1)
    ]
    cells = {cell.method: cell for cell in plan.cells}
    # Two of three runs have the other noise, and so they count; SED has none of them.
    drawn = shared_draws(plan.cells, "frozen", [sed, *other])
    found = found_of(cells["sed"], "frozen", [sed, *other], drawn)
    assert not found.runs and found.others == (sed,)
    assert list(found_of(cells["lond-drs"], "frozen", [sed, *other], drawn).runs) == [0, 1]
    # Two and two: the latest.
    last = replace(ours, finished="2026-02-01T00:00:00Z")
    drawn = shared_draws(plan.cells, "frozen", [sed, last, *other])
    assert found_of(cells["lond-drs"], "frozen", [sed, last, *other], drawn).runs == {0: last}
    assert shared_draws(plan.cells, "frozen", []) == {}


def test_images_of_another_source_are_told_by_the_data_s_name(tmp_path: Path) -> None:
    """Runs of table 7 that were added by hand are changes of the preset, those of the command are not."""
    plan = made_plan("table7", "full", ["Ours", "*tinyimagenet-10k"], [0], tmp_path)
    (run,), (cell,) = plan.runs, plan.cells
    by_hand = record_of(write_run(tmp_path / "by hand", run.config), scale="full")
    assert "data.benchmark.open_images" in by_hand.changes
    assert found_of(cell, "full", [by_hand]).runs == {0: by_hand}
    assert not found_of(cell, "full", [replace(by_hand, data="cifar100n+places365-10k")]).runs


def test_a_warm_up_alone_is_found_on_frozen_features(tmp_path: Path) -> None:
    plan = made_plan("table4", "frozen", ["(1).Warmup", "sym80"], [0], tmp_path)
    records = finished_records(plan)
    assert len(records) == 2
    for cell in plan.cells:
        (run,) = plan.runs_of(cell)
        assert found_of(cell, "frozen", records.values()).runs == {0: records[run]}
