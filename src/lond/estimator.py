"""scikit-learn estimator over the whole package; contains no mathematics itself."""
# ruff: noqa: N803 - scikit-learn's X

from __future__ import annotations

import os
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Self

import numpy as np
import torch
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.validation import check_is_fitted, validate_data
from torch import nn

from lond.config import RunConfig
from lond.data.feature_views import is_features
from lond.data.options import DEFAULTS
from lond.data.sources import load
from lond.data.squares import unreadable
from lond.errors import ConfigError, DataError, LeftOutWarning, counted
from lond.estimator_input import FLOATS, class_array, is_table, new_table, training_set
from lond.export import export_run
from lond.io.json_files import read_json, write_json
from lond.methods import Method
from lond.nets.backbones import Builder
from lond.presets.for_estimator import estimator_config, estimator_config_on_features, frozen_settings, plain_values
from lond.runs import LoadedRun, Trained, load_trained, save_trained, train_samples
from lond.runs.calibration import Calibration
from lond.runs.data import in_memory, new_features, reading_at, shape_of
from lond.runs.folder import part_seen
from lond.runs.out_of_fold import needs_folds, out_of_fold_calibration
from lond.train.runtime import Runtime, RuntimeSettings
from lond.types import Prediction, Problem, Samples, told_problems

ESTIMATOR = "estimator.json"

FEW = 3
"""Images left out that a warning names."""


class LondClassifier(ClassifierMixin, BaseEstimator):  # type: ignore[misc]  # scikit-learn is untyped
    """Learn from unreliable labels, judge them, and detect foreign (out-of-distribution) images.

    The estimator accepts images, or precomputed features ``(N, D)``.

    Examples:
        >>> images, labels = np.random.default_rng(0).integers(0, 256, (40, 8, 8), dtype="uint8"), ["cat", "dog"] * 20
        >>> model = LondClassifier("standard", width=0.1, epochs=1, batch_size=8).fit(images, labels)
        >>> model.predict_proba(images).shape, model.score_samples(images).shape
        ((40, 2), (40,))
        >>> features = np.random.default_rng(0).normal(size=(40, 16))
        >>> LondClassifier("standard", epochs=1).fit(features, [3, 7] * 20).predict(features[:2]).dtype
        dtype('int64')

    Args:
        method: Name of a method (see ``lond list``) or your own class; None is cross-fit.
        backbone: "seven-layer", "efficientnet-lite0", "timm:<model>", your own module (copied before training) or
            a function of a ``lond.nets.BackboneSpec`` that returns one. For images only.
        width: Factor on the channels of the seven-layer CNN, or of the network on features; None is 1, or 0.5 on
            features.
        epochs: Total number of epochs; None is 100, or 9 on features.
        warmup_epochs: Epochs before the first label is judged; None is a fifth of all, or the method's share on
            features.
        batch_size: Images per step and stream; None is 128, or a size suited to the number of rows on features.
        learning_rate: Learning rate during warm-up, after which it falls; None is 0.05, or the method's on features.
        padding: Padding in pixels for random crops; None is an eighth of the image side.
        flip: Whether mirrored images keep their class (not so for digits and letters).
        strong: Strong augmentation: "autoaugment", "randaugment", "augmix" or "geometric".
        settings: Further settings of the method, nested, e.g. ``{"identify": {"neighbours": 50}}``.
        frozen: True, or the name of a network, to learn from features of a frozen pretrained network instead of pixels;
            much faster on a CPU. The features are kept in ``runs/features`` if there is such a folder.
        whole: With ``frozen``, see pictures of files whole, padded to squares (True), or their centre squares (False);
            None also sees the ends of those that are more than twice as long as wide, or as wide as long.
        false_alarm_rate: Share of known images that ``is_foreign`` may call foreign.
        random_state: Seed; None draws one.
        device: "auto", "cpu", "gpu", "cuda" or "mps".
        n_jobs: CPU threads, -1 for all; None is PyTorch's default.
        precision: "32-true", "bf16-mixed" or "16-mixed".
        run_folder: Folder for a checkpoint of every epoch; ``fit`` resumes the run in it.
        warm_start: Start from the weights of the previous ``fit``, on data of the same classes and shape.
        verbose: Show a progress bar.

    Attributes:
        classes_: The known classes, as given by the user, in the order of ``predict_proba``.
        n_features_in_: D, if it was fitted on features.
        feature_names_in_: Their names, if they came as a data frame.
        partition_: Clean, mislabelled and foreign training samples; None if the method does not judge labels.
        verdicts_: "clean", "mislabelled", "foreign", "unlabelled" or "unreadable" for every training sample.
        suggested_labels_: The predicted class of every training sample; None for foreign and unreadable ones.
        verdict_table_: Verdicts with ids, weights, margins and scores: column name -> one text per sample.
        threshold_: The score above which an image is foreign; None where too few samples are trusted.
        history_: The metrics of every epoch.
        metrics_: Means of the metrics over the last epochs.
        problems_: Training images that could not be read, each with its reason; ``fit`` warns about them.
    """

    def __init__(
        self,
        method: str | type[Method] | None = None,
        backbone: str | nn.Module | Builder = "seven-layer",
        *,
        width: float | None = None,
        epochs: int | None = None,
        warmup_epochs: int | None = None,
        batch_size: int | None = None,
        learning_rate: float | None = None,
        padding: int | None = None,
        flip: bool = True,
        strong: str = "autoaugment",
        settings: Mapping[str, Any] | None = None,
        frozen: bool | str = False,
        whole: bool | None = None,
        false_alarm_rate: float = 0.05,
        random_state: int | np.random.RandomState | None = 0,
        device: str = "auto",
        n_jobs: int | None = None,
        precision: str = "32-true",
        run_folder: str | os.PathLike[str] | None = None,
        warm_start: bool = False,
        verbose: bool | int = False,
    ) -> None:
        self.method, self.backbone, self.width = method, backbone, width
        self.epochs, self.warmup_epochs, self.batch_size = epochs, warmup_epochs, batch_size
        self.learning_rate, self.padding, self.flip, self.strong = learning_rate, padding, flip, strong
        self.settings, self.frozen, self.whole, self.false_alarm_rate = settings, frozen, whole, false_alarm_rate
        self.random_state, self.device, self.n_jobs, self.precision = random_state, device, n_jobs, precision
        self.run_folder, self.warm_start, self.verbose = run_folder, warm_start, verbose

    def __sklearn_tags__(self) -> Any:
        """Return scikit-learn's tags: dense features or images, any kind of class."""
        tags = super().__sklearn_tags__()
        tags.input_tags.three_d_array = True
        tags.non_deterministic = self.random_state is None
        return tags

    def fit(
        self,
        X: Any,
        y: Any = None,
        *,
        true_labels: Any = None,
        X_test: Any = None,
        y_test: Any = None,
    ) -> Self:
        """Learn the classes and judge every label.

        Args:
            X: Images ``(N, H, W[, C])`` or ``(N, C, H, W)``, uint8 or floats in [0, 1]; or features ``(N, D)``, also
                as a data frame; or, without ``y``, any source of ``lond.data.sources.load``: a folder, a table, an
                .npz file, a torch dataset.
            y: ``(N,)`` names or whole numbers; None and NaN are missing labels.
            true_labels: ``(N,)`` true labels, where known, for the quality of the verdicts in ``history_``.
            X_test: Images or features for the accuracy in ``history_``; they never influence the training.
            y_test: Their true labels; other classes than those of ``y`` are foreign.

        Raises:
            ConfigError: an argument of the constructor is unusable, or ``run_folder`` holds another run.
            DataError: the images or labels are unusable.
        """
        if not 0 < self.false_alarm_rate < 1:
            raise ConfigError(f"false_alarm_rate is {self.false_alarm_rate}; it must lie between 0 and 1")
        if self.warm_start and self.run_folder is not None:
            raise ConfigError("warm_start starts from the previous fit, run_folder from what it holds: choose one")
        with self._threads():
            return self._fit(X, y, true_labels, X_test, y_test)

    def _fit(self, X: Any, y: Any, true_labels: Any, X_test: Any, y_test: Any) -> Self:
        given = self._table(X, reset=True) if is_table(X) else X
        samples, classes = training_set(given, y, true_labels)
        samples = self._ready(samples)
        _warn_left_out(samples.problems, "training image")
        test = None
        if X_test is not None:
            options = DEFAULTS if self.frozen else reading_at(shape_of(samples), DEFAULTS)
            source = self._table(X_test) if is_table(X_test) else X_test
            source = source if y_test is None else (source, y_test)
            test = self._ready(load(source, "test", class_names=samples.class_names, options=options))
        folder = None if self.run_folder is None else Path(self.run_folder)
        config = self._config(samples)
        trained = train_samples(
            config,
            samples,
            test,
            folder,
            self._runtime(),
            backbone=self.backbone if isinstance(self.backbone, nn.Module) else None,
            start=self._start(samples, classes),
            false_alarm_rate=self.false_alarm_rate,
            calibration=self._calibration(config, samples),
            show_progress=bool(self.verbose),
        )
        self._adopt(trained, classes)
        # Of a set too large for the memory this is known only now.
        found_late = [Problem(samples.ids[index], why) for index, why in unreadable(samples.pixels).items()]
        _warn_left_out(found_late, "training image")
        if folder is not None:
            self._write_own_file(folder)
        return self

    def predict(self, X: Any) -> np.ndarray:
        """Return the most likely known class of every image, ``(N,)``, including foreign ones; see ``is_foreign``."""
        best = self._predict(X).probabilities.argmax(dim=1)
        labels: np.ndarray = self.classes_[best.numpy()]
        return labels

    def predict_proba(self, X: Any) -> np.ndarray:
        """Return the probability of every known class, ``(N, C)``, in the order of ``classes_``."""
        return self._predict(X).probabilities.numpy()

    def score_samples(self, X: Any) -> np.ndarray:
        """Return how foreign every image is, ``(N,)``: **larger = more foreign**.

        This is the convention of the whole package, and the opposite of scikit-learn's outlier detectors.
        """
        return self._predict(X).scores.numpy()

    def is_foreign(self, X: Any) -> np.ndarray:
        """Return whether the score of every image exceeds ``threshold_``, ``(N,)`` bool.

        Raises:
            DataError: there is no threshold because too few training samples are trusted.
        """
        scores = self.score_samples(X)
        if self.threshold_ is None:
            raise DataError(
                f"there is no threshold: too few training samples are trusted for false_alarm_rate="
                f"{self.false_alarm_rate}. Train longer, raise the rate, or compare score_samples with one of your own"
            )
        foreign: np.ndarray = scores > self.threshold_
        return foreign

    def save(self, folder: str | os.PathLike[str]) -> None:
        """Write the trained estimator as a run folder (JSON, CSV and safetensors; no pickle).

        Raises:
            ConfigError: the folder holds something else.
        """
        check_is_fitted(self)
        save_trained(Path(folder), self._trained)
        self._write_own_file(Path(folder))

    def export(self, file: str | os.PathLike[str], *, threshold: float | None = None) -> dict[str, Any]:
        """Export the trained estimator, as ``lond export`` does, and return the description in the file.

        Args:
            file: Path that ends in .onnx, .pt2 or .safetensors.
            threshold: Score above which an image is foreign; ``threshold_`` by default.

        Raises:
            ConfigError: the path has another extension.
            DataError: there is no threshold.
        """
        check_is_fitted(self)
        return export_run(self._trained.run, os.fspath(file), threshold=threshold)

    @classmethod
    def load(cls, folder: str | os.PathLike[str], *, backbone: nn.Module | None = None) -> Self:
        """Load an estimator from the folder of ``save``, or from the ``run_folder`` of a finished ``fit``.

        ``backbone`` is needed, with any weights, if the estimator was trained with your own module.

        Raises:
            DataError: the folder holds no estimator.
        """
        trained = load_trained(Path(folder), backbone)
        if not (Path(folder) / ESTIMATOR).is_file():
            raise DataError(f"{folder} holds a run, but no estimator: read it with lond.load_run")
        content = read_json(Path(folder) / ESTIMATOR)
        estimator = cls(**content["params"] | ({} if backbone is None else {"backbone": backbone}))
        estimator._adopt(trained, class_array(content["classes"]))
        return estimator

    def _runtime(self) -> RuntimeSettings:
        return RuntimeSettings(accelerator=self.device, precision=self.precision, threads=_threads_of(self.n_jobs))

    @contextmanager
    def _threads(self) -> Iterator[None]:
        """Restore the number of PyTorch's threads, which belongs to the caller."""
        before = torch.get_num_threads()
        try:
            yield
        finally:
            if self.n_jobs is not None:
                torch.set_num_threads(before)

    def _table(self, X: Any, *, reset: bool = False) -> np.ndarray:
        """Return features as an array, checked as scikit-learn does, also against those of the fit."""
        given = X.detach().cpu().numpy() if isinstance(X, torch.Tensor) else X
        table: np.ndarray = validate_data(self, given, reset=reset, dtype=FLOATS)
        return table

    def _whole(self) -> bool | None:
        """Return whether the frozen network sees whole pictures: as asked for, else as for the run to resume."""
        if self.whole is not None or self.run_folder is None:
            return self.whole
        return part_seen(Path(self.run_folder))

    def _ready(self, samples: Samples) -> Samples:
        """Return samples to learn from: features of the frozen network if there is one, else decoded images."""
        frozen = frozen_settings(self.frozen, self._whole())
        if self.frozen and is_features(samples.pixels):
            raise ConfigError("X holds features already, which no frozen network can look at: leave out frozen")
        if self.frozen:
            return new_features(samples, frozen, self._runtime())
        return in_memory(samples)

    def _config(self, samples: Samples) -> RunConfig:
        params = {**self.get_params(deep=False), "whole": self._whole()}
        if is_features(samples.pixels):
            return estimator_config_on_features(params, len(samples))
        return estimator_config(params, min(samples.pixels.size))

    def _calibration(self, config: RunConfig, samples: Samples) -> Calibration | None:
        """Return the threshold of a small set by runs on parts of it; None: by the samples that were learned from."""
        if not needs_folds(config, samples, self._runtime()):
            return None

        def train(part: RunConfig, learned: Samples) -> LoadedRun:
            return train_samples(part, learned, runtime_settings=self._runtime(), show_progress=False).run

        rate, show = self.false_alarm_rate, bool(self.verbose)
        return out_of_fold_calibration(config, samples, rate, train, show_progress=show)

    def _start(self, samples: Samples, classes: np.ndarray) -> Mapping[str, torch.Tensor] | None:
        """Return the weights of the previous fit if this one is to start from them."""
        if not self.warm_start or not hasattr(self, "_trained"):
            return None
        before, config = self._trained.run, self._config(samples)
        same = (before.config.method, before.config.net) == (config.method, config.net)
        if not same or before.shape != shape_of(samples) or self.classes_.tolist() != classes.tolist():
            raise DataError(
                "warm_start needs the classes, the shape of the data, the method and the network of the previous fit; "
                "fit a clone of the estimator instead"
            )
        return before.method.state_dict()

    def _adopt(self, trained: Trained, classes: np.ndarray) -> None:
        self._trained, self.classes_ = trained, classes
        if self._on_features():
            self.n_features_in_ = trained.run.shape.size[1]
        partition = trained.run.method.partition
        self.partition_ = None if partition is None else partition.to("cpu")
        self.verdict_table_ = trained.verdicts
        self.verdicts_ = np.array(trained.verdicts["verdict"])
        own = dict(zip(trained.run.shape.class_names, classes.tolist(), strict=True))
        suggestions = [own.get(name) for name in trained.verdicts["suggested_label"]]
        self.suggested_labels_ = np.array(suggestions, dtype=object)
        self.threshold_, self.history_ = trained.run.threshold, trained.result.history
        self.metrics_, self.problems_ = trained.result.metrics, trained.manifest["data"]["train"]["problems"]

    def _on_features(self) -> bool:
        """Tell whether the model was fitted on features that the user brought."""
        config = self._trained.run.config
        return config.net.backbone == "features" and not config.data.frozen.backbone

    def _predict(self, X: Any) -> Prediction:
        check_is_fitted(self)
        run, given = self._trained.run, X
        if self._on_features() and not isinstance(X, str | os.PathLike | Samples):
            given = new_table(self._table(X), run.shape.class_names)
        elif is_table(X):
            shape = (run.shape.channels, *run.shape.size)
            raise DataError(f"X is a table of {np.shape(X)[1]} columns; the model was fitted on images {shape}")
        with self._threads():
            samples = run.read(given, runtime=self._runtime())
            _warn_left_out(samples.problems, "image")
            return run.predict(samples, Runtime(self._runtime()))

    def _write_own_file(self, folder: Path) -> None:
        """Keep the arguments and the classes in the user's own values; the configuration names what is no text."""
        config = self._trained.run.config
        own = {"random_state": config.train.seed, "method": config.method, "backbone": config.net.backbone}
        params = self.get_params(deep=False) | own
        write_json(folder / ESTIMATOR, {"params": plain_values(params), "classes": self.classes_.tolist()})


def _warn_left_out(problems: Sequence[Problem], what: str) -> None:
    """Warn the caller of a public method, three calls up, about images that cannot be used."""
    if problems:
        are = "is" if len(problems) == 1 else "are"
        told = f"{counted(len(problems), what)} {are} left out: {told_problems(problems, FEW)}"
        warnings.warn(told, LeftOutWarning, stacklevel=4)


def _threads_of(n_jobs: int | None) -> int:
    """Return the number of threads for scikit-learn's argument; 0 is PyTorch's default.

    Raises:
        ConfigError: it is 0.
    """
    if n_jobs == 0:
        raise ConfigError("n_jobs is 0, which means nothing: give the number of threads, or -1 for all")
    if n_jobs is None or n_jobs > 0:
        return n_jobs or 0
    return max(1, (os.cpu_count() or 1) + 1 + n_jobs)
