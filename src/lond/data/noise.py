"""Label noise as a pure function of true labels, with a manifest of what was really done."""

from __future__ import annotations

import hashlib
from dataclasses import asdict, dataclass
from typing import Any, Literal

import numpy as np
import torch
from torch import Tensor

from lond.errors import ConfigError, counted
from lond.types import FOREIGN

NoiseKind = Literal["symmetric", "asymmetric"]


@dataclass(frozen=True)
class NoiseSettings:
    """Settings of synthetic label noise.

    ``symmetric`` flips a known label to any other known class, ``asymmetric`` to the next class id (pair-flip,
    wrapping inside the known block; no similarity between classes is used). Images of unknown classes always get
    a uniformly random known label.

    Examples:
        >>> NoiseSettings("asymmetric", closed_rate=0.4, open_ratio=0.2).seed
        0
    """

    kind: NoiseKind = "symmetric"
    closed_rate: float = 0.2
    """Share of the known-class images that get a wrong label."""
    open_ratio: float = 0.0
    """Share of the classes, counted from the last, that are unknown."""
    seed: int = 0
    """Seed of the labels; independent of the training seed."""

    def __post_init__(self) -> None:
        """Check that the kind is known and the rates lie in [0, 1]."""
        if self.kind not in ("symmetric", "asymmetric"):
            raise ConfigError(f"noise kind {self.kind!r} is unknown; use 'symmetric' or 'asymmetric'")
        if not 0 <= self.closed_rate <= 1:
            raise ConfigError(f"closed_rate is {self.closed_rate}; it must lie in [0, 1]")
        if not 0 <= self.open_ratio < 1:
            raise ConfigError(f"open_ratio is {self.open_ratio}; it must lie in [0, 1)")


@dataclass(frozen=True)
class NoisyLabels:
    """Noisy labels ``(N,)``, true labels ``(N,)`` with ``FOREIGN`` for unknown classes, and the manifest.

    Examples:
        >>> noisy = add_noise(np.arange(1000) % 10, 10, NoiseSettings(closed_rate=0.5))
        >>> noisy.labels.shape, noisy.true_labels.shape
        (torch.Size([1000]), torch.Size([1000]))
    """

    labels: Tensor
    true_labels: Tensor
    manifest: dict[str, Any]


def known_classes(total: int, open_ratio: float) -> int:
    """Return how many of ``total`` classes are known; they come first.

    Examples:
        >>> known_classes(100, 0.2)
        80
    """
    return round(total * (1 - open_ratio))


def transition_matrix(total: int, settings: NoiseSettings) -> np.ndarray:
    """Return T ``(total, total)``: row = true class, column = observed label; columns of unknown classes are 0.

    Raises:
        ConfigError: fewer than two classes stay known, so that no label can be wrong.

    Examples:
        >>> transition_matrix(3, NoiseSettings("asymmetric", closed_rate=0.25)).tolist()
        [[0.75, 0.25, 0.0], [0.0, 0.75, 0.25], [0.25, 0.0, 0.75]]
    """
    known, rate = known_classes(total, settings.open_ratio), settings.closed_rate
    if known < 2:
        raise ConfigError(
            f"{counted(known, 'known class', 'known classes')} of {total}: label noise needs at least two"
        )
    matrix = np.zeros((total, total))
    own = np.arange(known)
    if settings.kind == "symmetric":
        matrix[:known, :known] = rate / (known - 1)
        matrix[own, own] = 1 - rate
    else:
        matrix[own, own] = 1 - rate
        matrix[own, (own + 1) % known] += rate
    matrix[known:, :known] = 1 / known
    return matrix


def add_noise(labels: Tensor | np.ndarray, total: int, settings: NoiseSettings) -> NoisyLabels:
    """Draw one observed label for every image.

    The draw follows the field's common benchmark bit for bit: legacy ``RandomState(seed)``, images in order, one
    single-trial multinomial over the row of the true class.

    Args:
        labels: ``(N,)`` true class ids in ``0..total-1``.
        total: number of classes, known and unknown.
        settings: the noise.

    Examples:
        >>> noisy = add_noise(np.arange(1000) % 10, 10, NoiseSettings(closed_rate=0.5, open_ratio=0.2))
        >>> int(noisy.labels.max()), int(noisy.true_labels.min())  # classes 8 and 9 are unknown
        (7, -1)
    """
    truth = np.asarray(labels)
    if truth.size and not (truth.min() >= 0 and truth.max() < total):
        raise ConfigError(f"true labels must lie in 0..{total - 1}")
    matrix = transition_matrix(total, settings)
    random = np.random.RandomState(settings.seed)
    observed = np.array([random.multinomial(1, matrix[label]).argmax() for label in truth], dtype=np.int64)
    known = known_classes(total, settings.open_ratio)
    true_labels = np.where(truth < known, truth, FOREIGN)
    manifest = _manifest(observed, true_labels, matrix, known, settings)
    return NoisyLabels(torch.from_numpy(observed), torch.from_numpy(true_labels.astype(np.int64)), manifest)


def label_hash(labels: Tensor | np.ndarray) -> str:
    """Return 16 hex digits of sha256 over the labels, one byte each (four if a label does not fit into one).

    Examples:
        >>> len(label_hash(np.array([0, 1, 2])))
        16
    """
    values = np.asarray(labels)
    wide = values.size and (values.max() > 255 or values.min() < 0)
    return hashlib.sha256(values.astype("<i4" if wide else np.uint8).tobytes()).hexdigest()[:16]


def _manifest(
    observed: np.ndarray, true_labels: np.ndarray, matrix: np.ndarray, known: int, settings: NoiseSettings
) -> dict[str, Any]:
    return {
        "noise": asdict(settings),
        "known_classes": known,
        "matrix": matrix.tolist(),
        **rates(observed, true_labels, settings.closed_rate),
    }


def rates(observed: Tensor | np.ndarray, true_labels: Tensor | np.ndarray, closed_rate: float) -> dict[str, Any]:
    """Return the hash of the observed labels, and the nominal and actual noise rates.

    Examples:
        >>> sorted(rates(np.array([0, 1, 1]), np.array([0, 1, 0]), closed_rate=0.3))
        ['actual', 'labels_sha256', 'nominal']
    """
    observed, true_labels = np.asarray(observed), np.asarray(true_labels)
    is_known, wrong = true_labels != FOREIGN, observed != true_labels
    open_share = float(1 - is_known.mean()) if len(observed) else 0.0
    return {
        "labels_sha256": label_hash(observed),
        "nominal": {"closed_rate": closed_rate, "overall": open_share + (1 - open_share) * closed_rate},
        "actual": {
            "closed_rate": float(wrong[is_known].mean()) if is_known.any() else 0.0,
            "open_share": open_share,
            "overall": float(wrong.mean()) if len(observed) else 0.0,
        },
    }
