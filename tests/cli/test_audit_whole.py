"""Audits, runs and estimators that see pictures to their ends, where those of long ones tell the class."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from audit.audit_samples import COLOURS, PoolFeatures
from PIL import Image

from lond import LondClassifier
from lond.audit.how_made import LONG_IN_SQUARES
from lond.audit.run import audit
from lond.errors import ConfigError
from lond.frozen import read as features
from lond.runs import load_run
from lond.train.runtime import RuntimeSettings

Call = Callable[..., tuple[int, str, str]]

ALONE = ["--threads", 1, "--accelerator", "cpu"]


@pytest.fixture(autouse=True)
def _no_network(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(features, "Extractor", PoolFeatures)
    monkeypatch.chdir(tmp_path)


@pytest.fixture(scope="module")
def photos(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Wide and high grey pictures with the colour of their class at both ends, three of them mislabelled."""
    root, random, names = tmp_path_factory.mktemp("photos"), np.random.default_rng(0), list(COLOURS)
    for place, name in enumerate(names):
        for number in range(24):
            pixels = random.integers(100, 156, (16, 48, 3))
            for end in (slice(0, 12), slice(36, 48)):
                pixels[:, end] = np.array(COLOURS[name]) + random.integers(-20, 21, (16, 12, 3))
            label = names[(place + 1) % 3] if number == 0 else name
            (root / label).mkdir(exist_ok=True)
            picture = Image.fromarray(pixels.clip(0, 255).astype(np.uint8))
            if number % 2:
                picture = picture.transpose(Image.Transpose.ROTATE_90)
            picture.save(root / label / f"{name}_{number}.png")
    return root


def verdicts(result: Path) -> dict[str, str]:
    with (result / "audit.csv").open(newline="", encoding="utf-8") as file:
        return {row["id"]: row["verdict"] for row in csv.DictReader(file)}


def summary(result: Path) -> dict[str, object]:
    content: dict[str, object] = json.loads((result / "summary.json").read_text())
    return content


def test_the_ends_of_long_pictures_count(photos: Path, tmp_path: Path, lond: Call) -> None:
    options = ["--size", 48, "--map", "none", "--cache", tmp_path / "features", *ALONE]
    code, out, err = lond("audit", photos, "--out", "usual", *options)
    assert code == 0, err
    assert "1.5 times the other" not in out and summary(Path("usual"))["seen"] == LONG_IN_SQUARES
    wrong = {name for name, verdict in verdicts(Path("usual")).items() if verdict == "mislabelled"}
    assert wrong == {"green/red_0.png", "blue/green_0.png", "red/blue_0.png"}
    code, _, err = lond("audit", photos, "--out", "usual", "--centre", *options)
    assert code == 2 and "saw three squares of long pictures" in err


def test_whole_pictures_and_centre_squares_are_seen_if_asked(photos: Path, tmp_path: Path, lond: Call) -> None:
    options = ["--size", 48, "--map", "none", "--cache", tmp_path / "features", *ALONE]
    code, out, err = lond("audit", photos, "--out", "centre", "--centre", *options)
    assert code == 0, err
    assert "100 % of the pictures have one side more than 1.5 times the other" in " ".join(out.split())
    assert summary(Path("centre"))["seen"] == "centre square"
    code, out, err = lond("audit", photos, "--out", "whole", "--whole", *options)
    assert code == 0, err
    assert "1.5 times the other" not in out and summary(Path("whole"))["seen"] == "whole, padded"
    wrong = {name for name, verdict in verdicts(Path("whole")).items() if verdict == "mislabelled"}
    assert wrong == {"green/red_0.png", "blue/green_0.png", "red/blue_0.png"}
    assert verdicts(Path("centre")) != verdicts(Path("whole")), "one cache serves both"

    code, _, err = lond("audit", photos, "--out", "whole", "--centre", *options)
    assert code == 2 and "saw whole pictures; choose another folder (--out)" in err
    code, _, err = lond("audit", photos, "--out", "centre", "--whole", *options)
    assert code == 2 and "saw centre squares" in err
    code, _, err = lond("audit", photos, "--out", "tuned", "--whole", "--finetune", *options)
    assert code == 2 and "a trained one sees centre squares" in err

    Path("decisions.csv").write_text("id,decision\nred/red_5.png,keep\n")
    code, _, err = lond("audit", photos, "--out", "whole", "--decisions", "decisions.csv", *options)
    assert code == 0, err
    assert summary(Path("whole"))["seen"] == "whole, padded", "a second look need not be told"
    code, _, err = lond("predict", "whole", photos, "--out", "predicted.csv")
    assert code == 0, err
    with Path("predicted.csv").open(newline="", encoding="utf-8") as file:
        named = [row["id"].split("/")[1].startswith(row["class"]) for row in csv.DictReader(file)]
    assert sum(named) >= 0.95 * len(named)


@pytest.mark.parametrize("whole", [True, None])
def test_new_images_are_seen_as_the_audited_ones(photos: Path, tmp_path: Path, whole: bool | None) -> None:
    heads, runtime = tmp_path / "heads", RuntimeSettings("cpu", threads=1)
    found = audit(photos, whole=whole, folder=heads, cache=tmp_path / "cache", runtime=runtime)
    assert found.embeddings is not None and found.summary["settings"]["extractor"]["whole"] is bool(whole)
    run = load_run(heads / "model")
    new = run.read(photos, "train").pixels.values  # type: ignore[attr-defined]
    assert np.array_equal(new.astype(np.float32).mean(axis=1), found.embeddings)
    again = audit(photos, folder=heads, cache=tmp_path / "cache", runtime=runtime)
    assert again.table == found.table, "the folder says what was seen"
    with pytest.raises(ConfigError, match="saw whole pictures" if whole else "saw three squares"):
        audit(photos, whole=False, folder=heads, runtime=runtime)


@pytest.mark.parametrize(("whole", "seen"), [(True, "whole, padded"), (None, LONG_IN_SQUARES)])
def test_pictures_of_a_list_are_seen_so_too(photos: Path, whole: bool | None, seen: str) -> None:
    paths = sorted(photos.glob("*/*.png"))
    pictures, labels = [Image.open(path) for path in paths], [path.parent.name for path in paths]
    found = audit((pictures, labels), test=(pictures[:4], labels[:4]), whole=whole, runtime=RuntimeSettings("cpu"))
    assert found.summary["seen"] == seen
    exact = {(leak["id"], leak["test_id"]) for leak in found.summary["leaks"] if leak["exact"]}
    assert exact == {(str(place), str(place)) for place in range(4)}
    wrong = {paths[int(name)].name for name in found.select(verdict="mislabelled").id}
    assert wrong == {"red_0.png", "green_0.png", "blue_0.png"}


def test_runs_and_estimators_see_whole_pictures(photos: Path, lond: Call) -> None:
    code, _, err = lond("train", photos, "--whole", "--out", "run", "--set", "data.frozen.size=48", *ALONE)
    assert code == 0, err
    frozen = load_run("run").config.data.frozen
    assert frozen.whole and frozen.backbone == "efficientnet-lite0"
    code, _, err = lond("predict", "run", photos, "--out", "predicted.csv")
    assert code == 0, err
    model = LondClassifier(frozen=True, whole=True, n_jobs=1).fit(photos)
    truth = [path.name.split("_")[0] for path in sorted(photos.glob("*/*.png"))]
    assert (model.predict(photos) == truth).mean() >= 0.95
    model.save("model")
    assert (LondClassifier.load("model").predict(photos) == model.predict(photos)).all()
    usual = LondClassifier(frozen=True, n_jobs=1).fit(photos)
    assert (usual.predict(photos) == truth).mean() >= 0.95
    with pytest.raises(ConfigError, match="give frozen=True"):
        LondClassifier(whole=True).fit(photos)
