"""The audit: from images with doubtful labels to a table, estimated rates, a map and a page."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import torch
from numpy.typing import NDArray
from torch import Tensor

from lond.audit.copies.duplicates import DuplicateGroups, find_duplicates
from lond.audit.copies.leaks import leaks_into_test
from lond.audit.findings import Findings
from lond.audit.how_made import (
    hard_to_see,
    learning_notes,
    map_facts,
    probability_facts,
    second_look_facts,
    seen_in_part,
    seen_part,
    shape_notes,
)
from lond.audit.judge.earlier import usual_extractor
from lond.audit.judge.learn import Learned, Learning, learn, usual_folds
from lond.audit.judge.stage_files import stage_files
from lond.audit.quality.oddities import find_oddities
from lond.audit.result import Audit
from lond.audit.second_look import Decisions, SecondLook, after_decisions, second_look, with_confirmed
from lond.audit.settings import AuditSettings
from lond.audit.shared_reading import sharded_reading
from lond.audit.to_learn import first_look, learned_from, mean_of_views, near_copies, no_label_below_zero, training_rows
from lond.config import to_dict
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
from lond.frozen.read import FeatureReader, ImageFacts, quiet
from lond.frozen.shards import ReadingSpread
from lond.layout_map import FEATURE_COMPONENTS, LANDMARKS, two_dimensions
from lond.presets.for_audit import for_audit
from lond.progress.work import announce_steps, begin_step
from lond.train.runtime import RuntimeSettings
from lond.types import Samples

NOWHERE = (math.nan, math.nan)
"""Place of an image that is not on the map."""


def audit(
    source: object,
    *,
    test: object = None,
    embeddings: Path | str | NDArray[Any] | Tensor | None = None,
    pred_probs: Path | str | NDArray[Any] | Tensor | None = None,
    decisions: Decisions | None = None,
    whole: bool | None = None,
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
            used as ground truth, and the other images are judged again. Labels that a corrected set says a person
            confirmed are ground truth in any case.
        whole: judge whole pictures, padded to squares, instead of centre squares; None = as ``settings`` or runs in
            ``folder`` say.
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
    settings = settings or AuditSettings(usual_extractor(folder, whole=whole))
    if whole is not None:
        settings = replace(settings, extractor=settings.extractor.showing(whole))
    if settings.train != "heads":
        # The network that is trained sees centre squares only, and so must the one that finds neighbours.
        settings = replace(settings, extractor=replace(settings.extractor, squares_beyond=0.0))
    runtime, options = runtime or RuntimeSettings(), read or ReadOptions()
    samples = load(source, options=options)
    notes = first_look(samples)
    look = with_confirmed(None if decisions is None else second_look(decisions, samples), samples)
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
    read_all = _Read(facts, notes, leaks, look, decisions is not None, probabilities, space)
    return _judge(read_all, settings, folder, runtime)


@dataclass(frozen=True)
class _Read:
    """What is read before any image is judged."""

    facts: ImageFacts
    notes: list[str]
    leaks: list[dict[str, Any]]
    look: SecondLook | None
    """A reviewer's decisions, also those that a corrected set brings along."""
    is_second: bool
    """Whether decisions were given, so that this is a second look."""
    probabilities: Tensor | None
    """Those of the user's own model."""
    space: str | None
    """Where features of the frozen network are cached; None for features of the user's own."""


def _judge(read: _Read, settings: AuditSettings, folder: Path | None, runtime: RuntimeSettings) -> Audit:
    """Return the audit of what was read: copies, oddities, verdicts, the map and the summary."""
    facts, samples = read.facts, read.facts.samples
    vectors = mean_of_views(facts.features)
    look = None if read.look is None else read.look.among_copies(facts.hashes)
    if look is not None and folder is not None and read.is_second:
        folder = folder / f"second-look-{look.key}"
    groups = _groups_of_copies(facts, vectors, look)
    long = seen_in_part(facts, read.space)
    readable = [bool(text) for text in facts.hashes]
    odd = None if facts.measures is None else find_oddities(facts.measures, readable, seen_in_part=long)
    hidden = long if odd is None or read.space is None else hard_to_see(odd.names)
    rows, training = training_rows(facts, groups, look)
    how = Learning(
        together=near_copies(groups, rows),
        decided=None if look is None else look.truth[rows],
        confirmed=None if look is None else look.says_nothing(torch.from_numpy(hidden))[rows],
        probabilities=None if read.probabilities is None else read.probabilities[rows],
    )
    # A copy of all features of a large set would take gigabytes.
    features = facts.features if len(rows) == len(facts.features) else facts.features[rows.numpy()]
    seen = learned_from(settings.train, training, features, settings.extractor)
    learned, used = _learn(seen, features, how, settings, folder, runtime, read.space)
    found = Findings(facts, groups, rows, learned, look)
    at = found.own_row()
    verdicts = found.verdicts(at)
    places = _places(learned, at, settings)
    table = found.table(at, verdicts)
    notes = [*read.notes, *(() if look is None else look.notes), *learning_notes(learned)]
    notes += shape_notes(long, hidden, look)
    return Audit(
        f"Audit of {Path(samples.origin).name or samples.origin}",
        table if odd is None else replace(table, quality=odd.names),
        samples.class_names,
        found.summary(verdicts, notes, read.leaks)
        | {"quality": {} if odd is None else odd.summary()}
        | {"settings": to_dict(used), "map": map_facts(settings, read.space), "source": samples.origin}
        | {"seen": seen_part(facts, read.space, learned.beside)}
        | ({"second_look": second_look_facts(look, folder)} if look is not None and read.is_second else {})
        | ({} if learned.beside is None else {"pred_probs": probability_facts(learned.beside)}),
        places,
        facts.thumbnail,
        vectors.numpy(),
    )


def _groups_of_copies(facts: ImageFacts, vectors: Tensor, look: SecondLook | None) -> DuplicateGroups:
    """Return the images that repeat each other, by the labels and the differences that a reviewer saw, if any."""
    labels = facts.samples.labels
    found = find_duplicates(
        facts.hashes,
        labels if look is None else no_label_below_zero(look.labels(labels)),
        facts.perceptual,
        features=vectors,
        apart=() if look is None else look.apart,
    )
    return found if look is None else after_decisions(found, labels, look.truth)


def _places(learned: Learned, at: Tensor, settings: AuditSettings) -> list[tuple[float, float]] | None:
    """Return the place of every image on the map, if one is drawn.

    Images that were not learned from, the unreadable ones, have none, and the page leaves them off the map.
    """
    begin_step("drawing the map")
    points = two_dimensions(
        learned.judgement.features,
        settings.map,
        settings.seed,
        components=FEATURE_COMPONENTS,
        landmarks=LANDMARKS,
    )
    return None if points is None else [points[row] if row >= 0 else NOWHERE for row in at.tolist()]


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
