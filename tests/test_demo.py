import json
from dataclasses import replace
from pathlib import Path

import pytest

import lond.demo
from lond.errors import LondError
from lond.presets.benchmarks import preset
from lond.results import read


def short(name: str, method: str = "lond-drs"):
    config = preset(name, method)
    settings = replace(config.settings, warmup_epochs=1) if method == "lond-drs" else config.settings
    return replace(config, settings=settings, train=replace(config.train, epochs=2, average_last=1))


def test_demo_trains_both_and_names_its_report(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lond.demo, "preset", short)
    folder = tmp_path / "demo"
    found = lond.demo.run_demo(folder, [0, 1], threads=1)
    assert {group.key["method"] for group in found.groups} == set(lond.demo.METHODS)
    content = json.loads((folder / "comparison.json").read_text())
    for row in content["rows"]:
        accuracies = [run["accuracy"] for run in content["runs"] if run["method"] == row["method"]]
        assert (len(accuracies), row["accuracy_mean"]) == (2, pytest.approx(sum(accuracies) / 2))
    assert content["runs"][0].keys() >= lond.demo.TITLES.keys()
    page = (folder / "report.html").read_text(encoding="utf-8")
    assert "Means of 2 training seeds" in page
    assert "Clean (" in page and "verdict foreign: recall" in page
    assert len(read(folder / "store")) == 4
    assert lond.demo.run_demo(folder, [0, 1], threads=1) == found


def test_a_run_that_fails_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object, **__: object) -> None:
        raise RuntimeError("no memory")

    monkeypatch.setattr("lond.results.jobs.train_run", fail)
    with pytest.raises(LondError, match="standard, seed 0: RuntimeError: no memory; lond-drs"):
        lond.demo.run_demo(tmp_path / "demo", [0])


def test_the_audit_counts_verdicts_against_the_truth(tmp_path: Path) -> None:
    found, counts = lond.demo.audit_demo(tmp_path, threads=1)
    samples = lond.demo.load_data(preset("digits"))[0]
    assert counts.total() == len(samples) == len(found)
    really = [
        "foreign" if true < 0 else "clean" if true == given else "mislabelled"
        for true, given in zip(samples.true_labels.tolist(), samples.labels.tolist(), strict=True)
    ]
    told = sum(one == "mislabelled" == verdict for one, verdict in zip(really, found.table.verdict, strict=True))
    assert counts["mislabelled", "mislabelled"] == told > 0.9 * really.count("mislabelled")
    page = (tmp_path / "audit" / "audit.html").read_text(encoding="utf-8")
    assert lond.demo.TITLE in page
    assert (tmp_path / "audit" / "audit.csv").is_file()
