"""The commands that use a trained run: parsing and printing only."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from lond.cli.runs import RunFolder, chosen_run, describe_threshold
from lond.cli.shared import Accelerator, Threads, out, print_figures, say, starting
from lond.errors import ConfigError, DataError, counted

if TYPE_CHECKING:
    from lond.runs import LoadedRun
    from lond.train.runtime import RuntimeSettings
    from lond.types import Samples

PREDICTIONS = Path("predictions.csv")
"""Where predictions are written unless the user says where."""


def evaluate(
    folder: RunFolder,
    data: Annotated[str, typer.Option(help="Data to evaluate on; default: the run's own test set.")] = "",
    root: Annotated[str, typer.Option(help="Folder with the benchmark's files.")] = "",
    save: Annotated[Path | None, typer.Option("--out", help="JSON file for the metrics.")] = None,
    accelerator: Accelerator = "auto",
    threads: Threads = 0,
) -> None:
    """Print accuracy, AUROC and FPR95 of a trained run on labelled images; unknown classes count as foreign."""
    from lond.evaluate import evaluate_predictions
    from lond.io.json_files import write_json
    from lond.runs import load_run
    from lond.train.runtime import Runtime, RuntimeSettings

    _make_room(save)
    runtime = RuntimeSettings(accelerator, threads=threads)
    folder = chosen_run(folder)
    run = load_run(folder)
    samples = run.read(data, runtime=runtime) if data else _own_test_set(run, root, runtime)
    figures = evaluate_predictions(run.predict(samples, Runtime(runtime)), samples.labels)
    if not figures:
        raise DataError(f"{samples.origin} has no labelled images to evaluate on")
    print_figures(f"{run.config.method} on {len(samples)} images of {samples.origin}", figures)
    out.print(f"foreign score: {run.detector}", markup=False, soft_wrap=True)
    if not run.finished:
        out.print("note: the run is not finished; run its lond train command again to resume")
    if save:
        about = {"run": str(folder), "data": samples.origin, "images": len(samples), "detector": run.detector.name}
        write_json(save, {**about, "metrics": figures})


def predict(
    folder: RunFolder,
    sources: Annotated[list[str], typer.Argument(help="Image folder, table or .npz file; or one or more images.")],
    save: Annotated[
        Path | None,
        typer.Option(
            "--out", help=f"CSV file to write, also over earlier predictions; default: {PREDICTIONS}, if it is new."
        ),
    ] = None,
    threshold: Annotated[
        float | None,
        typer.Option(
            help="Score above which an image is foreign; default: the run's own, for 5 % false alarms unless it was "
            "trained or calibrated with another rate."
        ),
    ] = None,
    accelerator: Accelerator = "auto",
    threads: Threads = 0,
) -> None:
    """Write the class, probability, foreign score and verdict (known or foreign) of every image to a CSV file.

    An image is foreign if its score exceeds the threshold, which is printed and stands beside the score.
    """
    starting("predict")
    from lond.runs import load_run
    from lond.runs.image_tables import prediction_rows
    from lond.train.runtime import Runtime, RuntimeSettings

    runtime = RuntimeSettings(accelerator, threads=threads)
    source = _one_source(sources)
    run = load_run(chosen_run(folder))
    save = _place_of_predictions(save)
    is_replaced = save.is_file() and save.stat().st_size > 0
    samples = run.read(source, ignore_classes=True, runtime=runtime)
    table = prediction_rows(run, samples, run.predict(samples, Runtime(runtime)), threshold)
    table.write(save)
    foreign = sum(row["verdict"] == "foreign" for row in table.rows)
    unread = sum(row["verdict"] == "unreadable" for row in table.rows)
    before = ", in place of the predictions there" if is_replaced else ""
    counts = f"{counted(len(table.rows), 'image')}: {foreign} foreign, {unread} unreadable"
    out.print(f"{counts}; written to {save}{before}", markup=False, soft_wrap=True)
    say(describe_threshold(run, threshold))
    say(f"foreign_score: {run.detector}; it has a scale of its own, and is a probability in audit.csv only")


def calibrate(
    folder: RunFolder,
    known: Annotated[str, typer.Option(help="Checked images of known classes that were not used for training.")],
    rate: Annotated[
        float | None, typer.Option(help="Share of known images that may be called foreign; default: 0.05.")
    ] = None,
    detector: Annotated[
        str,
        typer.Option(help="Detector to use from now on, e.g. knn; own = the method's own score."),
    ] = "",
    root: Annotated[str, typer.Option(help="Folder with the benchmark's files, to fit the detector.")] = "",
    accelerator: Accelerator = "auto",
    threads: Threads = 0,
) -> None:
    """Set the run's threshold, p-values and temperature from checked images; `lond predict` uses them."""
    from lond.data.squares import unreadable
    from lond.runs import FALSE_ALARM_RATE, save_calibration
    from lond.runs import calibrate as calibrate_run
    from lond.runs.fit_detector import check_name, fit_on_own_data
    from lond.runs.trained import load_trained
    from lond.train.runtime import Runtime, RuntimeSettings
    from lond.types import FOREIGN

    rate = FALSE_ALARM_RATE if rate is None else rate
    runtime = RuntimeSettings(accelerator, threads=threads)
    check_name(detector)
    folder = chosen_run(folder)
    trained = load_trained(folder)
    run = trained.run
    samples = run.read(known, runtime=runtime)
    used = fit_on_own_data(trained, detector, samples, root, runtime) if detector else run.detector
    prediction, labels = run.predict(samples, Runtime(runtime), used), samples.labels.clone()
    # What could not be read was predicted as a grey image, which is none of the known ones.
    labels[list(unreadable(samples.pixels))] = FOREIGN
    calibration = calibrate_run(prediction, labels, rate, samples.origin, used)
    save_calibration(folder, calibration)
    out.print(
        f"threshold {calibration.threshold:.4g} from {len(calibration.known_scores)} known images, "
        f"false alarms {rate:.1%}"
    )
    out.print(f"foreign score: {used}", markup=False, soft_wrap=True)
    if calibration.ece_before is not None and calibration.ece_after is not None:
        change = f"{100 * calibration.ece_before:.2f} % -> {100 * calibration.ece_after:.2f} %"
        out.print(f"temperature {calibration.temperature:.3f}, calibration error (ECE) {change}")


def _one_source(sources: list[str]) -> str | list[str]:
    """Return what images are read from: a folder or file of many, or a list of image files.

    Raises:
        ConfigError: several are named, and not all are image files.
        DataError: one of them is not there.
    """
    from lond.data.images import IMAGE_SUFFIXES

    missing = [name for name in sources if not Path(name).exists()]
    if missing:
        raise DataError(f"there is no file or folder {missing[0]}; check its name, and the folder that you are in")

    others = [name for name in sources if Path(name).suffix.lower() not in IMAGE_SUFFIXES or Path(name).is_dir()]
    if not others:
        return sources
    if len(sources) > 1:
        raise ConfigError(f"{others[0]} is not an image file; give one folder, one table, or image files only")
    return sources[0]


def _own_test_set(run: LoadedRun, root: str, runtime: RuntimeSettings) -> Samples:
    from lond.presets.changes import with_root
    from lond.runs.data import load_data

    test = load_data(with_root(run.config, root), runtime)[1]
    if test is None:
        raise DataError("the run was trained without test data; name some with --data")
    # The folder may have gained classes since: the run's own count.
    return run.read(test, runtime=runtime)


def _place_of_predictions(save: Path | None) -> Path:
    """Return where predictions are written; only a file that is named is replaced, and only one of predictions.

    Raises:
        ConfigError: the file must not be replaced.
    """
    from lond.runs.image_tables import is_predictions

    place = save or PREDICTIONS
    if place.is_file() and save is None:
        raise ConfigError(f"{place} exists; name another file with --out, or replace this one with --out {place}")
    if place.is_file() and not is_predictions(place):
        raise ConfigError(f"{place} exists and holds no predictions; name another file with --out, or remove it")
    _make_room(place)
    return place


def _make_room(file: Path | None) -> None:
    """Make the folder of a file to be written, before the work is done that would be lost without it."""
    if file is not None:
        if file.is_dir():
            raise ConfigError(f"--out {file} is a folder; name a file")
        file.parent.mkdir(parents=True, exist_ok=True)
