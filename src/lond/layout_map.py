"""Map of the images: their features in two dimensions."""

from __future__ import annotations

from importlib.util import find_spec
from typing import Any, Literal

import torch
from torch import Tensor
from torch.nn import functional

from lond.errors import ConfigError, MissingDependencyError

MapKind = Literal["auto", "tsne", "pca", "none"]

FEATURE_COMPONENTS = 50
"""Principal components to which wide features are usually reduced before t-SNE."""


LANDMARKS = 1000
"""Images of a larger set that t-SNE places; the others lie between those they resemble."""

QUICK = {"early_exaggeration_iter": 30, "n_iter": 100, "theta": 0.8, "neighbors": "exact"}
"""Settings of t-SNE for landmarks: a small part of its usual time, and as many neighbours stay neighbours."""

BESIDE = 3
"""Landmarks between which another image lies."""

ROWS = 65_536
"""Vectors that are looked at at a time."""


def two_dimensions(
    vectors: Tensor,
    kind: MapKind = "auto",
    seed: int = 0,
    *,
    components: int | None = None,
    landmarks: int | None = None,
) -> list[tuple[float, float]] | None:
    """Return a point for each of N vectors ``(N, E)``; None if no map is wanted or there are fewer than three.

    "tsne" is t-SNE (openTSNE), started from the principal components; "auto" takes it if it is installed, else "pca".
    With ``components`` it works on so many principal components of wider vectors, which is much faster. With
    ``landmarks`` it places so many vectors, spread evenly over all, in fewer steps than usual; each other one lies
    between those it resembles.

    Raises:
        ConfigError: the kind is unknown.
        MissingDependencyError: t-SNE is asked for and openTSNE is not installed.
    """
    if kind not in ("auto", "tsne", "pca", "none"):
        raise ConfigError(f"there is no map {kind!r}; choose auto, tsne, pca or none")
    if kind == "none" or len(vectors) < 3:
        return None
    if used_kind(kind) != "tsne":
        return _points(principal_components(vectors, 2))
    if landmarks is not None and len(vectors) > landmarks:
        chosen = vectors[torch.arange(landmarks) * len(vectors) // landmarks]
        placed = two_dimensions(chosen, kind, seed, components=components, landmarks=landmarks)
        return _points(between_landmarks(vectors, chosen, torch.tensor(placed)))
    plane = principal_components(vectors, 2)
    is_wide = components is not None and vectors.shape[1] > components
    near = principal_components(vectors, components) if is_wide and components else vectors
    return _points(_tsne(near, plane, seed, {} if landmarks is None else QUICK))


def between_landmarks(vectors: Tensor, landmarks: Tensor, places: Tensor) -> Tensor:
    """Return places ``(N, 2)`` of vectors ``(N, E)`` between those ``(L, 2)`` of the landmarks most similar to them.

    Each counts by the inverse of its distance, so that a landmark lies at its own place.
    """
    unit = functional.normalize(landmarks, dim=1)
    found = []
    for part in vectors.split(ROWS):
        best = (functional.normalize(part, dim=1) @ unit.T).topk(min(BESIDE, len(unit)), dim=1)
        closeness = 1 / (1 - best.values).clamp_min(1e-6)
        weights = closeness / closeness.sum(dim=1, keepdim=True)
        found.append((places[best.indices] * weights[:, :, None]).sum(dim=1))
    return torch.cat(found)


def _points(plane: Tensor) -> list[tuple[float, float]]:
    return [(x, y) for x, y in plane.tolist()]


def used_kind(kind: MapKind) -> MapKind:
    """Return the kind of map chosen by "auto", and any other kind unchanged."""
    if kind != "auto":
        return kind
    return "tsne" if find_spec("openTSNE") is not None else "pca"


def principal_components(vectors: Tensor, count: int) -> Tensor:
    """Return the coordinates ``(N, count)`` on the first principal components; signs are fixed, missing ones zero."""
    mean = vectors.mean(dim=0)
    products = torch.zeros(vectors.shape[1], vectors.shape[1], dtype=torch.float64)
    for part in vectors.split(ROWS):
        centred = (part - mean).double()
        products += centred.T @ centred
    _, basis = torch.linalg.eigh(products)
    axes = basis[:, -count:].flip(1)
    if axes.shape[1] < count:
        axes = torch.cat([axes, axes.new_zeros(len(axes), count - axes.shape[1])], dim=1)
    largest = axes.abs().argmax(dim=0)
    signs = axes[largest, torch.arange(count)].sign()
    return torch.cat([((part - mean).double() @ (axes * signs)).float() for part in vectors.split(ROWS)])


def _tsne(vectors: Tensor, start: Tensor, seed: int, options: dict[str, Any]) -> Tensor:
    try:
        from openTSNE import TSNE
    except ImportError as error:
        raise MissingDependencyError("a t-SNE map needs openTSNE: pip install 'lond[audit]', or choose pca") from error
    spread = start[:, 0].std().clamp_min(torch.finfo(torch.float32).tiny)
    perplexity = min(30.0, max(1.0, (len(vectors) - 1) / 3))
    start = 1e-4 * start / spread
    jobs = torch.get_num_threads()
    model = TSNE(perplexity=perplexity, initialization=start.numpy(), random_state=seed, n_jobs=jobs, **options)
    return torch.from_numpy(model.fit(vectors.numpy()).copy())
