"""`--frozen` from the command line: train, predict, evaluate, calibrate, detect and compare on features."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from audit.audit_samples import PoolFeatures, write_folder
from PIL import Image

import lond.frozen.read
from lond.runs import load_run

Call = Callable[..., tuple[int, str, str]]

SMALL = ["--threads", 1, "--accelerator", "cpu", "--set", "data.read.num_workers=0", "--set", "data.frozen.size=16"]


@pytest.fixture(autouse=True)
def _no_network(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(lond.frozen.read, "Extractor", PoolFeatures)
    # The cache lies below the current folder.
    monkeypatch.chdir(tmp_path)


def write_images(root: Path) -> None:
    write_folder(root / "train", each=20, foreign=0, wrong=2)
    write_folder(root / "test", each=6, foreign=0, wrong=0)
    (root / "test" / "yellow").mkdir()
    for index in range(6):
        Image.new("RGB", (16, 16), (200 + index, 210, 30)).save(root / "test" / "yellow" / f"{index}.png")


def test_from_images_to_predictions(tmp_path: Path, lond: Call) -> None:
    write_images(tmp_path / "images")
    run = tmp_path / "run"
    code, out, err = lond("train", tmp_path / "images", "--frozen", "--out", run, *SMALL)
    assert code == 0, err
    assert "accuracy" in out
    steps = [line.split(" (after")[0] for line in err.splitlines() if line.startswith("training: step")]
    assert list(dict.fromkeys(", ".join(line.split(", ")[:2]) for line in steps)) == [
        "training: step 1 of 4, reading",
        "training: step 2 of 4, reading the test images",
        "training: step 3 of 4, setting the threshold",
        "training: step 4 of 4, cross-fit",
    ]
    assert "features: kept in runs/features" in out
    assert "called foreign by mistake (likely " in out and "images that the model had not seen)" in out
    stored = load_run(run).config
    assert (stored.net.backbone, stored.train.epochs, stored.data.frozen.size) == ("features", 9, 16)
    assert stored.data.frozen.backbone == "efficientnet-lite0"
    assert list(Path("runs/features").iterdir())
    figures = json.loads((run / "metrics.json").read_text())["metrics"]

    code, out, err = lond("predict", run, tmp_path / "images" / "test", "--out", tmp_path / "found.csv")
    assert code == 0, err
    with (tmp_path / "found.csv").open(newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == 24
    known = [row for row in rows if "yellow" not in row["id"]]
    assert sum(row["class"] in row["id"] for row in known) > 14

    code, out, err = lond("evaluate", run, "--out", tmp_path / "figures.json")
    assert code == 0, err
    assert json.loads((tmp_path / "figures.json").read_text())["metrics"]["accuracy"] > figures["accuracy"] - 0.2
    code, out, err = lond("evaluate", run, "--data", tmp_path / "images" / "test")
    assert code == 0, err
    assert "24 images" in out
    code, out, err = lond("calibrate", run, "--known", tmp_path / "images" / "train", "--rate", 0.1)
    assert code == 0, err

    pytest.importorskip("matplotlib")
    code, out, err = lond("detect", run)
    assert code == 0, err
    assert "knn" in out and "rankfeat" not in out
    code, _, err = lond("detect", run, "--only", "rankfeat")
    assert (code, "rankfeat does not suit the run" in err) == (2, True)


def test_a_setting_about_the_frozen_network_asks_for_it(tmp_path: Path, lond: Call) -> None:
    write_images(tmp_path / "images")
    options = ["--method", "standard", "--epochs", 2, "--set", "net.width=0.25", *SMALL]
    asked = ["--set", "data.frozen.backbone=timm:resnet18", "--set", "data.frozen.cache=elsewhere"]
    code, out, err = lond("train", tmp_path / "images", "--out", tmp_path / "run", *asked, *options)
    assert code == 0, err
    assert "make a coarse threshold" in out or "too few images for a threshold" in out
    stored = load_run(tmp_path / "run").config
    assert (stored.data.frozen.backbone, stored.net.width, stored.train.epochs) == ("timm:resnet18", 0.25, 2)
    assert Path("elsewhere").is_dir() and not Path("runs/features").exists()
    code, out, _ = lond("train", tmp_path / "images", "--out", tmp_path / "run", *asked[:2], *options)
    assert (code, "finished already" in out) == (0, True)


def test_a_run_that_saw_centre_squares_is_resumed_without_being_told(tmp_path: Path, lond: Call) -> None:
    """As runs from before long pictures were seen in three squares must be."""
    write_images(tmp_path / "images")
    command = ["train", tmp_path / "images", "--frozen", "--epochs", 2, "--set", "net.width=0.25", *SMALL]
    for first, saw in ([], 2.0), (["--centre"], 0.0):
        run = tmp_path / f"run{saw}"
        code, _, err = lond(*command, "--out", run, *first)
        assert code == 0, err
        assert load_run(run).config.data.frozen.squares_beyond == saw
        code, out, err = lond(*command, "--out", run)
        assert (code, "finished already" in out) == (0, True), err


def test_methods_are_compared_on_features(tmp_path: Path, lond: Call) -> None:
    write_images(tmp_path / "images")
    out_folder = tmp_path / "compare"
    options = ["--methods", "standard,disc", "--frozen", "--epochs", 3, *SMALL]
    code, out, err = lond("compare", tmp_path / "images", "--out", out_folder, *options)
    assert code == 0, err
    assert "on frozen features" in out
    rows = json.loads((out_folder / "comparison.json").read_text())["rows"]
    assert {row["method"] for row in rows} == {"standard", "disc"}
    assert all(row["epochs"] == 3 for row in rows)


def test_embeddings_need_no_frozen_network(tmp_path: Path, lond: Call) -> None:
    np.savez(tmp_path / "features.npz", embeddings=np.random.rand(40, 6), y=np.arange(40) % 2)
    code, _, err = lond("train", tmp_path / "features.npz", "--frozen", "--out", tmp_path / "run")
    assert (code, "holds features already" in err) == (2, True)
    assert not (tmp_path / "run").exists()
