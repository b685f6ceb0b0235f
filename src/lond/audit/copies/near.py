"""Which images are nearly the same: by perceptual hashes, which scaling and compression change little."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from lond.errors import ConfigError
from lond.frozen.hashes import PerceptualHashes
from lond.identify import nearest_neighbours


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
    """

    threshold: float = 0.97
    apart: float = 0.1
    neighbours: int = 10
    max_bits: int = 12

    def __post_init__(self) -> None:
        """Check that the threshold lies in (0, 1] and the other limits are in range."""
        if not 0 < self.threshold <= 1 or self.apart <= 0 or self.neighbours < 1 or self.max_bits < 0:
            raise ConfigError(f"need 0 < threshold <= 1, apart > 0, neighbours >= 1 and max_bits >= 0, got {self}")


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
    twins: Tensor, hashes: Sequence[str], perceptual: PerceptualHashes, settings: NearSettings
) -> tuple[Tensor, Tensor]:
    """Return the near pairs among images of different content, as two index tensors.

    Args:
        twins: ``(N,)`` the first image with the same content.
        hashes: N content hashes; an image with "" is left out.
        perceptual: hashes of the N images.
        settings: how near is near.
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
    return one[alike], other[alike]


def look_alike(
    perceptual: PerceptualHashes, one: Tensor, others: PerceptualHashes, other: Tensor, settings: NearSettings
) -> Tensor:
    """Return for each pair of places ``(M,)`` in two sets whether their difference hashes agree, bool."""
    return (perceptual.bits[one] != others.bits[other]).sum(dim=1) <= settings.max_bits


def _digest(content: bytes) -> str:
    return hashlib.blake2b(content, digest_size=16).hexdigest()
