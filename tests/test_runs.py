from __future__ import annotations

import csv
import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from PIL import Image

import lond.runs.data
from lond.config import DataSettings, NetSettings, RunConfig, to_dict
from lond.data.options import ReadOptions
from lond.data.squares import unreadable
from lond.data.views import ViewSettings
from lond.errors import ConfigError, DataError
from lond.identify import IdentifySettings
from lond.io.json_files import plain
from lond.methods import LondDrsSettings, StandardSettings
from lond.runs import load_data, load_run, load_trained, save_trained, train_run, train_samples
from lond.runs.folder import held
from lond.runs.image_tables import judge_samples, prediction_rows
from lond.train.checkpoint import load_state, same_state
from lond.train.loop import TrainSettings
from lond.train.schedule import OptimiserSettings
from lond.types import Prediction, Samples, Verdict

FILES = [
    ".lock",
    "checkpoint.previous.safetensors",
    "checkpoint.safetensors",
    "config.json",
    "decision.safetensors",
    "log.jsonl",
    "manifest.json",
    "metrics.json",
    "verdicts.csv",
]


def stripes(count: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    images = np.random.RandomState(seed).randint(0, 60, (count, 12, 12)).astype(np.uint8)
    labels = np.arange(count) % 3
    for image, label in zip(images, labels, strict=True):
        image[4 * label : 4 * label + 4] += 180
    return images, labels


def small(source: str, **changes: object) -> RunConfig:
    identify = IdentifySettings(neighbours=10, clean_quantile=0.9)
    config = RunConfig(
        data=DataSettings(source=source, read=ReadOptions(num_workers=0)),
        net=NetSettings(width=0.125),
        views=ViewSettings(padding=1, flip=False, strong="geometric"),
        settings=LondDrsSettings(warmup_epochs=2, identify=identify),
        optimiser=OptimiserSettings(constant_epochs=2),
        train=TrainSettings(epochs=3, batch_size=16, average_last=2),
    )
    return replace(config, **changes)  # type: ignore[arg-type]


def standard(source: str, epochs: int = 1) -> RunConfig:
    train = TrainSettings(epochs=epochs, batch_size=16)
    return small(source, method="standard", settings=StandardSettings(hidden=16), train=train)


@pytest.fixture(scope="module")
def arrays(tmp_path_factory: pytest.TempPathFactory) -> str:
    """60 images to train on, 6 of them mislabelled, two unlabelled; 24 to test on, 6 of them foreign."""
    images, truth = stripes(60)
    given = truth.copy()
    given[:6] = (given[:6] + 1) % 3
    given[10:12] = -2
    test, test_truth = stripes(18, seed=1)
    test = np.concatenate([test, np.random.RandomState(2).randint(0, 255, (6, 12, 12)).astype(np.uint8)])
    path = tmp_path_factory.mktemp("data") / "data.npz"
    names = np.array(["ant", "bee", "cow"])
    test_labels = np.append(test_truth, [-1] * 6)
    np.savez(
        path, x_train=images, y_train=given, y_true_train=truth, x_test=test, y_test=test_labels, class_names=names
    )
    return str(path)


@pytest.fixture(scope="module")
def run(arrays: str, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("runs") / "deep" / "run"
    train_run(small(arrays), folder)
    return folder


# The folder


def test_the_folder_explains_the_run(run: Path, arrays: str) -> None:
    assert sorted(path.name for path in run.iterdir()) == FILES
    assert json.loads((run / "config.json").read_text()) == to_dict(small(arrays))
    manifest = json.loads((run / "manifest.json").read_text())
    assert manifest["class_names"] == ["ant", "bee", "cow"]
    assert (manifest["channels"], manifest["size"]) == (1, [12, 12])
    assert manifest["data"]["train"]["images"] == 60
    assert manifest["data"]["test"]["images"] == 24
    assert set(manifest["versions"]) == {"lond", "torch", "numpy", "lightning-fabric"}
    log = [json.loads(line) for line in (run / "log.jsonl").read_text().splitlines()]
    assert [record["epoch"] for record in log] == [0, 1, 2]
    metrics = json.loads((run / "metrics.json").read_text())
    assert (metrics["method"], metrics["epochs"], metrics["mean_over_last"], metrics["seed"]) == ("lond-drs", 3, 1, 0)
    assert metrics["false_alarm_rate"] == 0.05
    assert metrics["threshold"] is not None
    assert {"accuracy", "auroc", "fpr95"} <= metrics["metrics"].keys()
    # Two of the three epochs are warm-up.
    assert metrics["metrics"]["accuracy"] == log[-1]["accuracy"]


def test_a_verdict_on_every_training_sample(run: Path) -> None:
    with (run / "verdicts.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert [row["id"] for row in rows] == [str(index) for index in range(60)]
    assert [row["label"] for row in rows[9:13]] == ["ant", "", "", "ant"]
    assert {row["verdict"] for row in rows[10:12]} <= {"unlabelled", "foreign"}
    rest = rows[:10] + rows[12:]
    assert {row["verdict"] for row in rest} <= {"clean", "mislabelled", "foreign"}
    for row in rows:
        known = row["suggested_label"] in ("ant", "bee", "cow")
        assert known if row["verdict"] != "foreign" else row["suggested_label"] == ""
        assert (row["verdict"] == "clean") <= (row["suggested_label"] == row["label"])
        assert (row["verdict"] == "mislabelled") <= (row["suggested_label"] != row["label"])
    assert all(row["true_label"] == ("ant", "bee", "cow")[index % 3] for index, row in enumerate(rows))
    for row in rows:
        assert 0 <= float(row["weight"]) <= 1
        assert 0 <= float(row["foreign_score"]) <= 1
        assert row["learned_as"] in ("clean", "mislabelled", "foreign")
        assert (row["learned_as"] == "clean") <= (float(row["weight"]) == 1)
        assert (row["learned_as"] == "foreign") <= (float(row["weight"]) == 0)


def test_a_finished_run_is_only_read(run: Path, arrays: str, monkeypatch: pytest.MonkeyPatch) -> None:
    before = {name: (run / name).read_bytes() for name in FILES}
    time = (run / "checkpoint.safetensors").stat().st_mtime_ns
    monkeypatch.setattr("lond.train.loop.Trainer._epoch", None)
    result = train_run(small(arrays), str(run))
    assert {name: (run / name).read_bytes() for name in FILES} == before
    assert (run / "checkpoint.safetensors").stat().st_mtime_ns == time
    assert plain(result.metrics) == json.loads(before["metrics.json"])["metrics"]


def test_another_configuration_is_refused(run: Path, arrays: str) -> None:
    config = small(arrays, net=NetSettings(width=0.25), train=TrainSettings(epochs=4, batch_size=16, average_last=2))
    with pytest.raises(ConfigError, match=r"other settings \(net\.width, train\.epochs\)"):
        train_run(config, run)


def test_where_a_benchmark_lies_does_not_matter(tmp_path: Path, arrays: str) -> None:
    config = standard(arrays)
    first = train_run(config, tmp_path / "run")
    moved = replace(config.data.benchmark, root="elsewhere")
    again = train_run(replace(config, data=replace(config.data, benchmark=moved)), tmp_path / "run")
    assert again.history == first.history


def test_a_folder_of_something_else_is_refused(tmp_path: Path, arrays: str) -> None:
    (tmp_path / "thesis.tex").write_text("years of work")
    with pytest.raises(ConfigError, match="not empty and holds no run"):
        train_run(standard(arrays), tmp_path)
    with pytest.raises(ConfigError, match="is a file"):
        train_run(standard(arrays), tmp_path / "thesis.tex")
    assert (tmp_path / "thesis.tex").read_text() == "years of work"


def test_changed_data_are_refused(tmp_path: Path) -> None:
    images, labels = stripes(24)
    source = str(tmp_path / "data.npz")
    np.savez(source, x=images, y=labels)
    train_run(standard(source), tmp_path / "run")
    np.savez(source, x=images, y=np.roll(labels, 1))
    with pytest.raises(ConfigError, match=r"on other data \(the train"):
        train_run(standard(source), tmp_path / "run")
    np.savez(source, x_train=images, y_train=labels, x_test=images, y_test=labels)
    with pytest.raises(ConfigError, match=r"on other data \(the test"):
        train_run(standard(source), tmp_path / "run")


def test_changed_data_are_refused_as_long_as_anything_of_a_run_is_left(tmp_path: Path) -> None:
    images, labels = stripes(24)
    source, folder = str(tmp_path / "data.npz"), tmp_path / "run"
    np.savez(source, x=images, y=labels)
    train_run(standard(source), folder)
    np.savez(source, x=images, y=np.roll(labels, 1))
    # A finished run whose checkpoint was deleted to save space still has its result.
    (folder / "checkpoint.safetensors").unlink()
    with pytest.raises(ConfigError, match=r"on other data \(the train"):
        train_run(standard(source), folder)
    (folder / "metrics.json").unlink()
    train_run(standard(source), folder)
    assert (folder / "metrics.json").is_file()


def test_settings_of_another_method_are_refused(tmp_path: Path, arrays: str) -> None:
    with pytest.raises(ConfigError, match="needs settings of type StandardSettings, not LondDrsSettings"):
        train_run(small(arrays, method="standard"), tmp_path / "run")
    with pytest.raises(ConfigError, match="no method 'magic'"):
        train_run(small(arrays, method="magic"), tmp_path / "other")


def test_one_class_is_not_enough(tmp_path: Path) -> None:
    images, _ = stripes(6)
    np.savez(tmp_path / "one.npz", x=images, y=np.zeros(6, int))
    with pytest.raises(DataError, match="only one class"):
        train_run(standard(str(tmp_path / "one.npz")), tmp_path / "run")
    np.savez(tmp_path / "none.npz", x=images)
    with pytest.raises(DataError, match="0 class"):
        train_run(standard(str(tmp_path / "none.npz")), tmp_path / "run")


# Reading it again


def test_a_loaded_run_predicts_what_the_trainer_did(run: Path, arrays: str, tmp_path: Path) -> None:
    samples, _, _ = load_data(small(arrays))
    trained = train_samples(small(arrays), samples, load_data(small(arrays))[1])
    first, second = trained.run.predict(samples), load_run(run).predict(samples)
    for name in Prediction.__dataclass_fields__:
        assert torch.equal(getattr(first, name), getattr(second, name))
    assert trained.run.threshold == load_run(run).threshold
    scores = [float(text) for text in load_trained(run).verdicts["foreign_score"]]
    assert scores == pytest.approx(second.scores.tolist(), rel=1e-5)
    save_trained(tmp_path / "saved", trained)
    again = load_trained(tmp_path / "saved")
    assert same_state(again.state["method"], load_state(run / "checkpoint.safetensors")["method"])
    assert same_state(again.state["extra"], load_state(run / "checkpoint.safetensors")["extra"])
    assert again.verdicts == load_trained(run).verdicts


def test_unlabelled_images_can_be_predicted(run: Path) -> None:
    loaded = load_run(str(run))
    images, labels = stripes(6, seed=4)
    bare, labelled = loaded.read(images), loaded.read((images, labels))
    assert (bare.labels == -2).all()
    assert torch.equal(loaded.predict(bare).scores, loaded.predict(labelled).scores)
    assert len(loaded.predict(loaded.read(images[:1])).scores) == 1


def test_labels_are_mapped_onto_the_runs_classes(run: Path) -> None:
    images, _ = stripes(4)
    samples = load_run(run).read((images, ["cow", "ant", "dog", None]))
    assert samples.labels.tolist() == [2, 0, -1, -2]
    assert samples.class_names == ("ant", "bee", "cow")


def test_images_that_do_not_fit_are_refused(run: Path) -> None:
    with pytest.raises(DataError, match=r"\(3, 12, 12\); the training images had \(1, 12, 12\)"):
        load_run(run).read(np.zeros((2, 12, 12, 3), np.uint8))


@pytest.mark.parametrize("name", ["config.json", "manifest.json", "checkpoint.safetensors"])
def test_a_folder_without_a_file_is_no_run(run: Path, tmp_path: Path, name: str) -> None:
    for other in FILES:
        if other != name:
            (tmp_path / other).write_bytes((run / other).read_bytes())
    with pytest.raises(DataError, match=f"not a trained run: it has no {name}"):
        load_run(tmp_path)
    with pytest.raises(DataError, match="there is no run folder"):
        load_run(tmp_path / "missing")


@pytest.mark.parametrize("name", ["config.json", "manifest.json", "checkpoint.safetensors", "metrics.json"])
def test_a_damaged_file_is_named(run: Path, tmp_path: Path, name: str) -> None:
    for other in FILES:
        (tmp_path / other).write_bytes((run / other).read_bytes())
    (tmp_path / name).write_bytes(b"{ half")
    with pytest.raises(DataError, match=rf"{name}.*damaged"):
        load_run(tmp_path)


def test_a_run_that_was_cut_has_no_threshold_yet(run: Path, tmp_path: Path) -> None:
    for name in ("config.json", "manifest.json", "checkpoint.safetensors"):
        (tmp_path / name).write_bytes((run / name).read_bytes())
    loaded = load_run(tmp_path)
    assert loaded.threshold is None
    samples = loaded.read(stripes(4)[0])
    prediction = loaded.predict(samples)
    with pytest.raises(DataError, match="--threshold"):
        prediction_rows(loaded, samples, prediction)
    assert len(prediction_rows(loaded, samples, prediction, 0.5).rows) == 4


# Files


def save_folder(root: Path, images: np.ndarray, labels: np.ndarray) -> None:
    for index, (image, label) in enumerate(zip(images, labels, strict=True)):
        folder = root / ("ant", "bee", "cow")[label]
        folder.mkdir(parents=True, exist_ok=True)
        Image.fromarray(image).convert("RGB").save(folder / f"{index:02d}.png")


@pytest.fixture(scope="module")
def pictures(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("pictures")
    save_folder(root, *stripes(24))
    (root / "bee" / "bad.png").write_bytes(b"\x89PNG and no more")
    (root / "cow" / "empty.png").write_bytes(b"")
    return root


@pytest.mark.parametrize("limit", [lond.runs.data.MEMORY_LIMIT, 0], ids=["in memory", "from files"])
def test_unreadable_files_become_rows(
    pictures: Path, tmp_path: Path, limit: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("lond.runs.data.MEMORY_LIMIT", limit)
    folder = tmp_path / "run"
    train_run(standard(str(pictures)), folder)
    problems = json.loads((folder / "manifest.json").read_text())["data"]["train"]["problems"]
    assert "cow/empty.png" in {problem["id"] for problem in problems}
    loaded = load_run(folder)
    samples = loaded.read(pictures)
    table = prediction_rows(loaded, samples, loaded.predict(samples), threshold=2.0)
    rows = {row["id"]: row for row in table.rows}
    assert len(rows) == len(table.rows) == 26
    assert rows["cow/empty.png"]["reason"] == "empty file (0 bytes)"
    for name in ("cow/empty.png", "bee/bad.png"):
        assert rows[name]["verdict"] == "unreadable"
        assert rows[name]["reason"]
        assert rows[name]["class"] == rows[name]["probability"] == rows[name]["foreign_score"] == ""
    good = [row for row in table.rows if row["verdict"] != "unreadable"]
    assert {row["verdict"] for row in good} == {"known"}
    assert {row["class"] for row in good} <= {"ant", "bee", "cow"}
    assert all(set(row) == set(table.columns) for row in table.rows)
    foreign = prediction_rows(loaded, samples, loaded.predict(samples), threshold=-1.0)
    assert {row["verdict"] for row in foreign.rows} == {"foreign", "unreadable"}


def test_what_cannot_be_decoded_is_not_trained_on(pictures: Path) -> None:
    samples, _, _ = load_data(standard(str(pictures)))
    assert len(samples) == len(samples.pixels) == 24
    assert {problem.id for problem in samples.problems} == {"bee/bad.png", "cow/empty.png"}
    assert unreadable(samples.pixels) == {}


def test_nothing_but_unreadable_files_is_an_error(tmp_path: Path) -> None:
    save_folder(tmp_path, *stripes(3))
    for path in tmp_path.rglob("*.png"):
        path.write_bytes(path.read_bytes()[:60])
    with pytest.raises(DataError, match="none of the 3 images"):
        load_data(standard(str(tmp_path)))


def test_verdicts_of_unlabelled_samples() -> None:
    images, _ = stripes(4)
    from lond.data.sources import load

    samples: Samples = load((images, ["a", None, None, "b"]))
    probabilities = torch.tensor([[0.1, 0.9], [0.1, 0.9], [0.9, 0.1], [0.1, 0.9]])
    scores = torch.tensor([0.1, 0.1, 0.9, 0.1])
    prediction = Prediction(probabilities, scores, torch.zeros(4, 1), torch.zeros(4, 2))
    expected = [Verdict.MISLABELLED, Verdict.UNLABELLED, Verdict.FOREIGN, Verdict.CLEAN]
    assert judge_samples(samples, prediction, 0.5) == expected
    assert judge_samples(samples, prediction, None)[2] == Verdict.UNLABELLED


def test_two_processes_do_not_train_one_run(tmp_path: Path, arrays: str) -> None:
    (tmp_path / "run").mkdir()
    with held(tmp_path / "run"), pytest.raises(ConfigError, match="another process"):
        train_run(small(arrays), tmp_path / "run")
    train_run(small(arrays), tmp_path / "run")
