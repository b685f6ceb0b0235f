"""All detectors on one trained run: the evidence is extracted once, every detector fitted, scored and timed."""

from __future__ import annotations

import math
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import torch
from torch import Tensor

from lond.data.batches import ordered_views
from lond.data.noise import label_hash
from lond.data.split import take
from lond.detect import ALL_DETECTORS, Detector, Evidence, NoNetworkError, trusted_only
from lond.detect.base import FitsOn
from lond.detect.evidence import joined
from lond.errors import ConfigError, DataError
from lond.evaluate.predictions import RANKINGS
from lond.io.json_files import write_json
from lond.plots import import_pyplot
from lond.presets.changes import with_root
from lond.runs.data import divide, load_data
from lond.runs.detection_figures import draw_histograms, draw_roc
from lond.runs.run_detector import NOTHING, OWN, OWN_SCORE, to_cpu
from lond.runs.trained import LoadedRun, Trained, load_trained
from lond.train.runtime import Runtime, RuntimeSettings
from lond.types import FOREIGN, UNLABELLED, Samples

ALL, CLEAN, HELD_OUT = "all", "clean", "held-out"
"""What a detector was fitted on, besides nothing."""

LACKS = {
    "maps": "access to the maps of its last two blocks",
    "embeddings": "projections",
    "class_scores": "prototypes",
}
"""What a detector may need of a network -> what one lacks that does not give it."""


@dataclass(frozen=True)
class DetectorResult:
    """One detector: its figures on known against foreign images, its scores ``(N,)``, and its time to fit and score.

    A detector that could not be fitted has a ``problem``, NaN for every figure, and no scores.
    """

    name: str
    fitted_on: str
    figures: dict[str, float]
    seconds: float
    scores: Tensor
    problem: str = ""
    used: bool = False
    """Whether ``lond predict`` calls images foreign by this score."""


@dataclass(frozen=True)
class FitEvidence:
    """What detectors may be fitted on: of all training samples, of the clean ones, of held-out ones if there are any.

    ``judged`` says whether the method judged which samples are clean.
    """

    everything: Evidence
    clean: Evidence
    held_out: Evidence | None
    judged: bool

    def of(self, fits_on: FitsOn) -> list[tuple[str, Evidence]]:
        """Return what a detector is fitted on, once or twice, each with its name.

        A temperature fitted on samples that were chosen because the model is right about them would be zero, so without
        a partition the detectors that want a validation set take all samples.
        """
        if fits_on == "training":
            return [(ALL, self.everything), (CLEAN, self.clean)]
        if fits_on == "held-out" and self.held_out is not None:
            return [(HELD_OUT, self.held_out)]
        if fits_on == "nothing":
            return [(NOTHING, self.everything)]
        return [(CLEAN, self.clean) if self.judged else (ALL, self.everything)]


def mixed_test_set(known: Samples, foreign: Samples) -> tuple[list[Samples], Tensor]:
    """Return two sets as one test: all images of the first count as known, all of the second as foreign."""
    marks = torch.cat([torch.zeros(len(known), dtype=torch.bool), torch.ones(len(foreign), dtype=torch.bool)])
    return [known, foreign], marks


def own_test_set(test: Samples) -> tuple[list[Samples], Tensor]:
    """Return a test set that holds both kinds, without its unlabelled images.

    Raises:
        DataError: it holds one kind only.
    """
    judged = test.labels != UNLABELLED
    test = test if judged.all() else take(test, judged.nonzero().squeeze(1))
    marks = test.labels == FOREIGN
    if not marks.any() or marks.all():
        raise DataError(f"{test.origin} does not hold both known and foreign images; give --known and --foreign")
    return [test], marks


class EvidenceReader:
    """Runs a trained network over sample sets."""

    def __init__(self, run: LoadedRun, runtime: Runtime | None = None) -> None:
        """Put the network on the device."""
        self.run, self.runtime = run, runtime or Runtime()
        run.method.to(self.runtime.device, memory_format=torch.channels_last).eval()  # type: ignore[call-overload]
        self.network = run.method.network()

    def batches(self, samples: Samples) -> Iterator[Tensor]:
        """Yield the test views, in order."""
        size = self.run.config.train.evaluation_batch
        yield from ordered_views(samples.pixels, self.run.views, size, self.runtime.device)

    @torch.no_grad()
    def evidence(self, samples: Samples) -> Evidence:
        """Return the evidence of all samples, with their given labels, on the CPU.

        Raises:
            DataError: there are no samples.
        """
        if not len(samples):
            raise DataError(f"{samples.origin} holds no images")
        parts, labels = [], samples.labels.split(self.run.config.train.evaluation_batch)
        for images, part_labels in zip(self.batches(samples), labels, strict=True):
            parts.append((to_cpu(self.network.evidence(images)), part_labels))
        return joined(parts)

    @torch.no_grad()
    def gives_maps(self, samples: Samples) -> bool:
        """Tell whether the network can be opened before its last blocks."""
        try:
            self.network.evidence(next(self.batches(samples))[:1], maps=True)
        except NoNetworkError:
            return False
        return True

    @torch.no_grad()
    def lacks(self, samples: Samples) -> set[str]:
        """Return which parts of the evidence the network does not give, by the first of some samples."""
        one = self.network.evidence(next(self.batches(samples))[:1])
        lacking = {part for part in LACKS if part != "maps" and getattr(one, part) is None}
        return lacking if self.gives_maps(samples) else lacking | {"maps"}

    @torch.no_grad()
    def scores(self, detector: Detector, sets: list[Samples]) -> Tensor:
        """Return the scores of a detector that must see the images (its maps are too large to keep)."""
        found = [detector.score(images).cpu() for samples in sets for images in self.batches(samples)]
        return torch.cat(found)


def detect_run(
    folder: Path,
    known: str,
    foreign: str,
    root: str,
    names: Sequence[str | type[Detector]] | None,
    target: Path,
    runtime_settings: RuntimeSettings | None = None,
) -> list[DetectorResult]:
    """Compare detectors on a run folder and write ``detectors.json``, histograms and ROC curves to ``target``.

    Args:
        folder: a run folder.
        known: source of known images; empty for the run's own test set.
        foreign: source of foreign images; empty likewise.
        root: where a benchmark's files are now; empty for where they were.
        names: detectors, by name or class; all that suit the network if None.
        target: a folder, made if there is none.
        runtime_settings: where to compute; PyTorch's choice if left out.

    Raises:
        ConfigError: a detector does not suit the network.
        DataError: the test images are not of both kinds, or the training labels have changed since.
        MissingDependencyError: matplotlib is not installed.
    """
    import_pyplot()
    trained = load_trained(folder)
    run = trained.run
    config = with_root(run.config, root)
    training, test, held_out = None, None, None
    if names_its_data(trained):
        samples, test, _ = load_data(config, runtime_settings)
        if label_hash(samples.labels) != trained.manifest["data"]["train"]["labels_sha256"]:
            raise DataError(f"{samples.origin} has changed since the run was trained: its labels are other ones")
        split = divide(config, samples)
        training, held_out = split.learned_from, take(samples, split.held) if len(split.held) else None
    if known:
        sets, marks = mixed_test_set(*(run.read(source, runtime=runtime_settings) for source in (known, foreign)))
    elif test is not None:
        sets, marks = own_test_set(run.read(test))
    else:
        raise DataError("the run was trained without test data; give --known and --foreign")
    target.mkdir(parents=True, exist_ok=True)
    runtime = Runtime(runtime_settings)
    chosen = None if names is None else [name for name in names if name != OWN]
    results = [] if chosen == [] else compare_detectors(run, training, sets, marks, chosen, runtime, held_out)
    own = own_result(run, sets, marks, runtime)
    shown = [own, *results] if names is None or OWN in names or own.used else results
    content = {
        "run": folder.name,
        "method": config.method,
        "test": [{"origin": part.origin, "images": len(part)} for part in sets],
        "known": int((~marks).sum()),
        "foreign": int(marks.sum()),
        "detectors": [
            {"name": r.name, "fitted_on": r.fitted_on, **r.figures, "seconds": r.seconds, "problem": r.problem}
            for r in results
        ],
        "own_score": {**own.figures, "seconds": own.seconds},
        "used_by_predict": {"name": run.detector.name, "fitted_on": run.detector.fitted_on},
    }
    origins = {result.name: ALL_DETECTORS.origin(result.name) for result in results}
    if any(origins.values()):
        content["outside"] = {name: origin for name, origin in origins.items() if origin}
    write_json(target / "detectors.json", content)
    drawn = [result for result in shown if not result.problem]
    if drawn:
        draw_histograms(drawn, marks, target / "histograms")
        draw_roc(drawn, marks, target / "roc")
    return shown


def own_result(run: LoadedRun, sets: list[Samples], foreign: Tensor, runtime: Runtime) -> DetectorResult:
    """Return how well the method's own score tells foreign images ``(N,)`` of some sets from known ones."""
    started = time.perf_counter()
    scores = torch.cat([run.predict(samples, runtime, OWN_SCORE).scores for samples in sets])
    seconds = time.perf_counter() - started
    figures = {figure: compute(scores, foreign) for figure, compute in RANKINGS.items()}
    return DetectorResult(OWN, NOTHING, figures, seconds, scores, used=run.detector.name == OWN)


def compare_detectors(
    run: LoadedRun,
    training: Samples | None,
    sets: list[Samples],
    foreign: Tensor,
    names: Sequence[str | type[Detector]] | None = None,
    runtime: Runtime | None = None,
    held_out: Samples | None = None,
) -> list[DetectorResult]:
    """Fit, score and time detectors.

    Args:
        run: a trained run.
        training: the samples it was trained on (without held-out ones), with their given labels; None if they are not
            known, as of the model of an audit: only detectors without a fit are compared then.
        sets: test images.
        foreign: which of them, in order, are foreign.
        names: detectors, by name or class; all that suit the network if None.
        runtime: where to compute.
        held_out: samples with given labels that it was not trained on; None if there are none.

    Raises:
        ConfigError: one of the named detectors is unknown or does not suit the network.
        DataError: one of them must be fitted, and the training samples are not known.
    """
    extractor = EvidenceReader(run, runtime)
    fits = None if training is None else fit_evidence(extractor, training, held_out)
    test = _joined_sets([extractor.evidence(samples) for samples in sets])
    lacking = extractor.lacks(sets[0] if training is None else training)
    chosen = {name: ALL_DETECTORS[name] for name in map(ALL_DETECTORS.name_of, names or ALL_DETECTORS)}
    if fits is None:
        chosen = _without_a_fit(chosen, strict=bool(names))
    results = []
    for name, kind in _suitable(chosen, lacking, strict=bool(names)).items():
        for fitted_on, evidence in [(NOTHING, test)] if fits is None else fits.of(kind.fits_on):
            started = time.perf_counter()
            scores, problem = torch.empty(0), ""
            try:
                detector = kind(network=extractor.network).fit_features(evidence)
                scores = extractor.scores(detector, sets) if "maps" in kind.needs else detector.score_features(test)
                scores = scores.cpu()
            except DataError as error:
                problem = str(error)
            seconds = time.perf_counter() - started
            figures = {f: math.nan if problem else compute(scores, foreign) for f, compute in RANKINGS.items()}
            used = (name, fitted_on) == (run.detector.name, run.detector.fitted_on)
            results.append(DetectorResult(name, fitted_on, figures, seconds, scores, problem, used))
    return results


NO_TRAINING_DATA = (
    "the run does not say where its training images are, so this detector cannot be fitted to it; "
    "detectors without a fit, such as msp or mls, can be chosen"
)


def names_its_data(trained: Trained) -> bool:
    """Tell whether a run says where its training images are; one on samples at hand, as that of an audit, does not."""
    return trained.run.config.data.source not in ("", "memory", "features") or bool(trained.manifest.get("noise"))


def _without_a_fit(chosen: dict[str, type[Detector]], *, strict: bool) -> dict[str, type[Detector]]:
    """Return the detectors that are fitted on nothing; if ``strict``, another one is an error."""
    fitted = [name for name, kind in chosen.items() if kind.fits_on != "nothing"]
    if strict and fitted:
        raise DataError(f"{fitted[0]}: {NO_TRAINING_DATA}")
    return {name: kind for name, kind in chosen.items() if name not in fitted}


def fit_evidence(reader: EvidenceReader, training: Samples, held_out: Samples | None) -> FitEvidence:
    """Return what detectors may be fitted on: of training samples and, if there are any, of held-out ones."""
    fit = reader.evidence(training)
    clean = trusted_only(fit, _judged_clean(reader.run, training, reader.runtime))
    unseen = None if held_out is None else reader.evidence(held_out)
    return FitEvidence(fit, clean, unseen, judged=reader.run.method.partition is not None)


def check_suits(name: str, kind: type[Detector], reader: EvidenceReader, samples: Samples) -> None:
    """Check that a network gives all that a detector needs, on the first of some samples.

    Raises:
        ConfigError: it does not.
    """
    _suitable({name: kind}, reader.lacks(samples), strict=True)


def _suitable(chosen: dict[str, type[Detector]], lacking: set[str], *, strict: bool) -> dict[str, type[Detector]]:
    """Return the detectors that need nothing of what the network lacks; if ``strict``, one that does is an error."""
    for name, kind in chosen.items():
        missing = [LACKS[part] for part in kind.needs if part in lacking]
        if strict and missing:
            raise ConfigError(f"{name} does not suit the run: its network has no {missing[0]}")
    return {name: kind for name, kind in chosen.items() if not lacking & set(kind.needs)}


def _judged_clean(run: LoadedRun, training: Samples, runtime: Runtime) -> Tensor:
    """Return which training samples the method judged clean; those it agrees with if it judges none."""
    partition = run.method.partition
    if partition is not None:
        return partition.clean.cpu()
    return run.predict(training, runtime).probabilities.argmax(dim=1) == training.labels


def _joined_sets(parts: list[Evidence]) -> Evidence:
    return joined([(part, part.labels) for part in parts if part.labels is not None])
