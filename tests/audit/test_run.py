"""The audit from end to end, with a stand-in for the frozen network."""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from audit.audit_samples import PoolFeatures, add_trouble, truth, write_folder
from PIL import Image

import lond.frozen.read
from lond.audit.how_made import BEYOND_TABLE, LONG_IN_SQUARES
from lond.audit.result import Audit
from lond.audit.run import audit
from lond.audit.settings import AuditSettings
from lond.audit.table import read_audit
from lond.data import images
from lond.data.options import ReadOptions
from lond.data.read import files
from lond.data.sources import load
from lond.errors import ConfigError, DataError
from lond.frozen.extractor import ExtractorSettings
from lond.runs import load_run
from lond.train.runtime import RuntimeSettings

SETTINGS = AuditSettings(ExtractorSettings(size=16), epochs=8, folds=3, map="pca", neighbours=3)


def run(source: object, **options: object) -> Audit:
    return audit(
        source,
        settings=options.pop("settings", SETTINGS),
        runtime=RuntimeSettings("cpu", threads=1),
        read=ReadOptions(num_workers=0),
        **options,
    )


@pytest.fixture(autouse=True)
def _no_network(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lond.frozen.read, "Extractor", PoolFeatures)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("images")
    write_folder(root)
    add_trouble(root)
    return root


@pytest.fixture(scope="module")
def found(folder: Path) -> Audit:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(lond.frozen.read, "Extractor", PoolFeatures)
        return run(folder)


def rows(found: Audit) -> dict[str, dict[str, object]]:
    return {row["id"]: row for row in found.table.rows()}


def test_wrong_labels_and_foreign_images_are_told_apart(found: Audit) -> None:
    plain = [row for row in found.table.rows() if row["id"].split("/")[1][0] in "rgbo" and "_" in row["id"]]
    judged = Counter((truth(row["id"]), row["verdict"]) for row in plain)
    assert judged["clean", "clean"] >= 0.9 * sum(n for (kind, _), n in judged.items() if kind == "clean")
    assert judged["mislabelled", "mislabelled"] >= 15
    assert judged["foreign", "foreign"] >= 4
    assert judged["clean", "foreign"] <= 0.1 * sum(n for (kind, _), n in judged.items() if kind == "clean")
    for row in plain:
        if row["verdict"] == "mislabelled" and truth(row["id"]) == "mislabelled":
            assert row["suggested_label"] == row["id"].split("/")[1].rsplit("_", 1)[0]
            assert 0.3 < row["confidence"] <= 1


def test_copies_conflicts_and_unreadable_files(found: Audit) -> None:
    table = rows(found)
    assert table["red/broken.png"]["verdict"] == "unreadable"
    assert table["red/broken.png"]["reason"]
    assert math.isnan(table["red/broken.png"]["foreign_score"])
    again, original = table["green/again.png"], table["green/green_20.png"]
    assert {again["duplicate_of"], original["duplicate_of"]} == {"", "green/green_20.png"} or again[
        "duplicate_of"
    ] == ""
    assert again["foreign_score"] == original["foreign_score"]
    assert table["red/elsewhere.png"]["verdict"] == table["blue/blue_20.png"]["verdict"] == "duplicate conflict"


def test_neighbours_are_other_images(found: Audit) -> None:
    for row in found.table.rows():
        assert row["id"] not in row["neighbours"]
        assert len(row["neighbours"]) == (0 if row["verdict"] == "unreadable" else 3)


def test_foreign_scores_are_larger_for_foreign_images(found: Audit) -> None:
    foreign = [row["foreign_score"] for row in found.table.rows() if "other_" in row["id"]]
    called_clean = [row for row in found.table.rows() if row["verdict"] == "clean"]
    assert min(foreign) > max(row["foreign_score"] for row in called_clean if "other_" not in row["id"])


def test_the_summary_counts_what_the_table_says(found: Audit) -> None:
    assert found.summary["images"] == len(found.table) and found.summary["seen"] == LONG_IN_SQUARES
    assert found.summary["counts"] == dict(Counter(found.table.verdict))
    rates = found.summary["rates"]
    assert rates["wrong"]["low"] <= rates["wrong"]["estimate"] <= rates["wrong"]["high"]
    assert 0.05 < rates["wrong"]["estimate"] < 0.3
    assert {"red", "green", "blue"} == {entry["class"] for entry in rates["by_class"]}
    assert found.summary["confusions"][0]["images"] >= 5
    assert [problem["id"] for problem in found.summary["problems"]] == ["red/broken.png"]


def test_it_is_saved_as_table_summary_and_page(found: Audit, tmp_path: Path) -> None:
    paths = found.save(tmp_path / "out")
    assert {path.name for path in paths} >= {"audit.csv", "summary.json", "audit.html"}
    assert read_audit(tmp_path / "out" / "audit.csv").verdict == found.table.verdict
    assert json.loads((tmp_path / "out" / "summary.json").read_text())["images"] == len(found.table)
    assert "Audit of" in (tmp_path / "out" / "audit.html").read_text(encoding="utf-8")


def test_a_second_audit_reads_what_the_first_one_left(folder: Path, tmp_path: Path, found: Audit) -> None:
    place = {"cache": tmp_path / "cache", "folder": tmp_path / "heads"}
    first = run(folder, **place)
    assert first.table == run(folder, **place).table
    assert first.table.verdict == found.table.verdict


def test_every_file_is_opened_and_decoded_once(folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    counts: Counter[str] = Counter()

    def counted(name: str, real: Callable[..., object]) -> Callable[..., object]:
        def call(*arguments: object) -> object:
            counts[name] += 1
            return real(*arguments)

        return call

    monkeypatch.setattr(files, "read_bytes", counted("opened", files.read_bytes))
    monkeypatch.setattr(images, "_converted", counted("decoded", images._converted))
    first = run(folder, cache=tmp_path / "cache")
    first.save(tmp_path / "first")
    assert counts == {"opened": len(first.table), "decoded": len(first.table) - 1}
    counts.clear()
    run(folder, cache=tmp_path / "cache").save(tmp_path / "second")
    assert counts == {"opened": len(first.table)}
    # Its commands name the folder.
    pages = [
        (tmp_path / name / "audit.html").read_text("utf-8").replace(str(tmp_path / name), "")
        for name in ("first", "second")
    ]
    assert pages[0] == pages[1]


@pytest.mark.skipif(torch.cuda.is_available(), reason="has a GPU")
def test_a_gpu_that_is_not_there_is_refused_before_any_work(folder: Path, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="cannot run on 'cuda'"):
        audit(folder, runtime=RuntimeSettings("cuda"), cache=tmp_path / "cache")
    assert not (tmp_path / "cache").exists()


def test_leaks_into_a_test_set_are_listed(folder: Path, tmp_path: Path) -> None:
    other = tmp_path / "test"
    write_folder(other, each=3, foreign=0, wrong=0)
    copied = other / "green" / "leaked.png"
    copied.write_bytes((folder / "green" / "green_25.png").read_bytes())
    leaks = run(folder, test=str(other)).summary["leaks"]
    assert {"id": "green/green_25.png", "test_id": "green/leaked.png", "exact": True} in leaks


def test_tiny_classes_and_missing_labels_are_noted(tmp_path: Path) -> None:
    write_folder(tmp_path, foreign=0, wrong=0)
    for extra in sorted((tmp_path / "red").glob("*.png"))[5:]:
        extra.unlink()
    notes = " ".join(run(tmp_path).summary["notes"])
    assert "class 'red' has only 5 images" in notes


def test_nothing_to_compare_is_refused_before_any_work(tmp_path: Path) -> None:
    write_folder(tmp_path / "one", foreign=0, wrong=0)
    for name in ("green", "blue"):
        for image in (tmp_path / "one" / name).glob("*"):
            image.unlink()
        (tmp_path / "one" / name).rmdir()
    with pytest.raises(DataError, match="class"):
        run(tmp_path / "one")
    with pytest.raises(DataError, match="there is no file or folder"):
        run(tmp_path / "missing")


def test_embeddings_of_ones_own_replace_the_network(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lond.frozen.read, "Extractor", None)
    samples = load(folder)
    colours = np.stack([own_colour(folder, name) for name in samples.ids])
    np.savez(tmp_path / "own.npz", embeddings=colours, ids=np.array(samples.ids))
    found = run(folder, embeddings=tmp_path / "own.npz")
    table = rows(found)
    assert table["red/broken.png"]["verdict"] == "unreadable"
    assert table["red/elsewhere.png"]["verdict"] == "duplicate conflict"
    wrong = [row for row in table.values() if "_" in row["id"] and truth(row["id"]) == "mislabelled"]
    assert sum(row["verdict"] == "mislabelled" for row in wrong) >= 15


def own_colour(folder: Path, name: str) -> np.ndarray:
    try:
        return np.asarray(Image.open(folder / name), dtype=np.float32).mean((0, 1)) / 255
    except OSError:
        return np.zeros(3, dtype=np.float32)


def test_embeddings_alone_can_be_audited(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lond.frozen.read, "Extractor", None)
    random = np.random.default_rng(0)
    centres = np.eye(4, 8) * 6
    true = np.arange(160) % 4
    values = (centres[true] + random.normal(size=(160, 8))).astype(np.float32)
    given = np.where(true == 3, np.arange(160) // 4 % 3, true)
    given[:9:4] = 1
    values[150] = values[149]
    np.savez(tmp_path / "own.npz", embeddings=values, labels=given)
    found = run(tmp_path / "own.npz")
    assert found.table.verdict[:9:4] == ("mislabelled",) * 3
    assert found.table.verdict[150] == found.table.verdict[149] == "duplicate conflict"
    assert found.thumbnail(0) is None
    assert (tmp_path / "out" / "audit.html") in found.save(tmp_path / "out")
    with pytest.raises(ConfigError, match="holds embeddings already"):
        run(tmp_path / "own.npz", embeddings=tmp_path / "own.npz")


def clustered(blind: bool) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return features, given labels of which the first ten are wrong, and true labels."""
    random = np.random.default_rng(0)
    true = np.arange(200) % 4
    values = random.normal(size=(200, 8)) + (0 if blind else 6) * np.eye(4, 8)[true]
    return values.astype(np.float32), np.where(np.arange(200) < 10, (true + 1) % 4, true), true


def test_probabilities_of_ones_own_judge_where_features_are_blind(tmp_path: Path) -> None:
    values, given, true = clustered(blind=True)
    chances = 0.85 * np.eye(4)[true] + 0.15 / 4
    blind = run((values, given))
    found = run((values, given), pred_probs=chances)
    wrong = set(found.select(verdict="mislabelled").id)
    assert wrong == set(map(str, range(10))) != set(blind.select(verdict="mislabelled").id)
    assert found.table.suggested_label[:10] == tuple(map(str, true[:10]))
    assert found.table.neighbours == blind.table.neighbours, "neighbours are those of the features"
    assert any("judged by them" in note for note in found.summary["notes"])
    told = found.summary["pred_probs"]
    assert told["judged_by"] == "probabilities" and told["loss"] < told["features_loss"]
    # By id and by class, in any order, for a source with ids.
    np.savez(tmp_path / "own.npz", embeddings=values, labels=given, ids=np.arange(200).astype(str))
    order = np.random.default_rng(1).permutation(200)
    np.savez(
        tmp_path / "p.npz", pred_probs=chances[order][:, ::-1], ids=order.astype(str), classes=np.array(list("3210"))
    )
    again = run(tmp_path / "own.npz", pred_probs=tmp_path / "p.npz")
    assert again.table.verdict == found.table.verdict
    with pytest.raises(DataError, match="columns in this order: '0', '1', '2', '3'"):
        run((values, given), pred_probs=chances[:, :3])


def test_probabilities_that_say_nothing_leave_the_verdicts_alone() -> None:
    values, given, _ = clustered(blind=False)
    before = run((values, given))
    after = run((values, given), pred_probs=np.full((200, 4), 0.25))
    assert after.table.verdict == before.table.verdict
    assert any("add nothing" in note or "count beside" in note for note in after.summary["notes"])
    assert after.summary["pred_probs"]["judged_by"] == "features"


# So few epochs may end before any sample is judged clean.
@pytest.mark.filterwarnings("ignore:epoch")
@pytest.mark.parametrize("train", ["scratch", "finetune"])
def test_a_whole_network_can_be_trained_instead(train: str, tmp_path: Path) -> None:
    write_folder(tmp_path / "images", each=24, foreign=4, wrong=3)
    settings = replace(SETTINGS, train=train, epochs=3, folds=2, extractor=ExtractorSettings(size=32))
    settings = replace(settings, extractor=replace(settings.extractor, squares_beyond=4.5))
    found = run(tmp_path / "images", settings=settings, folder=tmp_path / "heads")
    assert not found.summary["settings"]["extractor"]["squares_beyond"], "a trained network sees centre squares only"
    judged = Counter(found.table.verdict)
    assert sum(judged.values()) == len(found.table) == 76
    assert np.isfinite(found.table.foreign_score).all()
    config = json.loads((tmp_path / "heads" / "model" / "config.json").read_text())
    assert config["net"]["backbone"] == {"scratch": "seven-layer", "finetune": "efficientnet-lite0"}[train]
    assert config["net"]["pretrained"] == (train == "finetune")


def test_labels_that_say_nothing_are_noted() -> None:
    random = np.random.default_rng(0)
    features, labels = random.normal(size=(160, 8)).astype(np.float32), random.integers(0, 8, 160)
    found = audit((features, labels), settings=AuditSettings(map="none"))
    assert BEYOND_TABLE in found.summary["notes"] and not found.counts["foreign"]


def test_the_trained_heads_look_at_new_images(folder: Path, tmp_path: Path) -> None:
    run(folder, cache=tmp_path / "cache", folder=tmp_path / "heads")
    write_folder(tmp_path / "new", each=4, foreign=0, wrong=0)
    heads = load_run(tmp_path / "heads" / "model")
    samples = heads.read(tmp_path / "new")
    prediction = heads.predict(samples)
    assert (prediction.probabilities.argmax(dim=1) == samples.labels).float().mean() > 0.8


def test_a_hugging_face_dataset_and_the_folder_it_was_saved_to(tmp_path: Path) -> None:
    datasets = pytest.importorskip("datasets")
    write_folder(tmp_path / "images")
    plain = load(tmp_path / "images")
    features = datasets.Features({"image": datasets.Image(), "label": datasets.ClassLabel(names=plain.class_names)})
    rows = {"image": [str(tmp_path / "images" / name) for name in plain.ids], "label": plain.labels.tolist()}
    dataset = datasets.Dataset.from_dict(rows, features=features)
    dataset.save_to_disk(tmp_path / "saved")
    expected = run(tmp_path / "images").table.verdict
    assert run(dataset).table.verdict == expected
    found = run(tmp_path / "saved")
    assert found.table.verdict == expected
    assert found.table.id[0] == "0"
    found.save(tmp_path / "audit")
    assert (tmp_path / "audit" / "audit.html").is_file()
