"""Cells of the bench: pure functions of a spec that return features, given labels, true labels and test images.

TUNE cells use CIFAR-100's superclasses 10-19, human labels of superclasses 0-4, TinyImageNet classes at even places
and digits at even places. JUDGE cells use superclasses 5-9, human labels of superclasses 5-9, classes and digits at
odd places. Test images are never training images.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from benchmarks.noise_bench.noise import corrupt, labels_of_foreign
from benchmarks.noise_bench.sources import Floats, Images, Ints, World
from benchmarks.noise_bench.specs import Spec
from numpy.typing import NDArray

FEWEST = 8
"""Images that the smallest class of a long tail keeps."""

# fmt: off
LIKE_TINY = {
    "aquarium_fish", "bear", "bottle", "bridge", "bus", "butterfly", "camel", "can", "chair", "chimpanzee",
    "cockroach", "crab", "keyboard", "lizard", "lobster", "mushroom", "orange", "pear", "pickup_truck", "sea",
    "snail", "snake", "spider", "streetcar", "sweet_pepper", "table", "television", "train", "worm", "bowl", "cup",
    "house", "plain", "mountain", "telephone", "man", "woman", "girl", "boy", "baby", "rocket", "castle", "wardrobe",
    "couch", "lamp", "elephant", "lion", "bee", "beetle", "rabbit", "hamster", "fox", "wolf", "leopard", "tiger",
    "plate", "tank",
}
"""CIFAR-100 classes that look like a class of TinyImageNet; never foreign beside those."""

LIKE_CIFAR = {
    5, 8, 10, 13, 16, 17, 18, 35, 36, 41, 43, 44, 53, 64, 70, 92, 97, 98, 133, 141, 142, 145, 154, 157, 170, 186, 187,
    195, 198,
}
"""TinyImageNet classes that look like a class of CIFAR-100."""
# fmt: on


@dataclass(frozen=True)
class Cell:
    """One set of doubtful labels; ``true`` and ``test_true`` are -1 for foreign images.

    ``scored`` marks the images that figures are computed on.
    """

    spec: Spec
    features: Floats
    given: Ints
    true: Ints
    test_features: Floats
    test_true: Ints
    classes: int
    scored: NDArray[np.bool_]


@dataclass(frozen=True)
class _Drawn:
    """Where a cell's images come from: classes, their groups, training and test images, and foreign ones."""

    pool: Ints
    groups: Ints
    train: Images
    test: Images


def make(spec: Spec, world: World) -> Cell:
    """Return the cell of a spec."""
    random = np.random.default_rng([spec.seed, *spec.name.encode()])
    return _people(spec, world, random) if spec.source == "people" else _made(spec, world, random)


def _drawn_from(spec: Spec, world: World) -> _Drawn:
    odd = int(spec.part == "judge")
    if spec.source == "cifar":
        low, high = (5, 10) if odd else (10, 20)
        pool = np.flatnonzero((world.superclass >= low) & (world.superclass < high))
        return _Drawn(pool, world.superclass, world.cifar, world.cifar_test)
    if spec.source == "clusters":
        return _clusters(spec)
    if spec.source == "tiny":
        pool = np.unique(world.tiny.label)[odd::2]
        return _Drawn(pool, np.zeros(int(pool.max()) + 1, dtype=np.int64), world.tiny, world.tiny_test)
    written = world.mnist if spec.source == "mnist" else world.digits
    rows = np.arange(odd, len(written.label), 2)
    held = np.arange(len(rows)) % 10 < 3
    return _Drawn(np.arange(10), np.arange(10) // 2, *(_take(written, rows[part]) for part in (~held, held)))


def _clusters(spec: Spec) -> _Drawn:
    """Return made-up classes: normal clouds of random width, distance and ease, a few more than are known."""
    random = np.random.default_rng([spec.seed, 7])
    kinds = spec.classes + int(random.integers(1, 6))
    width = int(random.choice([8, 16, 32, 64, 128]))
    centres = random.normal(0, random.uniform(0.6, 6) / np.sqrt(width), (kinds, width))
    spread = random.uniform(0.5, 1.5, kinds) / np.sqrt(width)
    each = 2 * spec.per_class
    label = np.repeat(np.arange(kinds), each)
    features = (centres[label] + random.normal(0, 1, (len(label), width)) * spread[label, None]).astype(np.float32)
    if random.random() < 0.5:
        features = np.maximum(features, 0)
    held = np.arange(len(label)) % 4 == 0
    images = Images(features, label)
    return _Drawn(
        np.arange(kinds),
        np.arange(kinds) // 3,
        _take(images, np.flatnonzero(~held)),
        _take(images, np.flatnonzero(held)),
    )


def _foreign_from(spec: Spec, world: World, own: _Drawn, left: Ints) -> tuple[Ints, Images, Images]:
    """Return the classes that foreign images are drawn from, and training and test images of them."""
    if not spec.far:
        return left, own.train, own.test
    odd = int(spec.part == "judge")
    if spec.source == "tiny":
        low, high = (5, 10) if odd else (10, 20)
        known = np.flatnonzero((world.superclass >= low) & (world.superclass < high))
        kinds = [kind for kind in known if world.names[kind] not in LIKE_TINY]
        return np.array(kinds, dtype=np.int64), world.cifar, world.cifar_test
    kinds = [kind for kind in np.unique(world.tiny.label)[odd::2] if kind not in LIKE_CIFAR]
    return np.array(kinds, dtype=np.int64), world.tiny, world.tiny_test


def _made(spec: Spec, world: World, random: np.random.Generator) -> Cell:
    own = _drawn_from(spec, world)
    known, left = _chosen_classes(spec, own.pool, own.groups, random)
    sizes = np.full(len(known), spec.per_class)
    if spec.tail > 1:
        shrunk = spec.per_class * spec.tail ** (-np.arange(len(known)) / max(1, len(known) - 1))
        sizes = random.permutation(np.maximum(FEWEST, shrunk).astype(int))
    rows = [
        random.permutation(np.flatnonzero(own.train.label == kind))[:size]
        for kind, size in zip(known, sizes, strict=True)
    ]
    true = np.repeat(np.arange(len(known)), [len(part) for part in rows])
    features = _floats(own.train.features[np.concatenate(rows)])
    given = corrupt(features, true, len(known), own.groups[known], spec.family, spec.wrong, random)
    kinds, source, test_source = _foreign_from(spec, world, own, left)
    taken = _foreign_rows(source.label, kinds, round(len(true) * spec.foreign / (1 - spec.foreign)), random)
    foreign = _floats(source.features[taken])
    if len(taken):
        named = labels_of_foreign(foreign, source.label[taken], features, true, len(known), spec.foreign_labels, random)
        given = np.concatenate([given, named])
    if spec.ease:
        kinds_of_all = np.concatenate([known[true], source.label[taken] + (10_000 if spec.far else 0)])
        moved = _eased(np.concatenate([features, foreign]), kinds_of_all, spec)
        features, foreign = moved[: len(true)], moved[len(true) :]
    true = np.concatenate([true, np.full(len(taken), -1)])
    order = random.permutation(len(true))
    test_features, test_true = _test_images(own.test, known, test_source, kinds, random)
    return Cell(
        spec,
        np.concatenate([features, foreign])[order],
        given[order],
        true[order],
        test_features,
        test_true,
        len(known),
        np.ones(len(true), dtype=bool),
    )


def _people(spec: Spec, world: World, random: np.random.Generator) -> Cell:
    """Return a cell of human labels; mistakes not kept are repaired, foreign images not kept are left out."""
    low, high = (0, 10) if spec.half_scored else (5, 10) if spec.part == "judge" else (0, 5)
    pool = np.flatnonzero((world.superclass >= low) & (world.superclass < high))
    known = np.sort(_chosen_classes(spec, pool, world.superclass, random)[0])
    place = np.full(len(world.superclass), -1)
    place[known] = np.arange(len(known))
    true, given = place[world.cifar.label[world.human_index]], place[world.human_label]
    repaired = (true >= 0) & (given != true) & (random.random(len(true)) >= spec.wrong)
    given = np.where(repaired, true, given)
    kept = (given >= 0) & ((true >= 0) | (random.random(len(true)) < spec.foreign))
    rows = random.permutation(np.flatnonzero(kept))
    rows = np.concatenate([rows[given[rows] == own][: spec.per_class] for own in range(len(known))])
    rows = random.permutation(rows)
    others = np.flatnonzero(place < 0)
    test_features, test_true = _test_images(world.cifar_test, known, world.cifar_test, others, random)
    features = _floats(world.cifar.features[world.human_index[rows]])
    if spec.ease:
        features = _eased(features, world.cifar.label[world.human_index[rows]], spec)
    scored = world.superclass[known[given[rows]]] >= 5 if spec.half_scored else np.ones(len(rows), dtype=bool)
    return Cell(
        spec,
        features,
        given[rows],
        true[rows],
        test_features,
        test_true,
        len(known),
        scored,
    )


def _chosen_classes(spec: Spec, pool: Ints, groups: Ints, random: np.random.Generator) -> tuple[Ints, Ints]:
    """Return known classes, those of a group side by side, and the others."""
    order = random.permutation(pool)
    if spec.whole_superclasses:
        rank = random.permutation(int(groups.max()) + 1)
        order = order[np.argsort(rank[groups[order]], kind="stable")]
    known = order[: spec.classes]
    return known[np.argsort(groups[known], kind="stable")], order[spec.classes :]


def _foreign_rows(label: Ints, kinds: Ints, wanted: int, random: np.random.Generator) -> Ints:
    """Return places of foreign images, of some of the kinds, or of all where some have too few."""
    if not wanted or not len(kinds):
        return np.array([], dtype=np.int64)
    some = random.permutation(kinds)[: random.integers(max(1, len(kinds) // 2), len(kinds) + 1)]
    rows = np.flatnonzero(np.isin(label, some))
    rows = rows if len(rows) >= wanted else np.flatnonzero(np.isin(label, kinds))
    return random.permutation(rows)[:wanted]


def _test_images(
    known_source: Images, known: Ints, foreign_source: Images, kinds: Ints, random: np.random.Generator
) -> tuple[Floats, Ints]:
    """Return features and classes of all test images of known classes, and of at most as many foreign ones."""
    rows = [np.flatnonzero(known_source.label == kind) for kind in known]
    true = np.repeat(np.arange(len(known)), [len(part) for part in rows])
    foreign = random.permutation(np.flatnonzero(np.isin(foreign_source.label, kinds)))[: len(true)]
    features = [known_source.features[np.concatenate(rows)], foreign_source.features[foreign]]
    return _floats(np.concatenate(features)), np.concatenate([true, np.full(len(foreign), -1)])


def _eased(features: Floats, kinds: Ints, spec: Spec) -> Floats:
    """Return features nearer to the mean of their kind, or with noise; see ``Spec.ease``."""
    if spec.ease < 0:
        noise = np.random.default_rng([spec.seed, 11]).normal(0, 1, features.shape) * features.std(axis=0)
        return _floats(features - spec.ease * noise)
    _, place = np.unique(kinds, return_inverse=True)
    sums = np.zeros((int(place.max()) + 1, features.shape[1]))
    np.add.at(sums, place, features)
    means = sums / np.bincount(place)[:, None]
    return _floats((1 - spec.ease) * features + spec.ease * means[place])


def _take(images: Images, rows: Ints) -> Images:
    return Images(images.features[rows], images.label[rows])


def _floats(values: NDArray[Any]) -> Floats:
    return values.astype(np.float32)
