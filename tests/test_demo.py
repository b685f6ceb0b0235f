import json
from dataclasses import replace
from pathlib import Path

import pytest

import lond.demo
from lond.presets.benchmarks import preset


def short(name: str, method: str = "lond-drs"):
    config = preset(name, method)
    settings = replace(config.settings, warmup_epochs=1) if method == "lond-drs" else config.settings
    return replace(config, settings=settings, train=replace(config.train, epochs=2, average_last=1))


def test_demo_trains_both_and_names_its_report(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lond.demo, "preset", short)
    comparison = lond.demo.run_demo(tmp_path / "demo", [0, 1], threads=1)
    assert comparison.methods == ("standard", "lond-drs")
    assert list(comparison.rows) == list(lond.demo.FIGURES.values())
    content = json.loads((tmp_path / "demo" / "metrics.json").read_text())
    accuracies = [run["accuracy"] for run in content["runs"]["lond-drs"]]
    assert content["mean"]["lond-drs"]["accuracy"] == pytest.approx(sum(accuracies) / 2)
    assert content["seeds"] == [0, 1]
    assert "Means of 2 training seeds" in (tmp_path / "demo" / "report.html").read_text(encoding="utf-8")
    again = lond.demo.run_demo(tmp_path / "demo", [0, 1], threads=1)
    assert again == comparison
