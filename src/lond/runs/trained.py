"""A trained run: read from its folder, written to one, asked for predictions."""

from __future__ import annotations

from dataclasses import asdict, dataclass, fields, replace
from pathlib import Path
from typing import Any

import torch
from torch import nn

from lond.config import RunConfig, to_dict
from lond.data.batches import ordered_views
from lond.data.sources import load
from lond.data.views import Views
from lond.errors import DamagedFileError, DataError
from lond.io.json_files import read_sealed_json, write_json, write_sealed_json
from lond.methods import Method
from lond.presets.changes import without_weights
from lond.runs.audit_model import run_folder
from lond.runs.build import build
from lond.runs.calibration import CALIBRATION, Calibration, load_calibration, save_calibration
from lond.runs.data import Shape, check_fits, in_memory, new_features, reading_at
from lond.runs.folder import (
    CONFIG,
    MANIFEST,
    METRICS,
    VERDICTS,
    claim,
    folder_config,
    read_manifest,
    run_identity,
)
from lond.runs.image_tables import VerdictColumns, read_verdicts, write_verdicts
from lond.runs.run_detector import OWN_SCORE, RunDetector, score_images
from lond.train.checkpoint import SavedState, read_state, same_state
from lond.train.loop import Result
from lond.train.runtime import Runtime, RuntimeSettings
from lond.train.state import CHECKPOINT, HOLDS, NEEDED, PREVIOUS, check_identity, save_checkpoint
from lond.types import Prediction, Samples


@dataclass(frozen=True)
class LoadedRun:
    """Trained run, ready to predict.

    Examples:
        >>> from lond import preset, train_run
        >>> from lond.config import with_overrides
        >>> short = {"train.epochs": "1", "train.max_steps": "2", "net.width": "0.125"}
        >>> _ = train_run(with_overrides(preset("digits", "standard"), short), "run", show_progress=False)
        >>> run = load_run("run")
        >>> run.shape.class_names, run.finished
        (('0', '1', '2', '3', '4', '5', '6', '7'), True)
    """

    config: RunConfig
    shape: Shape
    method: Method
    views: Views
    calibration: Calibration | None
    finished: bool = True

    @property
    def threshold(self) -> float | None:
        """The score above which an image is foreign."""
        return None if self.calibration is None else self.calibration.threshold

    def read(
        self,
        source: object,
        split: str = "test",
        *,
        ignore_classes: bool = False,
        runtime: RuntimeSettings | None = None,
    ) -> Samples:
        """Load images at the run's size; labels are mapped onto its classes, or not read with ``ignore_classes``.

        For a run on features of a frozen network the images are turned into such features, where ``runtime`` says.
        """
        data = self.config.data
        options = data.read if data.frozen.backbone else reading_at(self.shape, data.read)
        options = replace(options, ignore_classes=ignore_classes)
        samples = load(source, split, class_names=self.shape.class_names, options=options)
        samples = new_features(samples, data.frozen, runtime) if data.frozen.backbone else in_memory(samples)
        check_fits(samples, self.shape)
        return samples

    @property
    def detector(self) -> RunDetector:
        """What gives the score that images are called foreign by."""
        return OWN_SCORE if self.calibration is None else self.calibration.detector

    @torch.no_grad()
    def predict(
        self, samples: Samples, runtime: Runtime | None = None, detector: RunDetector | None = None
    ) -> Prediction:
        """Return what the run says about every sample, on the CPU; labels play no part.

        The scores are those of ``detector``, the run's own one if None.
        """
        runtime = runtime or Runtime()
        self.method.to(runtime.device, memory_format=torch.channels_last).eval()  # type: ignore[call-overload]
        fitted = (detector or self.detector).on(self.method.network)
        batch_size, parts = self.config.train.evaluation_batch, []
        for images in ordered_views(samples.pixels, self.views, batch_size, runtime.device):
            with runtime.autocast():
                said = self.method.predict(images)
            parts.append(said if fitted is None else replace(said, scores=score_images(fitted, images)))
        if not parts:
            raise DataError(f"{samples.origin} holds no images")
        names = [field.name for field in fields(Prediction)]
        return Prediction(*(torch.cat([getattr(part, name).float().cpu() for part in parts]) for name in names))


@dataclass(frozen=True)
class Trained:
    """Run with the full content of its folder: manifest, checkpoint state, outcome, and verdicts (empty if none).

    Examples:
        >>> from lond import preset, train_run
        >>> from lond.config import with_overrides
        >>> short = {"train.epochs": "1", "train.max_steps": "2", "net.width": "0.125"}
        >>> _ = train_run(with_overrides(preset("digits", "standard"), short), "run", show_progress=False)
        >>> load_trained(Path("run")).run.config.method
        'standard'
    """

    run: LoadedRun
    manifest: dict[str, Any]
    state: dict[str, Any]
    outcome: dict[str, Any]
    verdicts: VerdictColumns

    @property
    def result(self) -> Result:
        """Means over the last epochs, and the record of every epoch."""
        return Result(self.outcome["metrics"], self.state["history"])


def load_run(folder: Path | str) -> LoadedRun:
    """Read a run folder; the folder of an audit stands for its newest model.

    Examples:
        >>> load_run("nowhere")
        Traceback (most recent call last):
        ...
        lond.errors.DataError: there is no run folder nowhere. ...

    Raises:
        DataError: the folder holds no trained run.
    """
    return load_trained(run_folder(Path(folder))).run


def load_trained(folder: Path, backbone: nn.Module | None = None) -> Trained:
    """Read a run folder with its full content; ``backbone`` as for ``build``.

    Raises:
        ConfigError: its method or backbone is of a package that is not installed, or was not registered.
        DataError: the folder holds no trained run, or a damaged one.

    Examples:
        >>> from lond import preset, train_run
        >>> from lond.config import with_overrides
        >>> short = {"train.epochs": "1", "train.max_steps": "2", "net.width": "0.125"}
        >>> _ = train_run(with_overrides(preset("digits", "standard"), short), "run", show_progress=False)
        >>> load_trained(Path("run")).run.finished
        True
    """
    if not folder.exists():
        raise DataError(f"there is no run folder {folder}. Train one with: lond train SOURCE --out {folder}")
    if folder.is_file():
        raise DataError(f"{folder} is a file; give the folder of a run or an audit (exported files run without lond)")
    for name in (CONFIG, MANIFEST, CHECKPOINT):
        if not (folder / name).is_file():
            # What lies in a folder must not be mixed with a run.
            raise DataError(
                f"{folder} is not a trained run: it has no {name}. Train one with: lond train SOURCE --out RUN"
            )
    config = folder_config(folder, own_backbone=backbone is not None)
    manifest = read_manifest(folder)
    shape = Shape(tuple(manifest["class_names"]), manifest["channels"], tuple(manifest["size"]))
    saved = _checkpoint_of(folder)
    check_identity(folder / CHECKPOINT, saved.identity, run_identity(config, manifest))
    state = saved.state
    # The weights come from the checkpoint: pretrained ones need not be at hand any more.
    method, views = build(without_weights(config), shape, torch.empty(0, dtype=torch.long), backbone)
    try:
        method.load_state_dict(state["method"])
        method.load_extra_state(state["extra"])
    except (RuntimeError, LookupError, TypeError, ValueError, AttributeError) as error:
        text = " ".join(str(error).split())[:300]
        raise DataError(f"the checkpoint of {folder} does not fit its network: {text}") from error
    outcome = _outcome(folder / METRICS) if (folder / METRICS).is_file() else {}
    verdicts = _verdicts(folder / VERDICTS, manifest) if (folder / VERDICTS).is_file() else {}
    run = LoadedRun(config, shape, method, views, load_calibration(folder), finished=(folder / METRICS).is_file())
    return Trained(run, manifest, state, outcome, verdicts)


def _outcome(path: Path) -> dict[str, Any]:
    try:
        outcome = read_sealed_json(path)
    except DamagedFileError as error:
        raise DamagedFileError(f"{error}; delete it and start the lond train command of the run again") from error
    if not isinstance(outcome.get("metrics"), dict):
        raise DataError(f"{path} is damaged (metrics); delete it and start the lond train command of the run again")
    return outcome


def _verdicts(path: Path, manifest: dict[str, Any]) -> VerdictColumns:
    """Read the verdicts; people may edit them, but a row for every training image there must be."""
    verdicts, images = read_verdicts(path), manifest["data"].get("train", {}).get("images")
    if images is not None and len(verdicts.get("id", ())) != images:
        raise DataError(
            f"{path} is damaged ({len(verdicts.get('id', ()))} rows for {images} images); "
            "delete it and metrics.json, and start the lond train command of the run again"
        )
    return verdicts


def _checkpoint_of(folder: Path) -> SavedState:
    """Read the newest checkpoint; an older one would speak of other weights than the rest of the folder."""
    try:
        return read_state(folder / CHECKPOINT, holds=HOLDS, needed=NEEDED)
    except DamagedFileError as error:
        before = "resumes from the checkpoint before it" if (folder / PREVIOUS).is_file() else "needs it deleted first"
        raise DamagedFileError(f"{error}; the lond train command of the run mends it and {before}") from error


def save_trained(folder: Path, trained: Trained) -> None:
    """Write a run folder.

    Raises:
        ConfigError: the folder holds something else.

    Examples:
        >>> from lond import preset, train_run
        >>> from lond.config import with_overrides
        >>> short = {"train.epochs": "1", "train.max_steps": "2", "net.width": "0.125"}
        >>> _ = train_run(with_overrides(preset("digits", "standard"), short), "run", show_progress=False)
        >>> save_trained(Path("copy"), load_trained(Path("run")))
        >>> load_run("copy").finished
        True
    """
    claim(folder, trained.run.config)
    write_json(folder / CONFIG, to_dict(trained.run.config))
    write_json(folder / MANIFEST, trained.manifest)
    save_checkpoint(folder, trained.state, run_identity(trained.run.config, trained.manifest))
    write_outcome(folder, trained)


def write_outcome(folder: Path, trained: Trained) -> None:
    """Write the metrics with the calibration threshold, and a verdict on every training sample."""
    calibration, stored = trained.run.calibration, load_calibration(folder)
    if calibration is None:
        (folder / CALIBRATION).unlink(missing_ok=True)
    elif stored is None or not same_state(asdict(stored), asdict(calibration)):
        save_calibration(folder, calibration)
    if trained.verdicts:
        write_verdicts(folder / VERDICTS, trained.verdicts)
    # Last: a run with metrics is finished.
    write_sealed_json(folder / METRICS, trained.outcome)
