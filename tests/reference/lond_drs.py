"""The steps of LOND-DRS as loops over samples, the network being a black box that maps one image."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np

from reference import losses as slow

Forward = Callable[[np.ndarray], tuple[np.ndarray, np.ndarray]]
"""One image -> its unit embedding ``(E,)`` and one-vs-all logits ``(C, 2)``."""

Mix = tuple[float, Sequence[int]]
"""lambda and the partner of each row."""


def mean(values: Sequence[float]) -> float:
    return math.fsum(values) / len(values)


def unit_rows(rows: np.ndarray) -> np.ndarray:
    return np.array([row / math.sqrt(math.fsum(x * x for x in row)) for row in rows])


def one_hot(label: int, classes: int) -> list[float]:
    return [1.0 if c == label else 0.0 for c in range(classes)]


def prototype_softmax(z: np.ndarray, prototypes: np.ndarray, tau: float) -> list[float]:
    return slow.softmax([math.fsum(a * b for a, b in zip(z, p, strict=True)) / tau for p in prototypes])


def positives(logits: np.ndarray) -> list[float]:
    return [slow.softmax([float(no), float(yes)])[1] for no, yes in logits]


def sharpened(row: Sequence[float], exponent: float) -> list[float]:
    powers = [p**exponent for p in row]
    return [p / math.fsum(powers) for p in powers]


def mixed_images(images: Sequence[np.ndarray], mix: Mix) -> list[np.ndarray]:
    ratio, partners = mix
    return [ratio * image + (1 - ratio) * images[partners[row]] for row, image in enumerate(images)]


def clean_target(
    forward: Forward, views: Sequence[np.ndarray], label: int, prototypes: np.ndarray, tau: float, sharpening: float
) -> list[float]:
    """Step a, clean: v * onehot(y) + (1 - v) * mean prototype softmax, sharpened with 1 / T."""
    outputs = [forward(view) for view in views]
    v = mean([max(positives(logits)) for _, logits in outputs])
    votes = [prototype_softmax(z, prototypes, tau) for z, _ in outputs]
    classes = len(prototypes)
    blend = [v * one_hot(label, classes)[c] + (1 - v) * mean([vote[c] for vote in votes]) for c in range(classes)]
    return sharpened(blend, 1 / sharpening)


def closed_target(
    forward: Forward, views: Sequence[np.ndarray], weight: float, prototypes: np.ndarray, tau: float, sharpening: float
) -> list[float]:
    """Step a, closed: the mean of four distributions, sharpened with w / T."""
    distributions = []
    for view in views:
        z, logits = forward(view)
        own = positives(logits)
        distributions.append([p / math.fsum(own) for p in own])
        distributions.append(prototype_softmax(z, prototypes, tau))
    average = [mean([d[c] for d in distributions]) for c in range(len(prototypes))]
    return sharpened(average, weight / sharpening)


def supervised(
    forward: Forward,
    clean: Sequence[Sequence[np.ndarray]],
    closed: Sequence[Sequence[np.ndarray]],
    targets: Sequence[Sequence[float]],
    mixes: Sequence[Mix],
    prototypes: np.ndarray,
    tau: float,
) -> dict[str, float]:
    """Step b. ``clean[v]`` and ``closed[v]`` are the images of view v; each loss is the mean over weak and strong."""
    sums: dict[str, list[float]] = {"one_vs_all": [], "prototype": [], "pseudo_label": []}
    for view, mix in enumerate(mixes):
        together = [*clean[view], *closed[view]]
        ratio, partners = mix
        for row, image in enumerate(mixed_images(together, mix)):
            z, logits = forward(image)
            near = [[math.fsum(a * b for a, b in zip(z, p, strict=True)) / tau for p in prototypes]]
            for name in ("one_vs_all", "prototype") if row < len(clean[view]) else ("pseudo_label",):
                total = 0.0
                for share, target in ((ratio, targets[row]), (1 - ratio, targets[partners[row]])):
                    goal = np.array([target])
                    if name == "one_vs_all":
                        value = slow.one_vs_all(logits[None], goal)[0]
                    elif name == "prototype":
                        value = slow.prototype_loss(z[None], prototypes, goal, tau)[0]
                    else:
                        value = slow.pseudo_label_loss(np.array(near), goal)[0]
                    total += share * value
                sums[name].append(total)
    return {name: mean(values) for name, values in sums.items() if values}


def contrastive(
    forward: Forward,
    views: Sequence[Sequence[np.ndarray]],
    labels: Sequence[int],
    weights: Sequence[float],
    mixes: Sequence[Mix],
    tau: float,
) -> float:
    """Step c, first half: Eq. 4-5 on mixed views."""
    embeddings = [
        forward(image)[0] for images, mix in zip(views, mixes, strict=True) for image in mixed_images(images, mix)
    ]
    return mean(list(slow.mixed_contrastive(np.array(embeddings), labels, weights, mixes, tau)))


def consistency(forward: Forward, weak: Sequence[np.ndarray], strong: Sequence[np.ndarray]) -> float:
    """Step c, second half: Eq. 6 on unmixed views."""
    return mean(
        [slow.consistency(forward(s)[1][None], forward(w)[1][None])[0] for w, s in zip(weak, strong, strict=True)]
    )


def start_prototypes(
    embeddings: np.ndarray, labels: Sequence[int], trusted: Sequence[bool], classes: int
) -> np.ndarray:
    """The mean embedding of each class's trusted samples."""
    rows = []
    for c in range(classes):
        members = [z for z, y, good in zip(embeddings, labels, trusted, strict=True) if y == c and good]
        rows.append([mean([z[e] for z in members]) for e in range(embeddings.shape[1])])
    return np.array(rows)
