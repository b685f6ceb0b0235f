from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from benchmarks.made_up import small_world
from benchmarks.noise_bench.opinion import Opinion, Task
from benchmarks.noise_bench.peers import simifeat
from benchmarks.noise_bench.report import page
from benchmarks.noise_bench.run import CONTENDERS, chosen, run
from benchmarks.noise_bench.specs import Spec
from benchmarks.noise_bench.targets import met, recovers_half

from lond.io.json_files import read_json_lines

SPECS = [Spec("small", "cifar", 8, 20, "uniform", 0.3, 0.1), Spec("clean", "cifar", 8, 20)]


def test_a_second_run_measures_only_what_is_missing(tmp_path: Path) -> None:
    calls = []

    def counted(one: Task) -> Opinion:
        calls.append(len(one.given))
        return simifeat(one)

    world, out = small_world(), tmp_path / "new" / "cells.jsonl"
    assert run(SPECS[:1], world, out, {"a": counted}) == 1
    assert run(SPECS, world, out, {"a": counted, "b": counted}) == 3
    assert run(SPECS, world, out, {"a": counted, "b": counted}) == 0
    assert len(calls) == len(read_json_lines(out)) == 4


def test_nothing_begins_too_late(tmp_path: Path) -> None:
    assert run(SPECS, small_world(), tmp_path / "cells.jsonl", {"a": simifeat}, stop_at=0) == 0


def test_patterns_choose_cells() -> None:
    assert {spec.name for spec in chosen(["judge"], "digits*", 1)} == {"digits-pair+f10", "digits-clean"}
    assert {spec.seed for spec in chosen(["tune"], "tail", 3)} == {0, 1, 2}
    assert len(chosen(["judge"], "*", 1, only_audited=True)) == 12


def test_the_page_has_every_contender_and_names_missed_targets(tmp_path: Path) -> None:
    out = tmp_path / "cells.jsonl"
    fast = {name: CONTENDERS[name] for name in ("simifeat", "neighbours", "out-of-fold", "distance")}
    run(SPECS, small_world(), out, fast)
    text = page(read_json_lines(out))
    assert "| simifeat |" in text and "2 JUDGE and 0 TUNE" in text
    assert "at most 3 % of a clean set doubted" in text


def test_half_is_recovered_or_not() -> None:
    line = {"probe_given": 0.6, "probe_true": 0.8, "probe_corrected": 0.7}
    cells = {("judge", "a", 0): {"audit": line}, ("judge", "b", 0): {"audit": line | {"probe_corrected": 0.69}}}
    assert met(cells, "audit", recovers_half) == (1, 2)


@pytest.mark.slow
def test_the_audit_as_it_stands_is_measured(tmp_path: Path) -> None:
    out = tmp_path / "cells.jsonl"
    spec = Spec("small", "cifar", 3, 20, "uniform", 0.2, 0.1, audited=True)
    run([spec], small_world(), out, {"audit": CONTENDERS["audit"]})
    (line,) = read_json_lines(out)
    assert {"wrong_auroc", "foreign_auroc", "called_foreign", "test_accuracy", "probe_corrected"} <= set(line)
    assert np.isfinite(line["false_alarms"])
