"""Real trainings, tiny: side by side they give what one after the other gives, and a cut one goes on."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from paper.reproduce.made import made_plan

from lond.results import Record, read
from lond.results.batch import carry_out
from lond.results.records import Machine
from lond.train.loop import Trainer
from lond.train.runtime import RuntimeSettings

ONE = RuntimeSettings("cpu", threads=1)


def without_times(record: Record) -> Record:
    """Return what does not depend on the clock."""
    detectors = tuple(replace(detector, seconds=None) for detector in record.detectors)
    return replace(record, seconds={}, finished=None, machine=Machine(), detectors=detectors)


# Two epochs may end before any sample is judged clean.
@pytest.mark.filterwarnings("ignore:epoch")
def test_two_jobs_give_the_records_of_one(tmp_path: Path) -> None:
    stored = []
    for jobs in (1, 2):
        folder = tmp_path / f"jobs{jobs}"
        plan = made_plan("table1", "smoke", ["Standard", "Ours", "sym80", "cifar80n"], [0], folder)
        outcome = carry_out(plan.runs, folder / "store", workers=jobs, runtime=ONE)
        assert not outcome.problems and len(outcome.records) == 2
        stored.append([without_times(record) for record in read(folder / "store")])
    assert len(stored[0]) == 2 and stored[0] == stored[1]


@pytest.mark.filterwarnings("ignore:epoch")
@pytest.mark.parametrize("stop", [KeyboardInterrupt, RuntimeError])
def test_a_cut_run_goes_on_where_it_was(
    stop: type[BaseException], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = made_plan("figure1", "smoke", ["Ours with open*"], [0], tmp_path / "whole")
    (uncut,) = carry_out(whole.runs, tmp_path / "whole" / "store", runtime=ONE).records.values()

    epochs: list[int] = []
    real = Trainer._epoch

    def cut(trainer: Trainer, epoch: int, bar: Any) -> dict[str, Any]:
        epochs.append(epoch)
        if epochs == [0, 1]:
            raise stop("cut")
        return real(trainer, epoch, bar)

    monkeypatch.setattr(Trainer, "_epoch", cut)
    plan, store = made_plan("figure1", "smoke", ["Ours with open*"], [0], tmp_path), tmp_path / "store"
    if stop is KeyboardInterrupt:
        with pytest.raises(KeyboardInterrupt):
            carry_out(plan.runs, store, runtime=ONE)
    else:
        assert list(carry_out(plan.runs, store, runtime=ONE).problems.values()) == ["RuntimeError: cut"]
    assert plan.runs[0].begun and not store.exists()
    (resumed,) = carry_out(plan.runs, store, runtime=ONE).records.values()
    # The first epoch is not trained again.
    assert epochs == [0, 1, 1]
    assert without_times(resumed) == without_times(uncut)
    assert [without_times(record) for record in read(store)] == [without_times(uncut)]
