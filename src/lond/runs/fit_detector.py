"""Fit one detector to a run, to call images foreign by it from then on."""

from __future__ import annotations

from lond.data.noise import label_hash
from lond.data.split import take
from lond.detect import ALL_DETECTORS, Detector
from lond.errors import DataError
from lond.presets.changes import with_root
from lond.runs.data import divide, load_data
from lond.runs.detection import NO_TRAINING_DATA, EvidenceReader, check_suits, fit_evidence, names_its_data
from lond.runs.run_detector import NOTHING, OWN, OWN_SCORE, RunDetector
from lond.runs.trained import LoadedRun, Trained
from lond.train.runtime import Runtime, RuntimeSettings
from lond.types import Samples


def check_name(name: str) -> None:
    """Check that there is such a detector, before any work; "own" and "" are the method's own score and no choice.

    Raises:
        ConfigError: there is none.
    """
    if name not in ("", OWN):
        ALL_DETECTORS[name]


def fit_detector(
    run: LoadedRun, name: str | type[Detector], training: Samples, held_out: Samples | None, runtime: Runtime
) -> RunDetector:
    """Return a detector fitted to a run: on clean samples where there is a choice.

    Args:
        run: a trained run.
        name: a detector, or "own" for the method's own score.
        training: the samples that the run was trained on, with their given labels.
        held_out: samples that it was not trained on, if there are any.
        runtime: where to compute.

    Raises:
        ConfigError: the detector is unknown or does not suit the network.
        DataError: it cannot be fitted on these samples.
    """
    if name == OWN:
        return OWN_SCORE
    chosen = ALL_DETECTORS.name_of(name)
    kind, reader = ALL_DETECTORS[chosen], EvidenceReader(run, runtime)
    check_suits(chosen, kind, reader, training)
    if kind.fits_on == "nothing":
        return RunDetector(chosen, NOTHING, {})
    fitted_on, evidence = fit_evidence(reader, training, held_out).of(kind.fits_on)[-1]
    detector = kind(network=reader.network).fit_features(evidence)
    return RunDetector(chosen, fitted_on, {key: value.cpu() for key, value in detector.state.items()})


def fit_on_own_data(
    trained: Trained, name: str, example: Samples, root: str = "", runtime_settings: RuntimeSettings | None = None
) -> RunDetector:
    """Return a detector fitted on the data that a stored run was trained on, which are read again if it needs them.

    ``example`` are any images, to see whether the detector suits the network.

    Raises:
        ConfigError: the detector is unknown or does not suit the network.
        DataError: the data are not there any more, or have other labels.
    """
    if name == OWN:
        return OWN_SCORE
    if ALL_DETECTORS[name].fits_on == "nothing":
        return fit_detector(trained.run, name, example, None, Runtime(runtime_settings))
    training, held_out = training_samples(trained, root, runtime_settings)
    return fit_detector(trained.run, name, training, held_out, Runtime(runtime_settings))


def training_samples(
    trained: Trained, root: str, runtime_settings: RuntimeSettings | None
) -> tuple[Samples, Samples | None]:
    """Return the samples that a run learned from, and the held-out ones if there are any.

    Raises:
        DataError: the run was trained on samples at hand, or its data have changed.
    """
    config = with_root(trained.run.config, root)
    if not names_its_data(trained):
        raise DataError(NO_TRAINING_DATA)
    samples = load_data(config, runtime_settings)[0]
    if label_hash(samples.labels) != trained.manifest["data"]["train"]["labels_sha256"]:
        raise DataError(f"{samples.origin} has changed since the run was trained: its labels are other ones")
    split = divide(config, samples)
    return split.learned_from, take(samples, split.held) if len(split.held) else None
