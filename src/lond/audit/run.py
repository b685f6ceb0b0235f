"""The audit: from images with doubtful labels to a table, estimated rates, a map and a page."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, get_args

from numpy.typing import NDArray
from torch import Tensor

from lond.audit.copies.duplicates import find_duplicates
from lond.audit.copies.leaks import leaks_into_test
from lond.audit.findings import Findings
from lond.audit.judge.earlier import usual_extractor
from lond.audit.judge.learn import MODEL, Learned, Learning, learn, usual_folds
from lond.audit.judge.stage_files import stage_files
from lond.audit.quality.oddities import find_oddities
from lond.audit.result import Audit
from lond.audit.second_look import Decisions, SecondLook, second_look
from lond.audit.shared_reading import sharded_reading
from lond.audit.to_learn import first_look, learned_from, mean_of_views, near_copies, no_label_below_zero, training_rows
from lond.config import to_dict
from lond.crossfit.beside import Beside
from lond.crossfit.stages import Stages
from lond.data.feature_views import FeaturePixels
from lond.data.options import ReadOptions
from lond.data.read.embeddings import read_embeddings
from lond.data.read.files import Progress
from lond.data.read.probabilities import read_probabilities
from lond.data.sources import load
from lond.device import choose_device
from lond.errors import ConfigError
from lond.frozen.cache import Features
from lond.frozen.extractor import ExtractorSettings
from lond.frozen.read import FeatureReader, ImageFacts, quiet
from lond.frozen.shards import ReadingSpread
from lond.layout_map import FEATURE_COMPONENTS, LANDMARKS, MapKind, two_dimensions, used_kind
from lond.presets.for_audit import TrainingKind, for_audit
from lond.progress.work import announce_steps, begin_step
from lond.train.runtime import RuntimeSettings
from lond.types import Samples

NOWHERE = (math.nan, math.nan)

BEYOND_TABLE = (
    "the labels fit the images so badly that all probabilities are rough, and no image is called foreign; "
    "check how the labels were made, or give features that fit the images better"
)
"""Note on a set whose labels say too little."""


@dataclass(frozen=True)
class AuditSettings:
    """Settings of an audit.

    Examples:
        >>> AuditSettings(folds=3, map="none").false_alarm_rate
        0.05
    """

    extractor: ExtractorSettings = ExtractorSettings(mirrored=False)
    train: TrainingKind = "heads"
    """"heads" on features of the frozen network, "finetune" it as a whole, or a network from "scratch"."""
    epochs: int = 0
    """Training epochs, a third of them warm-up; 0 = 9 for heads, 12 for fine-tuning, 60 from scratch."""
    seed: int = 0
    folds: int = 0
    """Cross-validation folds; 0 = 5, or 2 to 5 when networks are trained."""
    false_alarm_rate: float = Learning.false_alarm_rate
    """Share of new images of known classes that the audit's model may call foreign."""
    neighbours: int = 8
    """Number of nearest images in the table."""
    map: MapKind = "auto"
    """"tsne", "pca", "none", or "auto": t-SNE if openTSNE is installed, else principal components."""
    max_page_bytes: int = 40_000_000

    def __post_init__(self) -> None:
        """Check that the training is known, counts are large enough and the rate lies in (0, 1)."""
        if self.train not in get_args(TrainingKind):
            raise ConfigError(f"there is no training {self.train!r}; choose one of {', '.join(get_args(TrainingKind))}")
        if self.epochs == 1 or self.epochs < 0 or self.neighbours < 1:
            raise ConfigError("an audit needs at least 2 epochs (0 = the usual number) and 1 neighbour")
        if not 0 < self.false_alarm_rate < 1:
            raise ConfigError(f"the rate of false alarms must lie between 0 and 1, not be {self.false_alarm_rate}")
        if self.folds < 0 or self.folds == 1:
            raise ConfigError("folds must be at least 2, or 0 to choose by the number of images")


def audit(
    source: object,
    *,
    test: object = None,
    embeddings: Path | str | NDArray[Any] | Tensor | None = None,
    pred_probs: Path | str | NDArray[Any] | Tensor | None = None,
    decisions: Decisions | None = None,
    settings: AuditSettings | None = None,
    cache: Path | None = None,
    folder: Path | None = None,
    runtime: RuntimeSettings | None = None,
    read: ReadOptions | None = None,
    progress: Callable[[str], Progress] | None = None,
    spread: ReadingSpread | None = None,
) -> Audit:
    """Audit a set of images; ``lond.data.load`` lists the accepted sources.

    Args:
        source: the images and their unreliable labels.
        test: other images to search for copies of the audited ones; None = the source's own test split.
        embeddings: your own features for the images of the source, instead of a frozen network's: a file, or an array
            ``(N, D)`` in the order of the images.
        pred_probs: class probabilities of your own model for the images of the source: a file, or an array ``(N, C)``
            in the order of the images and of the classes, which are sorted by name. Each row must come from a model
            that was not trained on its image, as scikit-learn's ``cross_val_predict`` returns them.
        decisions: a reviewer's decisions on some of the images, as written by the page or as id -> decision. They are
            used as ground truth, and the other images are judged again.
        settings: settings; None = the defaults, with the views of the runs in ``folder``, if it holds any.
        cache: folder of cached features for later audits; None keeps them for this call only.
        folder: folder in which a model for new images is trained or resumed; None trains none. The model of a second
            audit is in a separate folder there, which the summary names.
        runtime: device and threads.
        read: how a source is read.
        progress: function that returns a progress function for a named piece of work.
        spread: lets several workers read the images into ``cache`` first, e.g. ``lond.frozen.shards.RaySpread``.

    Raises:
        DataError: the source cannot be audited.

    Examples:
        >>> import numpy as np
        >>> points = np.random.default_rng(0).normal(size=(40, 4)) + 9 * np.eye(2, 4)[np.arange(40) % 2]
        >>> labels = np.arange(40) % 2
        >>> labels[0] = 1  # a label error
        >>> found = audit((points, labels), settings=AuditSettings(map="none"))
        >>> wrong = found.select(verdict="mislabelled")
        >>> wrong.id, wrong.suggested_label
        (('0',), ('0',))
    """
    settings = settings or AuditSettings(usual_extractor(folder))
    runtime, options = runtime or RuntimeSettings(), read or ReadOptions()
    samples = load(source, options=options)
    notes = first_look(samples)
    look = None if decisions is None else second_look(decisions, samples)
    if embeddings is not None and isinstance(samples.pixels, FeaturePixels):
        raise ConfigError(f"{samples.origin} holds embeddings already; give the images, or leave out the other file")
    own = samples.pixels if isinstance(samples.pixels, FeaturePixels) else None
    if embeddings is not None:
        own = read_embeddings(embeddings, samples.ids)
    probabilities = None if pred_probs is None else read_probabilities(pred_probs, samples.ids, samples.class_names)
    costs = step_costs(settings, _trainings(settings, samples, folder), own is None, spread is not None)
    announce_steps(len(costs), costs)
    reader = FeatureReader(cache, choose_device(runtime.accelerator, runtime.threads), progress or quiet)
    network = settings.extractor if own is None else None
    if spread is not None:
        spread(sharded_reading(samples, network, cache, runtime), reader.progress("reading on several workers"))
    facts = reader.read(samples, network, perceptual=True, thumbnails=True)
    if own is not None:
        facts = replace(facts, features=own.values)
    leaks = leaks_into_test(source, test, facts, options, reader)
    space = str(cache or "") if own is None else None
    return _audit(facts, notes, leaks, settings, folder, runtime, space, look, probabilities)


def _audit(
    facts: ImageFacts,
    notes: list[str],
    leaks: list[dict[str, Any]],
    settings: AuditSettings,
    folder: Path | None,
    runtime: RuntimeSettings,
    cache: str | None,
    look: SecondLook | None,
    probabilities: Tensor | None,
) -> Audit:
    samples = facts.samples
    vectors = mean_of_views(facts.features)
    look = None if look is None else look.among_copies(facts.hashes)
    groups = find_duplicates(
        facts.hashes,
        samples.labels if look is None else no_label_below_zero(look.labels(samples.labels)),
        facts.perceptual,
        features=vectors,
        apart=() if look is None else look.apart,
    )
    odd = None if facts.measures is None else find_oddities(facts.measures, [bool(text) for text in facts.hashes])
    rows, training = training_rows(facts, groups, look)
    if look is not None:
        folder = None if folder is None else folder / f"second-look-{look.key}"
        notes = [*notes, *look.notes]
    # A copy of all features of a large set would take gigabytes.
    features = facts.features if len(rows) == len(facts.features) else facts.features[rows.numpy()]
    seen = learned_from(settings.train, training, features, settings.extractor)
    decided = None if look is None else look.truth[rows]
    how = Learning(
        together=near_copies(groups, rows),
        decided=decided,
        probabilities=None if probabilities is None else probabilities[rows],
    )
    learned, used = _learn(seen, features, how, settings, folder, runtime, cache)
    found = Findings(facts, groups, rows, learned, look)
    at = found.own_row()
    verdicts = found.verdicts(at)
    begin_step("drawing the map")
    points = two_dimensions(
        learned.judgement.features,
        settings.map,
        settings.seed,
        components=FEATURE_COMPONENTS,
        landmarks=LANDMARKS,
    )
    recall = learned.judgement.evidence.near.recall
    if recall < 1:
        notes = [*notes, f"neighbours were searched by cells, which finds about {100 * recall:.1f} % of them"]
    if learned.beside is not None:
        notes = [*notes, told_probabilities(learned.beside)]
    if learned.judgement.beyond_table:
        notes = [*notes, BEYOND_TABLE]
    return Audit(
        f"Audit of {Path(samples.origin).name or samples.origin}",
        found.table(at, verdicts) if odd is None else replace(found.table(at, verdicts), quality=odd.names),
        samples.class_names,
        found.summary(verdicts, notes, leaks)
        | {"quality": {} if odd is None else odd.summary()}
        | {"settings": to_dict(used), "map": map_facts(settings, cache), "source": samples.origin}
        | ({} if look is None else {"second_look": second_look_facts(look, folder)})
        | ({} if learned.beside is None else {"pred_probs": probability_facts(learned.beside)}),
        # The page leaves images without a place, the unreadable ones, off the map.
        None if points is None else [points[row] if row >= 0 else NOWHERE for row in at.tolist()],
        facts.thumbnail,
        vectors.numpy(),
    )


def _learn(
    seen: Samples,
    features: Features,
    how: Learning,
    settings: AuditSettings,
    folder: Path | None,
    runtime: RuntimeSettings,
    cache: str | None,
) -> tuple[Learned, AuditSettings]:
    """Return what is learned from the samples, and the settings with the numbers that were chosen."""
    config = for_audit(
        settings.train, len(seen), seen.pixels.size[0], settings.extractor, settings.epochs, settings.seed, cache
    )
    networks = settings.train != "heads"
    folds = settings.folds or usual_folds(seen.labels, networks)
    how = replace(
        how,
        folds=folds,
        shown_neighbours=settings.neighbours,
        false_alarm_rate=settings.false_alarm_rate,
        networks=networks,
        model=folder is not None,
        stages=None if folder is None or networks else Stages(stage_files(folder, seen, folds, settings.seed)),
    )
    begin_step("judging")
    learned = learn(seen, mean_of_views(features), config, folder, runtime, how)
    return learned, replace(settings, epochs=config.train.epochs, folds=folds)


def second_look_facts(look: SecondLook, folder: Path | None) -> dict[str, Any]:
    """Return how many images were decided and how many of these taught, and by which key files and model are found."""
    model = "" if folder is None else f"{folder.name}/{MODEL}"
    return {"decided": look.decided, "taught": look.taught, "key": look.key, "model": model}


def told_probabilities(beside: Beside) -> str:
    """Return in a sentence what became of given probabilities."""
    if beside.judged:
        return "your probabilities fit the labels better than the features do: the images are judged by them"
    if beside.share > 0:
        return f"your probabilities count beside the features, with a weight of {100 * beside.share:.0f} %"
    return "your probabilities add nothing to what the features say, and are not heeded"


def probability_facts(beside: Beside) -> dict[str, Any]:
    """Return what became of given probabilities as plain values; losses are those of the given labels, in nats."""
    return {
        "judged_by": "probabilities" if beside.judged else "features",
        "weight": beside.share,
        "loss": beside.loss,
        "features_loss": beside.features_loss,
    }


def step_costs(settings: AuditSettings, trainings: int, sees_images: bool, spread: bool) -> list[float]:
    """Return how long the steps of an audit take in relation to each other, as far as that is known beforehand.

    They are reading, judging, whatever is trained, the map, and the page that the caller writes.
    """
    reading = 10.0 if sees_images else 1.0
    training = 2.0 if settings.train == "heads" else 100.0
    return [*([10.0] if spread else []), reading, 1.0, *[training] * trainings, 1.0, 1.0]


def _trainings(settings: AuditSettings, samples: Samples, folder: Path | None) -> int:
    """Return how many runs are trained: of networks one a fold, for a model of new images one more and one on all."""
    model = 0 if folder is None else 1
    if settings.train == "heads":
        return 2 * model
    return model + (settings.folds or usual_folds(samples.labels, networks=True))


def map_facts(settings: AuditSettings, cache: str | None) -> dict[str, str]:
    """Return how the map was made and of which features; ``cache`` is None for features of the user's own."""
    own = "the features that you gave"
    return {"kind": used_kind(settings.map), "space": own if cache is None else "the features of the frozen network"}
