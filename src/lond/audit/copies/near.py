"""Which images are nearly the same: by small pictures, colours and features."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn import functional

from lond.errors import ConfigError
from lond.frozen.hashes import SMALL, PerceptualHashes
from lond.identify import nearest_neighbours

SAMPLE = 4096
"""Images by which the usual distance of features is told."""

PAIRS_AT_ONCE = 4096
"""Pairs that are compared at once."""


@dataclass(frozen=True)
class NearSettings:
    """When two images are near copies.

    Attributes:
        threshold: least cosine of their small pictures.
        apart: most that they may lie apart, as a share of how far apart the images of the set are from their last
            neighbour that is looked at (the median). Small drawings on white are all alike, so only very like ones
            are copies there.
        neighbours: how many nearest images are looked at; a larger group of near copies may fall apart.
        max_bits: most bits of 64 in which their difference hashes may differ.
        max_colour: most that the cells of their small pictures may differ in a colour, but for the tenth that differs
            most, as a share of white; the brightness and contrast of one are fitted to those of the other first.
        max_spot: as ``max_colour``, but for the fiftieth that differs most: a small sign on equal ground.
        max_alone: most that a cell may differ from all cells around its place in the other picture, as a share of white
            beyond what most cells differ by: a small thing that only one of them shows. Cropping moves every cell a
            little, and compression changes all of them.
        features_apart: most that their features may lie apart, as a share of how far apart the features of an image and
            its last neighbour that is looked at usually are.
    """

    threshold: float = 0.97
    apart: float = 0.1
    neighbours: int = 10
    max_bits: int = 12
    max_colour: float = 0.1
    max_spot: float = 0.3
    max_alone: float = 0.05
    features_apart: float = 0.5

    def __post_init__(self) -> None:
        """Check that the threshold lies in (0, 1] and the other limits are in range."""
        if not 0 < self.threshold <= 1 or self.apart <= 0 or self.neighbours < 1 or self.max_bits < 0:
            raise ConfigError(f"need 0 < threshold <= 1, apart > 0, neighbours >= 1 and max_bits >= 0, got {self}")
        if min(self.max_colour, self.max_spot, self.max_alone, self.features_apart) <= 0:
            raise ConfigError(f"need max_colour > 0, max_spot > 0, max_alone > 0 and features_apart > 0, got {self}")


def first_places(hashes: Sequence[str]) -> dict[str, int]:
    """Return hash -> place of its first occurrence; "" is left out."""
    found: dict[str, int] = {}
    for at, text in enumerate(hashes):
        if text:
            found.setdefault(text, at)
    return found


def first_of_equal(keys: Sequence[str]) -> Tensor:
    """Return for each key the place of its first occurrence; "" equals nothing."""
    places = first_places(keys)
    return torch.tensor([places.get(key, at) for at, key in enumerate(keys)], dtype=torch.long)


def close_pairs(bank: Tensor, queries: Tensor | None, settings: NearSettings) -> tuple[Tensor, Tensor]:
    """Return the pairs (query, bank row) of unit vectors that are close enough; without queries, pairs of the bank."""
    found = nearest_neighbours(bank, settings.neighbours, queries=queries, include_self=False)
    threshold = settings.threshold
    if len(bank) > settings.neighbours:
        threshold = max(threshold, 1 - settings.apart * (1 - float(found.similarities[:, -1].median())))
    # Rounding must not part identical vectors at a threshold of 1.
    rows, ranks = (found.similarities >= threshold - 1e-6).nonzero(as_tuple=True)
    return rows, found.indices[rows, ranks]


def near_pairs(
    twins: Tensor,
    hashes: Sequence[str],
    perceptual: PerceptualHashes,
    settings: NearSettings,
    features: Tensor | None = None,
) -> tuple[Tensor, Tensor]:
    """Return the near pairs among images of different content, as two index tensors.

    Args:
        twins: ``(N,)`` the first image with the same content.
        hashes: N content hashes; an image with "" is left out.
        perceptual: hashes of the N images.
        settings: how near is near.
        features: ``(N, D)`` of a frozen network, which must agree as well.
    """
    own = (twins == torch.arange(len(hashes))) & torch.tensor([bool(text) for text in hashes], dtype=torch.bool)
    places = own.nonzero().squeeze(1)
    vectors = perceptual.vectors()[places]
    # Equal vectors would crowd out all other neighbours, so only the first of them is searched with.
    firsts = first_of_equal([_digest(row.tobytes()) if row.any() else "" for row in vectors.numpy()])
    one, other = places, places[firsts]
    searched = (firsts == torch.arange(len(places))).nonzero().squeeze(1)
    if len(searched) > 1:
        rows, columns = close_pairs(vectors[searched], None, settings)
        chosen = places[searched]
        one, other = torch.cat([one, chosen[rows]]), torch.cat([other, chosen[columns]])
    alike = look_alike(perceptual, one, perceptual, other, settings)
    one, other = one[alike], other[alike]
    if features is not None:
        agree = features_agree(features, one, other, settings)
        one, other = one[agree], other[agree]
    return one, other


def look_alike(
    perceptual: PerceptualHashes, one: Tensor, others: PerceptualHashes, other: Tensor, settings: NearSettings
) -> Tensor:
    """Return for each pair of places ``(M,)`` in two sets whether their difference hashes and colours agree, bool."""
    agree = (perceptual.bits[one] != others.bits[other]).sum(dim=1) <= settings.max_bits
    places = agree.nonzero().squeeze(1)
    for part in places.split(PAIRS_AT_ONCE) if len(places) else ():
        small = perceptual.small[one[part]], others.small[other[part]]
        most, spot = colour_differences(*small)
        agree[part] = (most <= settings.max_colour) & (spot <= settings.max_spot)
        agree[part] &= alone_by(*small) <= settings.max_alone + most
    return agree


def colour_differences(one: Tensor, other: Tensor) -> tuple[Tensor, Tensor]:
    """Return how far the small pictures of M pairs ``(M, 768)`` differ in colour, each ``(M,)`` as a share of white.

    Brightness and contrast of the one are fitted to those of the other by least squares, the same for all colours.
    A cell differs as its most different colour does; a tenth of the cells exceed the first value, a fiftieth the
    second.
    """
    a, b, _ = _fitted(one, other)
    cells = (b - a).view(len(a), 3, a.shape[1] // 3).abs().amax(dim=1)
    most, spot = torch.quantile(cells, torch.tensor([0.9, 0.98]), dim=1)
    return most, spot


def alone_by(one: Tensor, other: Tensor) -> Tensor:
    """Return how far any cell of M pairs ``(M, 768)`` lies beyond the nine around its place in the other, ``(M,)``.

    A share of white, after brightness and contrast are fitted as in ``colour_differences``. Cells of the border do not
    count, which cropping takes away.
    """
    return torch.minimum(_alone_by(one, other), _alone_by(other, one))


def _alone_by(one: Tensor, other: Tensor) -> Tensor:
    a, b, mean = _fitted(one, other)
    # What was brightened beyond white has become white.
    a = torch.minimum(torch.maximum(a, -mean), 1 - mean)
    a, b = (part.view(-1, 3, SMALL, SMALL) for part in (a, b))
    return torch.maximum(_beyond_surroundings(a, b), _beyond_surroundings(b, a))


def _beyond_surroundings(cells: Tensor, others: Tensor) -> Tensor:
    """Return by how much any cell ``(M, 3, 16, 16)`` lies outside the range of the nine around its place, ``(M,)``."""
    highest, lowest = functional.max_pool2d(others, 3, 1, 1), -functional.max_pool2d(-others, 3, 1, 1)
    outside = torch.maximum(cells - highest, lowest - cells).clamp_min(0)
    return outside[:, :, 1:-1, 1:-1].amax(dim=(1, 2, 3))


def _fitted(one: Tensor, other: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Return the small pictures of M pairs as shares of white without their mean, one fitted to the other's brightness.

    Returns:
        one, fitted, and other, each ``(M, 768)``, and the mean ``(M, 1)`` of the other.
    """
    a, b = one.float() / 255, other.float() / 255
    mean = b.mean(dim=1, keepdim=True)
    a, b = a - a.mean(dim=1, keepdim=True), b - mean
    gain = (a * b).sum(dim=1, keepdim=True) / a.square().sum(dim=1, keepdim=True).clamp_min(1e-9)
    return gain * a, b, mean


def features_agree(features: Tensor, one: Tensor, other: Tensor, settings: NearSettings) -> Tensor:
    """Return for each pair of places ``(M,)`` whether their features ``(N, D)`` are much alike, bool."""
    if not len(one):
        return torch.ones(0, dtype=torch.bool)
    least = 1 - settings.features_apart * usual_distance(features, settings.neighbours)
    parts = zip(one.split(PAIRS_AT_ONCE), other.split(PAIRS_AT_ONCE), strict=True)
    return torch.cat([(unit(features[a]) * unit(features[b])).sum(dim=1) >= least - 1e-6 for a, b in parts])


def usual_distance(features: Tensor, neighbours: int) -> float:
    """Return the median of one minus the cosine between an image and its last of some neighbours.

    Large sets are represented by some images spread over them, and the rank of the neighbour shrinks with them.
    """
    step = -(-len(features) // SAMPLE)
    bank = unit(features[::step])
    bank = bank[bank.any(dim=1)]
    rank = max(1, round(neighbours / step))
    if len(bank) <= rank:
        return 1.0
    found = nearest_neighbours(bank, rank, include_self=False)
    return 1 - float(found.similarities[:, -1].median())


def unit(features: Tensor) -> Tensor:
    """Return features as unit vectors; zeros stay."""
    return functional.normalize(features.float(), dim=1)


def _digest(content: bytes) -> str:
    return hashlib.blake2b(content, digest_size=16).hexdigest()
