from __future__ import annotations

import copy
import json
import pickle
import random
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from PIL import Image
from sklearn.base import clone, is_classifier
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV, cross_val_score
from torch import nn

import lond
import lond.nets
from lond import ConfigError, DataError, LondClassifier, Partition
from lond.errors import LeftOutWarning
from lond.methods import ALL_METHODS, Standard
from lond.nets import ALL_BACKBONES, BackboneSpec
from lond.train.checkpoint import load_state, same_state

NAMES = np.array(["ant", "bee", "cow"])


def stripes(count: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Grey 12 x 12 images with one bright band; its height tells the class."""
    images = np.random.RandomState(seed).randint(0, 60, (count, 12, 12)).astype(np.uint8)
    labels = np.arange(count) % 3
    for image, label in zip(images, labels, strict=True):
        image[4 * label : 4 * label + 4] += 180
    return images, NAMES[labels]


def small(**changes: Any) -> LondClassifier:
    arguments = {
        "method": "lond-drs",
        "width": 0.125, "epochs": 4, "warmup_epochs": 2, "batch_size": 16, "flip": False, "strong": "geometric",
        "padding": 1, "settings": {"identify": {"neighbours": 10, "clean_quantile": 0.9}}, "device": "cpu",
    }  # fmt: skip
    return LondClassifier(**arguments | changes)


@pytest.fixture(scope="module")
def fitted() -> LondClassifier:
    images, labels = stripes(90)
    wrong = labels.copy()
    wrong[:6] = NAMES[[1, 2, 0, 1, 2, 0]]
    test_images, test_labels = stripes(30, seed=1)
    return small().fit(images, wrong, true_labels=labels, X_test=test_images, y_test=test_labels)


# Learning


def test_it_learns_and_speaks_the_users_labels(fitted: LondClassifier) -> None:
    images, labels = stripes(30, seed=2)
    assert fitted.classes_.tolist() == ["ant", "bee", "cow"]
    predicted = fitted.predict(images)
    assert predicted.dtype == labels.dtype
    assert fitted.score(images, labels) > 0.9
    probabilities = fitted.predict_proba(images)
    assert probabilities.shape == (30, 3)
    assert np.allclose(probabilities.sum(axis=1), 1, atol=1e-5)
    assert (fitted.classes_[probabilities.argmax(axis=1)] == predicted).all()


def test_layouts_and_value_ranges_of_images_are_alike(fitted: LondClassifier) -> None:
    images, _ = stripes(12, seed=2)
    expected = fitted.predict_proba(images)
    for same in (images[:, None], images[..., None], images / 255.0, torch.from_numpy(images)):
        assert np.allclose(fitted.predict_proba(same), expected, atol=1e-6)
    one = fitted.predict_proba(images[:1])
    assert np.allclose(one, expected[:1], atol=1e-5)


def labels_of(model: LondClassifier, column: str) -> np.ndarray:
    return np.array(model.verdict_table_[column], dtype=object)


def test_verdicts_are_one_a_training_sample(fitted: LondClassifier) -> None:
    assert isinstance(fitted.partition_, Partition)
    assert len(fitted.partition_.clean) == 90
    assert fitted.verdicts_ is not None
    assert fitted.verdicts_.shape == (90,)
    assert set(fitted.verdicts_) <= {"clean", "mislabelled", "foreign"}
    assert (fitted.verdicts_[:6] != "clean").all()
    assert fitted.suggested_labels_ is not None
    closed = fitted.verdicts_[:6] == "mislabelled"
    assert closed.any()
    assert (fitted.suggested_labels_[:6][closed] != labels_of(fitted, "label")[:6][closed]).all()
    clean = fitted.verdicts_ == "clean"
    assert (fitted.suggested_labels_[clean] == labels_of(fitted, "label")[clean]).all()
    foreign = fitted.verdicts_ == "foreign"
    assert all(label is None for label in fitted.suggested_labels_[foreign])
    assert {len(column) for column in fitted.verdict_table_.values()} == {90}


def test_history_has_the_figures_of_every_epoch(fitted: LondClassifier) -> None:
    assert [record["epoch"] for record in fitted.history_] == [0, 1, 2, 3]
    assert all("accuracy" in record for record in fitted.history_)
    assert "clean_precision" in fitted.history_[-1]
    assert set(fitted.metrics_) & {"accuracy", "loss"} == {"accuracy", "loss"}


def test_foreign_images_score_higher(fitted: LondClassifier) -> None:
    images, _ = stripes(30, seed=2)
    foreign = np.random.RandomState(5).randint(0, 255, (30, 12, 12)).astype(np.uint8)
    known_scores, foreign_scores = fitted.score_samples(images), fitted.score_samples(foreign)
    assert known_scores.shape == (30,)
    assert foreign_scores.mean() > known_scores.mean()
    assert fitted.threshold_ is not None
    assert fitted.is_foreign(images).dtype == bool
    assert (fitted.is_foreign(foreign) == (foreign_scores > fitted.threshold_)).all()


def test_features_of_a_small_set_get_a_threshold_that_keeps_its_rate() -> None:
    """By scores of samples that were learned from, 21 % of the new images would be called foreign."""
    random, true = np.random.default_rng(0), np.arange(600) % 3
    features = (random.normal(size=(600, 12)) + 2 * np.eye(3, 12)[true]).astype(np.float32)
    fitted = LondClassifier(false_alarm_rate=0.1, n_jobs=1).fit(features[:300], true[:300])
    assert 0 < fitted.is_foreign(features[300:]).mean() < 0.15
    assert len(fitted._trained.run.calibration.known_scores) > 200


def test_the_rate_of_false_alarms_sets_the_threshold() -> None:
    images, labels = stripes(30)
    strict, loose = (
        small(method="standard", epochs=1, settings=None, false_alarm_rate=rate).fit(images, labels)
        for rate in (0.2, 0.5)
    )
    assert strict.threshold_ is None or loose.threshold_ is None or strict.threshold_ >= loose.threshold_
    tight = small(method="standard", epochs=1, settings=None, false_alarm_rate=0.01).fit(images, labels)
    assert tight.threshold_ is None
    with pytest.raises(DataError, match=r"no threshold.*0\.01"):
        tight.is_foreign(images)


# Labels


@pytest.mark.parametrize(
    ("given", "classes"),
    [
        ([7, 3, 10], [3, 7, 10]),
        ([True, False, True], [False, True]),
        ([2.0, 1.0, 3.0], [1.0, 2.0, 3.0]),
        (["b", 1, "a"], [1, "a", "b"]),
    ],
)
def test_classes_keep_the_users_values(given: list[Any], classes: list[Any]) -> None:
    images, _ = stripes(12)
    labels = [given[index % 3] for index in range(12)]
    model = small(method="standard", epochs=1, settings=None).fit(images, labels)
    assert model.classes_.tolist() == classes
    assert set(model.predict(images).tolist()) <= set(classes)


@pytest.mark.parametrize("missing", [None, float("nan"), -2])
def test_unlabelled_rows_are_kept_but_never_called_mislabelled(missing: Any) -> None:
    images, labels = stripes(60)
    numbers: list[Any] = [int(np.flatnonzero(label == NAMES)[0]) for label in labels]
    numbers[3:9] = [missing] * 6
    model = small(epochs=3).fit(images, numbers)
    assert model.classes_.tolist() == [0, 1, 2]
    assert model.verdicts_ is not None
    assert set(model.verdicts_[3:9]) <= {"unlabelled", "foreign"}
    assert "unlabelled" not in set(model.verdicts_[9:])
    assert model.suggested_labels_ is not None
    assert set(model.suggested_labels_[3:9].tolist()) <= {0, 1, 2, None}


def test_a_method_without_a_partition_judges_all_the_same() -> None:
    images, labels = stripes(12)
    model = small(method="standard", epochs=1, settings=None).fit(images, labels)
    assert model.partition_ is None
    assert set(model.verdicts_) <= {"clean", "mislabelled", "foreign"}
    assert len(model.suggested_labels_) == 12


# Refusals


@pytest.mark.parametrize("verb", ["predict", "predict_proba", "score_samples", "is_foreign", "save"])
def test_nothing_works_before_fit(verb: str, tmp_path: Path) -> None:
    argument = tmp_path / "x" if verb == "save" else stripes(3)[0]
    with pytest.raises(NotFittedError):
        getattr(small(), verb)(argument)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"method": "magic"}, "no method 'magic'"),
        ({"backbone": "seven"}, "no backbone 'seven'"),
        ({"epochs": "4"}, r"epochs is '4'"),
        ({"warmup_epochs": 4}, "all 4 epochs are warm-up"),
        ({"settings": {"identify": {"neighbors": 3}}}, "did you mean 'settings.identify.neighbours'"),
        ({"false_alarm_rate": 1.5}, r"false_alarm_rate is 1\.5"),
        ({"strong": "magic"}, "strong augmentation 'magic'"),
        ({"batch_size": 1}, "batch_size at least 2"),
    ],
)
def test_a_wrong_argument_is_named(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        small(**changes).fit(*stripes(12))


def test_unusable_data_are_refused() -> None:
    images, labels = stripes(12)
    for x, y, message in [
        (images, None, "need their labels y"),
        (images, labels[:5], "12 images but 5 labels"),
        (images, ["a"] * 12, "only one class"),
        (images, [-1, 0] * 6, "-1"),
        ("some/folder", labels, "brings its own labels"),
        (images.astype(np.int64), labels, "uint8"),
    ]:
        with pytest.raises(DataError, match=message):
            small().fit(x, y)
    with pytest.raises(DataError, match="the training images had"):
        small().fit(images, labels, X_test=np.zeros((4, 12, 12, 3), np.uint8), y_test=labels[:4])


def test_images_of_another_kind_are_refused_or_resized(fitted: LondClassifier) -> None:
    with pytest.raises(DataError, match=r"\(3, 12, 12\).*\(1, 12, 12\)"):
        fitted.predict(np.zeros((2, 12, 12, 3), np.uint8))
    with pytest.raises(DataError, match="no images"):
        fitted.predict(np.zeros((0, 12, 12), np.uint8))
    assert fitted.predict(np.zeros((2, 24, 30), np.uint8)).shape == (2,)


def test_images_that_are_not_square_stay_so() -> None:
    images, labels = stripes(12)
    model = small(method="standard", epochs=1, settings=None).fit(images[:, :, :8], labels)
    assert model.predict(images[:, :, :8]).shape == (12,)
    with pytest.raises(DataError, match=r"\(1, 12, 12\).*\(1, 12, 8\)"):
        model.predict(images)


# scikit-learn's contract


def test_parameters_are_stored_unchanged() -> None:
    settings, net = {"mixup": 0.5}, nn.Flatten()
    model = LondClassifier(settings=settings, backbone=net, random_state=None, run_folder=Path("x"))
    params = model.get_params()
    assert params["settings"] is settings
    assert params["backbone"] is net
    assert is_classifier(model)
    copied = clone(model.set_params(epochs=3))
    assert copied.epochs == 3
    assert copied.settings == settings
    assert "LondClassifier" in repr(LondClassifier())


def test_cross_validation_and_grid_search() -> None:
    images, labels = stripes(36)
    model = small(method="standard", settings=None, epochs=2, warmup_epochs=0)
    scores = cross_val_score(model, images, labels, cv=2, error_score="raise")
    assert scores.shape == (2,)
    search = GridSearchCV(model, {"epochs": np.array([1, 2])}, cv=2, error_score="raise").fit(images, labels)
    assert search.best_params_["epochs"] in (1, 2)


def test_the_same_seed_gives_the_same_model_and_the_callers_random_numbers_stay() -> None:
    images, labels = stripes(24)
    model = small(method="standard", settings=None, epochs=1)
    torch.manual_seed(3), np.random.seed(3), random.seed(3)
    expected = torch.rand(1).item(), np.random.rand(), random.random()
    torch.manual_seed(3), np.random.seed(3), random.seed(3)
    first = model.fit(images, labels).predict_proba(images)
    assert (torch.rand(1).item(), np.random.rand(), random.random()) == expected
    assert np.array_equal(model.fit(images, labels).predict_proba(images), first)
    assert not np.array_equal(model.set_params(random_state=1).fit(images, labels).predict_proba(images), first)
    drawn = [model.set_params(random_state=None).fit(images, labels).predict_proba(images) for _ in range(2)]
    assert not np.array_equal(*drawn)


def test_estimators_in_threads_give_what_each_gives_alone() -> None:
    """The backbone drops out units, which draws from the global random numbers."""

    images, labels = stripes(48)
    backbone = nn.Sequential(nn.Flatten(), nn.Linear(144, 16), nn.Dropout(0.5))

    def fit(seed: int) -> np.ndarray:
        model = small(method="standard", settings=None, epochs=3, random_state=seed, backbone=backbone)
        return model.fit(images, labels).predict_proba(images)

    alone = [fit(seed) for seed in range(3)]
    torch.manual_seed(3), np.random.seed(3), random.seed(3)
    expected = torch.rand(1).item(), np.random.rand(), random.random()
    torch.manual_seed(3), np.random.seed(3), random.seed(3)
    with ThreadPoolExecutor(3) as threads:
        together = list(threads.map(fit, range(3)))
    assert (torch.rand(1).item(), np.random.rand(), random.random()) == expected
    assert all(np.array_equal(*pair) for pair in zip(alone, together, strict=True))


def test_a_fitted_estimator_can_be_copied(fitted: LondClassifier) -> None:
    images, _ = stripes(6)
    for copied in (copy.deepcopy(fitted), pickle.loads(pickle.dumps(fitted))):
        assert np.array_equal(copied.predict_proba(images), fitted.predict_proba(images))


# A module of one's own


class Tiny(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.Sequential(nn.Conv2d(1, 8, 3, 2), nn.BatchNorm2d(8), nn.ReLU())

    def forward(self, images: torch.Tensor) -> torch.Tensor:
        features: torch.Tensor = self.layers(images)
        return features


def test_a_module_of_ones_own_is_copied_saved_and_loaded(tmp_path: Path) -> None:
    images, labels = stripes(36)
    net = Tiny()
    before = copy.deepcopy(net.state_dict())
    model = small(backbone=net, width=1.0).fit(images, labels)
    assert all(torch.equal(value, before[name]) for name, value in net.state_dict().items())
    model.save(tmp_path / "saved")
    with pytest.raises(ConfigError, match=r"module of your own, Tiny"):
        LondClassifier.load(tmp_path / "saved")
    again = LondClassifier.load(tmp_path / "saved", backbone=Tiny())
    assert np.array_equal(again.predict_proba(images), model.predict_proba(images))
    with pytest.raises(DataError, match="does not fit"):
        LondClassifier.load(tmp_path / "saved", backbone=nn.Sequential(nn.Conv2d(1, 4, 3)))


# Keeping


def test_save_and_load_are_inverse(fitted: LondClassifier, tmp_path: Path) -> None:
    images, _ = stripes(12, seed=3)
    fitted.save(tmp_path / "saved")
    names = {path.name for path in (tmp_path / "saved").iterdir()}
    assert {"config.json", "manifest.json", "checkpoint.safetensors", "metrics.json", "estimator.json"} <= names
    again = LondClassifier.load(tmp_path / "saved")
    assert again.get_params() == fitted.get_params() | {"method": "lond-drs"}
    again.save(tmp_path / "twice")
    for model in (again, LondClassifier.load(tmp_path / "twice")):
        for verb in ("predict", "predict_proba", "score_samples", "is_foreign"):
            assert np.array_equal(getattr(model, verb)(images), getattr(fitted, verb)(images))
        assert model.classes_.dtype == fitted.classes_.dtype
        assert np.array_equal(model.verdicts_, fitted.verdicts_)
        assert np.array_equal(model.suggested_labels_, fitted.suggested_labels_)
        assert same_state(model.partition_.state_dict(), fitted.partition_.state_dict())
        # As text, since a NaN is not equal to itself.
        assert json.dumps(model.history_) == json.dumps(fitted.history_)
        assert model.threshold_ == fitted.threshold_
        assert model.metrics_["loss"] == fitted.metrics_["loss"]
    assert clone(again).get_params() == again.get_params()


def test_saving_over_something_else_is_refused(fitted: LondClassifier, tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("mine")
    with pytest.raises(ConfigError, match="not empty and holds no run"):
        fitted.save(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["notes.txt"]
    with pytest.raises(DataError, match="not a trained run"):
        LondClassifier.load(tmp_path)


def test_a_run_folder_resumes_what_was_cut(tmp_path: Path) -> None:
    images, labels = stripes(36)
    whole = small(epochs=3, run_folder=tmp_path / "whole").fit(images, labels)
    folder = tmp_path / "cut"

    class CutError(Exception):
        pass

    model, seen = small(epochs=3, run_folder=folder), []
    with pytest.MonkeyPatch.context() as patch:
        from lond.train.loop import Trainer

        original = Trainer._epoch

        def stop_at_second(self: Trainer, epoch: int, bar: Any) -> Any:
            if epoch == 2:
                raise CutError
            return original(self, epoch, bar)

        patch.setattr(Trainer, "_epoch", stop_at_second)
        with pytest.raises(CutError):
            model.fit(images, labels)

        def watch(self: Trainer, epoch: int, bar: Any) -> Any:
            seen.append(epoch)
            return original(self, epoch, bar)

        patch.setattr(Trainer, "_epoch", watch)
        model.fit(images, labels)
        assert seen == [2]
        model.fit(images, labels)
        assert seen == [2]
    assert np.array_equal(model.predict_proba(images), whole.predict_proba(images))
    states = [load_state(path / "checkpoint.safetensors")["method"] for path in (folder, tmp_path / "whole")]
    assert same_state(*states)
    assert np.array_equal(LondClassifier.load(folder).predict_proba(images), whole.predict_proba(images))
    with pytest.raises(ConfigError, match=r"other settings \(train\.epochs\)"):
        small(epochs=4, run_folder=folder).fit(images, labels)
    with pytest.raises(ConfigError, match="on other data"):
        model.fit(images, np.roll(labels, 1))
    with pytest.raises(ConfigError, match="on other data"):
        model.fit(images[::-1], labels)


def test_a_folder_of_images_trains_too(tmp_path: Path) -> None:
    images, labels = stripes(24)
    for index, (image, label) in enumerate(zip(images, labels, strict=True)):
        (tmp_path / "data" / label).mkdir(parents=True, exist_ok=True)
        Image.fromarray(image).save(tmp_path / "data" / label / f"{index:02d}.png")
    (tmp_path / "data" / "ant" / "bad.png").write_bytes(b"\x89PNG not really")
    for number in range(4):
        (tmp_path / "data" / "bee" / f"empty_{number}.png").touch()
    told = (
        r"5 training images are left out: ant/bad\.png .*; bee/empty_0\.png \(empty file \(0 bytes\)\); .*; and 2 more"
    )
    with pytest.warns(LeftOutWarning, match=told) as warned:
        model = small(method="standard", settings=None, epochs=1).fit(tmp_path / "data")
    assert Path(warned[0].filename) == Path(__file__), "the warning points at the caller"
    for number in range(4):
        (tmp_path / "data" / "bee" / f"empty_{number}.png").unlink()
    assert model.classes_.tolist() == NAMES.tolist()
    assert "ant/bad.png" in [problem["id"] for problem in model.problems_]
    with pytest.warns(LeftOutWarning, match=r"1 image is left out.*ant/bad\.png"):
        assert model.predict(tmp_path / "data").shape == (24,)
    model.save(tmp_path / "saved")
    assert json.loads((tmp_path / "saved" / "estimator.json").read_text())["classes"] == NAMES.tolist()


def test_images_that_turn_out_unreadable_in_training_are_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    images, labels = stripes(24)
    for index, (image, label) in enumerate(zip(images, labels, strict=True)):
        (tmp_path / label).mkdir(parents=True, exist_ok=True)
        Image.fromarray(image).save(tmp_path / label / f"{index:02d}.png")
    (tmp_path / "ant" / "bad.png").write_bytes(b"\x89PNG not really")
    monkeypatch.setattr("lond.runs.data.MEMORY_LIMIT", 0)
    with pytest.warns(LeftOutWarning, match=r"1 training image is left out: ant/bad\.png"):
        small(method="standard", settings=None, epochs=1).fit(tmp_path)


class Patient(Standard):
    """A method of one's own."""

    name = "patient"


def one_convolution(spec: BackboneSpec) -> nn.Module:
    return nn.Conv2d(spec.in_channels, 8, 3)


def test_a_class_and_a_builder_of_ones_own(tmp_path: Path) -> None:
    images, labels = stripes(30)
    model = small(method=Patient, backbone=one_convolution, settings=None).fit(images, labels)
    assert clone(model).method is Patient
    model.save(tmp_path / "saved")
    again = LondClassifier.load(tmp_path / "saved")
    assert (again.method, again.backbone) == ("patient", "one_convolution")
    assert np.array_equal(again.predict_proba(images), model.predict_proba(images))
    # In a program that has not passed them yet.
    ALL_METHODS.added.clear()
    with pytest.raises(ConfigError, match=r"saved was made with the method 'patient' \(\w*\.?test_estimator:Patient\)"):
        LondClassifier.load(tmp_path / "saved")
    lond.methods.register(Patient)
    ALL_BACKBONES.added.clear()
    with pytest.raises(ConfigError, match=r"call lond\.nets\.register\(one_convolution\) first"):
        lond.load_run(tmp_path / "saved")
    lond.nets.register(one_convolution)
    assert lond.load_run(tmp_path / "saved").config.method == "patient"
