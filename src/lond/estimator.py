"""The whole package as one scikit-learn estimator; it holds no maths of its own."""
# ruff: noqa: N803 - scikit-learn's X

from __future__ import annotations

import os
import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.validation import check_is_fitted
from torch import nn

from lond.data.options import DEFAULTS
from lond.data.sources import load
from lond.errors import ConfigError, DataError
from lond.estimator_input import class_array, training_set
from lond.io.json_files import read_json, write_json
from lond.methods import Method
from lond.nets.backbones import Builder
from lond.presets.for_estimator import estimator_config, plain_values
from lond.runs import Trained, load_trained, save_trained, train_samples
from lond.runs.data import in_memory, reading_at, shape_of
from lond.train.runtime import Runtime, RuntimeSettings
from lond.types import Prediction

ESTIMATOR = "estimator.json"


class LondClassifier(ClassifierMixin, BaseEstimator):  # type: ignore[misc]  # scikit-learn is untyped
    """Image classifier that learns from unreliable labels, judges them, and knows what is foreign.

    >>> images, labels = np.random.default_rng(0).integers(0, 256, (40, 8, 8), dtype="uint8"), ["cat", "dog"] * 20
    >>> model = LondClassifier("standard", width=0.1, epochs=1, batch_size=8).fit(images, labels)
    >>> model.predict_proba(images).shape, model.score_samples(images).shape
    ((40, 2), (40,))

    Args:
        method: Name of a method, which ``lond list`` shows, or your own class.
        backbone: "seven-layer", "efficientnet-lite0", "timm:<model>", your own module (copied before training) or
            a function of a ``lond.nets.BackboneSpec`` that returns one.
        width: Factor on the channels of the seven-layer CNN.
        epochs: Epochs in all.
        warmup_epochs: Epochs before the first label is judged; None is a fifth of all.
        batch_size: Images a step and stream.
        learning_rate: Rate during the warm-up; it falls afterwards.
        padding: Border in pixels that random crops may show; None is an eighth of the image side.
        flip: Whether mirrored images keep their class (not so for digits and letters).
        strong: Strong augmentation: "autoaugment", "randaugment", "augmix" or "geometric".
        settings: Further settings of the method, nested, e.g. ``{"identify": {"neighbours": 50}}``.
        false_alarm_rate: Share of known images that ``is_foreign`` may call foreign.
        random_state: Seed; None draws one.
        device: "auto", "cpu", "gpu" or "mps".
        precision: "32-true", "bf16-mixed" or "16-mixed".
        run_folder: Folder that keeps a checkpoint of every epoch; ``fit`` resumes the run that it holds.
        verbose: Show a progress bar.

    Attributes:
        classes_: The known classes, as the user wrote them, in the order of ``predict_proba``.
        partition_: Clean, mislabelled and foreign training samples; None if the method does not judge labels.
        verdicts_: "clean", "mislabelled", "foreign", "unlabelled" or "unreadable" for every training sample.
        suggested_labels_: The predicted class of every training sample; None for foreign and unreadable ones.
        verdict_table_: The same with ids, weights, margins and scores: column name -> one text per sample.
        threshold_: The score above which an image is foreign; None where too few samples are trusted.
        history_: The record of every epoch.
        metrics_: Means of its figures over the last epochs.
        problems_: Training images that could not be read, each with its reason.
    """

    def __init__(
        self,
        method: str | type[Method] = "lond-drs",
        backbone: str | nn.Module | Builder = "seven-layer",
        *,
        width: float = 1.0,
        epochs: int = 100,
        warmup_epochs: int | None = None,
        batch_size: int = 128,
        learning_rate: float = 0.05,
        padding: int | None = None,
        flip: bool = True,
        strong: str = "autoaugment",
        settings: Mapping[str, Any] | None = None,
        false_alarm_rate: float = 0.05,
        random_state: int | np.random.RandomState | None = 0,
        device: str = "auto",
        precision: str = "32-true",
        run_folder: str | os.PathLike[str] | None = None,
        verbose: bool = False,
    ) -> None:
        self.method, self.backbone, self.width = method, backbone, width
        self.epochs, self.warmup_epochs, self.batch_size = epochs, warmup_epochs, batch_size
        self.learning_rate, self.padding, self.flip, self.strong = learning_rate, padding, flip, strong
        self.settings, self.false_alarm_rate, self.random_state = settings, false_alarm_rate, random_state
        self.device, self.precision, self.run_folder, self.verbose = device, precision, run_folder, verbose

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
            X: Images ``(N, H, W[, C])`` or ``(N, C, H, W)``, uint8 or floats in [0, 1]; or, without ``y``, whatever
                ``lond.data.sources.load`` takes: a folder, a table, an .npz file, a torch dataset.
            y: ``(N,)`` names or whole numbers; None and NaN are missing labels.
            true_labels: ``(N,)`` true labels, where known, for the quality of the verdicts in ``history_``.
            X_test: Images for the accuracy in ``history_``; they never influence the training.
            y_test: Their true labels; other classes than those of ``y`` are foreign.

        Raises:
            ConfigError: an argument of the constructor is unusable, or ``run_folder`` holds another run.
            DataError: the images or labels are unusable.
        """
        if not 0 < self.false_alarm_rate < 1:
            raise ConfigError(f"false_alarm_rate is {self.false_alarm_rate}; it must lie between 0 and 1")
        samples, classes = training_set(X, y, true_labels)
        test, options = None, reading_at(shape_of(samples), DEFAULTS)
        if X_test is not None:
            source = X_test if y_test is None else (X_test, y_test)
            test = in_memory(load(source, "test", class_names=samples.class_names, options=options))
        folder = None if self.run_folder is None else Path(self.run_folder)
        config = estimator_config(self.get_params(deep=False), min(samples.pixels.size))
        trained = train_samples(
            config,
            samples,
            test,
            folder,
            self._runtime(),
            backbone=self.backbone if isinstance(self.backbone, nn.Module) else None,
            false_alarm_rate=self.false_alarm_rate,
            show_progress=self.verbose,
        )
        self._adopt(trained, classes)
        if folder is not None:
            self._write_own_file(folder)
        return self

    def predict(self, X: Any) -> np.ndarray:
        """Return the most likely known class of every image, ``(N,)``, also of foreign ones; see ``is_foreign``."""
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
        """Tell of every image whether its score exceeds ``threshold_``, ``(N,)`` bool.

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

    @classmethod
    def load(cls, folder: str | os.PathLike[str], *, backbone: nn.Module | None = None) -> Self:
        """Read what ``save`` wrote, or the ``run_folder`` of a finished ``fit``.

        ``backbone`` is needed, with any weights, if the estimator was trained with your own module.

        Raises:
            DataError: the folder holds no such estimator.
        """
        trained = load_trained(Path(folder), backbone)
        if not (Path(folder) / ESTIMATOR).is_file():
            raise DataError(f"{folder} holds a run, but no estimator: read it with lond.load_run")
        content = read_json(Path(folder) / ESTIMATOR)
        estimator = cls(**content["params"] | ({} if backbone is None else {"backbone": backbone}))
        estimator._adopt(trained, class_array(content["classes"]))
        return estimator

    def _runtime(self) -> RuntimeSettings:
        return RuntimeSettings(accelerator=self.device, precision=self.precision)

    def _adopt(self, trained: Trained, classes: np.ndarray) -> None:
        self._trained, self.classes_ = trained, classes
        partition = trained.run.method.partition
        self.partition_ = None if partition is None else partition.to("cpu")
        self.verdict_table_ = trained.verdicts
        self.verdicts_ = np.array(trained.verdicts["verdict"])
        own = dict(zip(trained.run.shape.class_names, classes.tolist(), strict=True))
        suggestions = [own.get(name) for name in trained.verdicts["suggested_label"]]
        self.suggested_labels_ = np.array(suggestions, dtype=object)
        self.threshold_, self.history_ = trained.run.threshold, trained.result.history
        self.metrics_, self.problems_ = trained.result.metrics, trained.manifest["data"]["train"]["problems"]

    def _predict(self, X: Any) -> Prediction:
        check_is_fitted(self)
        run = self._trained.run
        samples = run.read(X, runtime=self._runtime())
        if samples.problems:
            first = f"{samples.problems[0].id}: {samples.problems[0].reason}"
            warnings.warn(f"{len(samples.problems)} images are left out; the first is {first}", stacklevel=3)
        return run.predict(samples, Runtime(self._runtime()))

    def _write_own_file(self, folder: Path) -> None:
        """Keep the arguments and the classes in the user's own values; the configuration names what is no text."""
        config = self._trained.run.config
        own = {"random_state": config.train.seed, "method": config.method, "backbone": config.net.backbone}
        params = self.get_params(deep=False) | own
        write_json(folder / ESTIMATOR, {"params": plain_values(params), "classes": self.classes_.tolist()})
