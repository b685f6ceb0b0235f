"""`lond audit` and `lond apply` from the command line."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any, ClassVar

import numpy as np
import pytest
from audit.audit_samples import PoolFeatures, add_trouble, write_folder

from lond.cli.audit import _print_summary, _told_reused
from lond.frozen import read as features
from lond.runs import load_run

Call = Callable[..., tuple[int, str, str]]


@pytest.fixture(autouse=True)
def _no_network(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(features, "Extractor", PoolFeatures)


def test_an_interrupted_audit_says_what_is_reused(tmp_path: Path) -> None:
    assert _told_reused(tmp_path / "features").startswith("nothing is stored yet; features are stored 1,024 images")
    (tmp_path / "features" / "key").mkdir(parents=True)
    (tmp_path / "features" / "key" / "a.safetensors").touch()
    assert _told_reused(tmp_path / "features") == "the features stored so far are reused"


def test_audit_then_apply(tmp_path: Path, lond: Call) -> None:
    images, result = tmp_path / "images", tmp_path / "audit"
    write_folder(images, each=24)
    add_trouble(images)
    before = {path: path.read_bytes() for path in images.rglob("*.png")}
    options = ["--size", 16, "--epochs", 6, "--folds", 2, "--map", "pca", "--threads", 1, "--accelerator", "cpu"]
    code, out, _ = lond("audit", images, "--out", result, *options)
    assert code == 0
    assert "mislabelled" in out
    assert "estimated wrong labels" in out
    assert "red/broken.png" in out
    assert f"page:  {result / 'audit.html'}" in out and f"model: {result / 'heads' / 'model'}" in out
    assert {"audit.csv", "audit.html", "summary.json"} <= {path.name for path in result.iterdir()}

    code, out, _ = lond("apply", result, "--confidence", 0.4, "--foreign", 0.7)
    assert code == 0
    assert "nothing was written" in out
    code, out, _ = lond("apply", result / "audit.csv", "--confidence", 0.4, "--out", tmp_path / "new.csv", "--write")
    assert code == 0
    with (tmp_path / "new.csv").open(newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert any(row["label"] != row["given_label"] for row in rows)
    assert "--root says" not in out, "the audit remembers its folder"
    assert all((tmp_path / row["path"]).is_file() for row in rows)
    (result / "summary.json").rename(tmp_path / "summary.json")
    code, out, _ = lond("apply", result / "audit.csv", "--out", tmp_path / "lost.csv", "--write")
    assert code == 0 and "--root says what they start from" in out
    code, _, error = lond("apply", result / "audit.csv", "--out", tmp_path / "links", "--write")
    assert code == 2 and "needs --root" in error
    (tmp_path / "summary.json").rename(result / "summary.json")
    rooted = ["--out", tmp_path / "rooted.csv", "--write", "--root"]
    code, out, _ = lond("apply", result / "audit.csv", *rooted, images)
    assert code == 0 and "--root says" not in out
    code, _, error = lond("apply", result / "audit.csv", "--out", tmp_path / "no.csv", "--write", "--root", tmp_path)
    assert code == 2 and "does not hold" in error and not (tmp_path / "no.csv").exists()
    tree = tmp_path / "tree"
    assert lond("apply", result / "audit.csv", "--out", tree, "--root", images, "--write")[0] == 0
    assert {path.name for path in tree.iterdir()} >= {"red", "green", "blue"}
    for place in (tree, tmp_path / "new.csv"):
        again = ["apply", result, "--foreign", 0.5, "--out", place, "--write"]
        code, out, error = lond(*again)
        assert code == 2 and "replace it with --overwrite" in error and "images stay" not in out, "told before the plan"
        code, out, _ = lond(*again, "--overwrite")
        assert code == 0 and f"written: {place}" in out
        assert f"the model of the audit ({result / 'heads' / 'model'}) has learned from them" in out
        assert ("with --link copy it can be moved" in out) == (place == tree)
    assert {path: path.read_bytes() for path in images.rglob("*.png")} == before


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        (["audit", "{missing}"], "there is no"),
        (["audit", "{missing}", "--size", "8"], "at least 16"),
        (["audit", "{missing}", "--rate", "2"], "between 0 and 1"),
        (["apply", "{missing}"], "missing"),
        (["apply", "{missing}", "--write"], "--out"),
    ],
)
def test_what_cannot_be_done_is_one_line(arguments: list[str], named: str, tmp_path: Path, lond: Call) -> None:
    code, _, error = lond(*(text.format(missing=tmp_path / "missing.csv") for text in arguments))
    assert code == 2
    assert named in error
    assert len(error.strip().splitlines()) == 1


@pytest.mark.parametrize("place", ["", "audit", "red/audit"])
@pytest.mark.parametrize("option", ["--out", "--cache"])
def test_nothing_is_written_among_the_images(option: str, place: str, tmp_path: Path, lond: Call) -> None:
    images = tmp_path / "images"
    write_folder(images, each=2)
    before = sorted(images.rglob("*"))
    options = ["--out", tmp_path / "audit", option, images / place]
    code, _, error = lond("audit", images, *options)
    assert code == 2 and f"{option} {images / place} " in error and "choose a folder beside it" in error
    code, _, error = lond("audit", tmp_path / "other", "--test", images, *options)
    assert code == 2 and f"{option} {images / place} " in error
    assert sorted(images.rglob("*")) == before


@pytest.mark.parametrize(("called", "told"), [(1, True), (9, False)])
def test_more_foreign_images_than_are_called_so_are_told(
    called: int, told: bool, capsys: pytest.CaptureFixture[str]
) -> None:
    class Found:
        title, counts, table = (
            "Audit",
            {"foreign": called},
            SimpleNamespace(copy_group=(), quality=(), id=(), reason=()),
        )
        summary: ClassVar[dict[str, Any]] = {
            "counts": {"foreign": called}, "rates": {"foreign": {"estimate": 0.1, "low": 0.0, "high": 0.3}},
            "problems": [], "notes": [], "leaks": [],
        }  # fmt: skip

        def __len__(self) -> int:
            return 200

    _print_summary(Found(), {})  # type: ignore[arg-type]
    assert (
        "more images may be foreign than are called so; on the page, sort all images by foreign score"
        in capsys.readouterr().out
    ) is told


def test_a_second_look_is_kept_until_a_person_says_otherwise(tmp_path: Path, lond: Call) -> None:
    images, result, file = tmp_path / "images", tmp_path / "audit", tmp_path / "decisions.csv"
    write_folder(images, each=24)
    options = [images, "--out", result, "--size", 16, "--epochs", 2, "--folds", 2, "--map", "none", "--threads", 1]
    assert lond("audit", *options)[0] == 0
    first = (result / "audit.csv").read_bytes()
    file.write_text("id,decision\nred/red_20.png,keep\nred/red_21.png,reject\n")
    code, out, _ = lond("audit", *options, "--decisions", file)
    kept_first = result / "earlier" / "1"
    assert "are in this audit; next: lond apply" in " ".join(out.split()) and "then: lond apply" not in out
    assert f"earlier table: {result / 'earlier' / '1'}" in out
    before, now = (json.loads((place / "summary.json").read_text())["rates"] for place in (kept_first, result))
    risen = [kind for kind in ("wrong", "foreign") if now[kind]["estimate"] >= before[kind]["estimate"] + 0.0005]
    assert out.count("the others were judged again") == len(risen)
    assert (result / "earlier" / "1" / "audit.csv").read_bytes() == first
    assert code == 0 and "1 decided image taken as truth; 1 image marked not sure left aside" in out
    (kept,) = result.glob("decisions-*.csv")
    assert kept.read_bytes() == file.read_bytes() and f"decisions: {kept}" in out
    before = (result / "audit.csv").read_bytes()
    code, _, error = lond("audit", *options)
    assert code == 2 and f"--decisions {kept}" in "".join(error.splitlines())
    assert (result / "audit.csv").read_bytes() == before
    code, out, _ = lond("audit", *options, "--decisions", kept)
    assert code == 0 and "earlier table" not in out and "undecided now" not in out
    assert (result / "audit.csv").read_bytes() == before
    file.write_text("id,decision\nred/red_20.png,keep\n")
    code, out, _ = lond("audit", *options, "--decisions", file)
    assert code == 0 and "note: 1 image that was decided before is undecided now" in out
    assert f"--decisions {kept} returns to the former decisions" in out
    assert kept.read_text().count("\n") == 3, "the former decisions stay"


def test_the_folder_of_an_audit_stands_for_its_newest_model(tmp_path: Path, lond: Call) -> None:
    images, result = tmp_path / "images", tmp_path / "audit"
    write_folder(images, each=24)
    options = ["--out", result, "--size", 16, "--map", "pca", "--threads", 1, "--accelerator", "cpu"]
    code, out, _ = lond("audit", images, *options)
    assert code == 0 and "threshold: about 5 in 100 known images will be called foreign by mistake (likely " in out
    assert f"model: {result / 'heads' / 'model'} (for new images: lond predict {result} IMAGES)" in out
    table = tmp_path / "p.csv"
    code, out, err = lond("predict", result, images, "--out", table)
    assert (code, err) == (0, "") and f"model of the audit: {result / 'heads' / 'model'}" in out
    assert "the threshold for 5 % false alarms" in out
    (tmp_path / "decisions.csv").write_text("id,decision,new_label\nred/red_20.png,keep,\n")
    assert lond("audit", images, *options, "--decisions", tmp_path / "decisions.csv")[0] == 0
    (second,) = (result / "heads").glob("second-look-*/model")
    for command in (
        ["predict", result, images, "--out", table],
        ["calibrate", result, "--known", images],
        ["evaluate", result, "--data", images],
        ["detect", result, "--known", images, "--foreign", images, "--only", "own", "--out", tmp_path / "detect"],
        ["export", result, tmp_path / "weights.safetensors"],
    ):
        code, out, err = lond(*command)
        assert code == 0 and f"model of the audit: {second}" in out, err
    only = ["detect", result, "--known", images, "--foreign", images, "--out", tmp_path / "detect", "--only"]
    assert lond(*only, "msp")[0] == 0
    code, _, err = lond(*only, "knn")
    assert code == 2 and "knn: the run does not say where its training images are" in err
    calibration = load_run(result).calibration
    assert calibration is not None and calibration.source == str(images)


def test_probabilities_from_a_file(tmp_path: Path, lond: Call) -> None:
    random, true = np.random.default_rng(0), np.arange(120) % 3
    given = np.where(np.arange(120) < 6, (true + 1) % 3, true)
    np.savez(tmp_path / "own.npz", embeddings=random.normal(size=(120, 4)).astype(np.float32), labels=given)
    np.save(tmp_path / "p.npy", 0.9 * np.eye(3)[true] + 0.1 / 3)
    options = ["--out", tmp_path / "audit", "--map", "none", "--epochs", 2, "--threads", 1, "--accelerator", "cpu"]
    code, out, err = lond("audit", tmp_path / "own.npz", "--pred-probs", tmp_path / "p.npy", *options)
    assert code == 0, err
    assert "your probabilities fit the labels better" in out
    with (tmp_path / "audit" / "audit.csv").open(newline="", encoding="utf-8") as file:
        wrong = [row["id"] for row in csv.DictReader(file) if row["verdict"] == "mislabelled"]
    assert wrong == [str(place) for place in range(6)]
    np.save(tmp_path / "logits.npy", np.log(np.load(tmp_path / "p.npy")))
    code, _, err = lond("audit", tmp_path / "own.npz", "--pred-probs", tmp_path / "logits.npy", *options)
    assert code == 2 and "give probabilities, not logits" in err
