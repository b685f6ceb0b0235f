"""What is missing is trained, what is there is not; failures and interrupts lose nothing."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from paper.reproduce.fake import Fake, fake  # noqa: F401
from paper.reproduce.made import made_plan

from lond.errors import ConfigError
from lond.paper.reproduce.lines import lines_of
from lond.paper.reproduce.planning import Run, RunPlan
from lond.results import read
from lond.results.batch import carry_out, missing_jobs, store_notes, stored_records
from lond.train.runtime import RuntimeSettings

ONE = RuntimeSettings("cpu", threads=1)


def missing_runs(plan: RunPlan, store: Path) -> list[Run]:
    return missing_jobs(plan.runs, stored_records(plan.runs, store))


def test_a_second_call_trains_nothing(tmp_path: Path, fake: Fake) -> None:  # noqa: F811
    plan = made_plan("table4", "smoke", ["sym80"], [0, 1], tmp_path)
    said: list[str] = []
    first = carry_out(plan.runs, tmp_path / "store", runtime=ONE, say=said.append)
    assert said[0] == "12 runs, 0 finished before"
    assert said[-1].startswith("[12/12] digits-sym80-lond-drs-")
    assert said[-1].endswith("seed 1, (5).(4)+L_BCL: accuracy 59.00 %, AUROC 60.00 %")
    assert len(fake.trained) == 12 and not first.problems and not fake.detected
    stored = read(tmp_path / "store")
    assert {(record.scale, record.data, record.machine.threads) for record in stored} == {("smoke", "digits", 1)}
    changed = [record.changes for record in stored if record.changes.get("settings.pseudo_label_weight") == 0.0]
    assert len(changed) == 2
    again = carry_out(plan.runs, tmp_path / "store", say=said.append)
    assert said[-1] == "12 runs, 12 finished before"
    assert again == first
    # Neither does one that has the store alone, or the folders alone.
    shutil.rmtree(tmp_path / "runs")
    assert carry_out(plan.runs, tmp_path / "store") == first
    assert len(fake.trained) == 12
    assert missing_runs(plan, tmp_path / "elsewhere") == list(plan.runs)


def test_folders_without_a_store_are_stored_again(tmp_path: Path, fake: Fake) -> None:  # noqa: F811
    plan = made_plan("figure1", "smoke", ["LOND*"], [0], tmp_path)
    carry_out(plan.runs, tmp_path / "store", runtime=ONE)
    shutil.rmtree(tmp_path / "store")
    again = carry_out(plan.runs, tmp_path / "store")
    assert len(fake.trained) == 2 and len(again.records) == len(read(tmp_path / "store")) == 2


def test_tables_share_runs_and_detectors(tmp_path: Path, fake: Fake) -> None:  # noqa: F811
    asked = {"table2": ["sym80"], "table6": ["sym80"], "table1": ["sym80", "SED", "NGC", "Ours"]}
    for name, cells in asked.items():
        plan = made_plan(name, "smoke", cells, [0], tmp_path)
        outcome = carry_out(plan.runs, tmp_path / "store", runtime=ONE)
        assert all(line.summary.n == 1 for line in lines_of(plan, outcome) if line.metric != "fpr95_openood")
    assert len(fake.trained) == 3
    assert len(fake.detected) == 1 and "sed" in fake.detected[0]


def test_detectors_are_added_to_a_run_that_has_none(tmp_path: Path, fake: Fake) -> None:  # noqa: F811
    carry_out(made_plan("table1", "smoke", ["SED", "sym80", "cifar80n"], [0], tmp_path).runs, tmp_path / "store")
    plan = made_plan("table6", "smoke", ["MDS", "sym80"], [0], tmp_path)
    outcome = carry_out(plan.runs, tmp_path / "store")
    assert len(fake.trained) == len(fake.detected) == 1
    assert lines_of(plan, outcome)[0].values == {0: pytest.approx(90.0)}
    # Without the trained network they cannot be computed: it is trained again.
    other = made_plan("table6", "smoke", ["MDS", "sym20"], [0], tmp_path)
    carry_out(made_plan("table1", "smoke", ["SED", "sym20", "cifar80n"], [0], tmp_path).runs, tmp_path / "store")
    shutil.rmtree(tmp_path / "runs")
    assert missing_runs(plan, tmp_path / "store") == []
    assert missing_runs(other, tmp_path / "store") == list(other.runs)


def test_a_run_trained_again_for_its_detectors_takes_the_place_of_the_stored_one(tmp_path: Path, fake: Fake) -> None:  # noqa: F811
    store = tmp_path / "store"
    carry_out(made_plan("table1", "smoke", ["SED", "sym80", "cifar80n"], [0], tmp_path).runs, store)
    shutil.rmtree(tmp_path / "runs")
    fake.moved = 0.0001
    plan = made_plan("table6", "smoke", ["MDS", "sym80"], [0], tmp_path)
    outcome = carry_out(plan.runs, store)
    assert not outcome.problems and lines_of(plan, outcome)[0].values == {0: pytest.approx(90.0)}
    assert [note for note in outcome.notes if "in place of what was stored" in note and "0.49 -> 0.4901" in note]
    (record,) = read(store)
    assert record.metrics["accuracy"] == pytest.approx(0.4901) and record.detectors
    assert missing_runs(plan, store) == [] and not carry_out(plan.runs, store).notes


def test_a_detector_that_failed_is_told_and_tried_again(tmp_path: Path, fake: Fake) -> None:  # noqa: F811
    plan, store = made_plan("table2", "smoke", ["MSP", "sym80"], [0], tmp_path), tmp_path / "store"
    fake.problem = "too few samples"
    outcome = carry_out(plan.runs, store)
    assert [note.rpartition("seed 0: ")[2] for note in outcome.notes] == ["no msp: too few samples"]
    fake.problem = ""
    outcome = carry_out(plan.runs, store)
    assert not outcome.notes and len(fake.detected) == 2 and len(fake.trained) == 1
    assert lines_of(plan, outcome)[0].values == {0: pytest.approx(70.0)}


def test_a_failed_detector_alone_is_no_reason_to_train_again(tmp_path: Path, fake: Fake) -> None:  # noqa: F811
    plan, store = made_plan("table2", "smoke", ["MSP", "sym80"], [0], tmp_path), tmp_path / "store"
    fake.problem = "too few samples"
    carry_out(plan.runs, store)
    shutil.rmtree(tmp_path / "runs")
    assert missing_runs(plan, store) == []


def test_a_damaged_file_of_the_store_is_told_before_training(tmp_path: Path, fake: Fake) -> None:  # noqa: F811
    plan, store = made_plan("figure1", "smoke", ["Ours with open*"], [0], tmp_path), tmp_path / "store"
    carry_out(plan.runs, store)
    assert store_notes(store) == [] == store_notes(tmp_path / "none")
    (path,) = store.glob("*.json")
    path.write_text("{")
    (note,) = store_notes(store)
    assert str(path) in note and "damaged" in note and "delete it first" in note
    (problem,) = carry_out(plan.runs, store).problems.values()
    assert "delete it and start again" in problem
    path.unlink()
    assert not carry_out(plan.runs, store).problems and len(fake.trained) == 1


def test_a_damaged_folder_says_what_to_do(tmp_path: Path, fake: Fake) -> None:  # noqa: F811
    plan, store = made_plan("figure1", "smoke", ["Ours with open*"], [0], tmp_path), tmp_path / "store"
    carry_out(plan.runs, store)
    shutil.rmtree(store)
    (plan.runs[0].folder / "metrics.json").write_text("{")
    (problem,) = carry_out(plan.runs, store).problems.values()
    assert f"delete {plan.runs[0].folder} to train it again" in problem


def test_a_map_needs_the_trained_network(tmp_path: Path, fake: Fake) -> None:  # noqa: F811
    plan = made_plan("figure6", "smoke", [], [0], tmp_path)
    carry_out(plan.runs, tmp_path / "store")
    assert missing_runs(plan, tmp_path / "store") == []
    shutil.rmtree(plan.runs[0].folder)
    assert missing_runs(plan, tmp_path / "store") == [plan.runs[0]]
    assert len(stored_records(plan.runs, tmp_path / "store")) == 3


def test_a_failing_run_does_not_stop_the_others(tmp_path: Path, fake: Fake) -> None:  # noqa: F811
    plan = made_plan("table1", "smoke", ["sym80", "cifar80n", "NGC", "SED"], [0], tmp_path)
    fake.broken = "ngc"
    outcome = carry_out(plan.runs, tmp_path / "store")
    assert list(outcome.problems.values()) == ["RuntimeError: size mismatch"]
    assert [run.config.method for run in outcome.records] == ["sed"]
    assert {line.row: line.summary.n for line in lines_of(plan, outcome)} == {"NGC": 0, "SED": 1}
    fake.broken = ""
    assert not carry_out(plan.runs, tmp_path / "store").problems
    assert [name.split("-")[2] for name in fake.trained] == ["ngc", "sed", "ngc"]


def test_failing_detectors_leave_the_run(tmp_path: Path, fake: Fake) -> None:  # noqa: F811
    fake.broken = "detect"
    plan = made_plan("table2", "smoke", ["MSP", "sym80"], [0], tmp_path)
    outcome = carry_out(plan.runs, tmp_path / "store")
    assert list(outcome.problems.values()) == ["no detectors: RuntimeError: no memory"]
    assert len(read(tmp_path / "store")) == 1
    fake.broken = ""
    assert not carry_out(plan.runs, tmp_path / "store").problems
    assert (len(fake.trained), len(fake.detected)) == (1, 2)


def test_an_interrupt_keeps_what_is_finished(tmp_path: Path, fake: Fake) -> None:  # noqa: F811
    plan = made_plan("table4", "smoke", ["sym80"], [0], tmp_path)
    fake.stop_at = 3
    with pytest.raises(KeyboardInterrupt):
        carry_out(plan.runs, tmp_path / "store")
    assert len(read(tmp_path / "store")) == 2
    fake.stop_at = 0
    assert len(carry_out(plan.runs, tmp_path / "store").records) == 6
    assert len(fake.trained) == 3 + 4


def test_another_run_in_the_folder_is_refused_before_any_work(tmp_path: Path, fake: Fake) -> None:  # noqa: F811
    plan = made_plan("figure5", "smoke", [], [0], tmp_path)
    plan.runs[1].folder.mkdir(parents=True)
    (plan.runs[1].folder / "notes.txt").touch()
    with pytest.raises(ConfigError, match="holds no run"):
        carry_out(plan.runs, tmp_path / "store")
    assert not fake.trained
