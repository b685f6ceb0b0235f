"""Which images are nearly the same: close features and, where asked, like looks."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn import functional

from lond.errors import ConfigError
from lond.identify import nearest_neighbours


@dataclass(frozen=True)
class NearSettings:
    """When two images are near duplicates.

    Attributes:
        threshold: least cosine of their features. 0.98 is meant to miss a duplicate rather than to call two images of
            one class the same; features of a trained classifier lie close together within a class, so give the looks
            (``difference_bits``) too.
        neighbours: how many nearest images are looked at; a larger group of near duplicates may fall apart.
        max_bits: most bits of 64 in which their looks may differ, where looks are given.
    """

    threshold: float = 0.98
    neighbours: int = 10
    max_bits: int = 4

    def __post_init__(self) -> None:
        """Refuse settings that mean nothing."""
        if not 0 < self.threshold <= 1 or self.neighbours < 1 or self.max_bits < 0:
            raise ConfigError(f"need 0 < threshold <= 1, neighbours >= 1 and max_bits >= 0, got {self}")


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


def unit_rows(features: Tensor) -> Tensor:
    """Return unit rows; what is not a number, from an image that failed, is near to nothing."""
    clean = torch.where(features.isfinite().all(dim=1, keepdim=True), features, torch.zeros_like(features))
    return functional.normalize(clean.float().cpu(), dim=1)


def close_pairs(bank: Tensor, queries: Tensor | None, settings: NearSettings) -> tuple[Tensor, Tensor]:
    """Return the pairs (query, bank row) that are close enough; without queries, pairs within the bank."""
    found = nearest_neighbours(bank, settings.neighbours, queries=queries, include_self=False)
    # Rounding must not part identical vectors at a threshold of 1.
    rows, ranks = (found.similarities >= settings.threshold - 1e-6).nonzero(as_tuple=True)
    return rows, found.indices[rows, ranks]


def near_pairs(
    twins: Tensor, hashes: Sequence[str], features: Tensor, bits: Tensor | None, settings: NearSettings
) -> tuple[Tensor, Tensor]:
    """Return the near pairs among images of different content, as two index tensors.

    Args:
        twins: ``(N,)`` the first image with the same content.
        hashes: N content hashes; an image with "" is left out.
        features: ``(N, D)``.
        bits: ``(N, 64)`` looks that must agree, or None.
        settings: how near is near.
    """
    own = (twins == torch.arange(len(hashes))) & torch.tensor([bool(text) for text in hashes], dtype=torch.bool)
    places = own.nonzero().squeeze(1)
    vectors = unit_rows(features[places])
    # Equal vectors would crowd out all other neighbours, so only the first of them is searched with.
    firsts = first_of_equal([_digest(row.tobytes()) if row.any() else "" for row in vectors.numpy()])
    one, other = places, places[firsts]
    searched = (firsts == torch.arange(len(places))).nonzero().squeeze(1)
    if len(searched) > 1:
        rows, columns = close_pairs(vectors[searched], None, settings)
        chosen = places[searched]
        one, other = torch.cat([one, chosen[rows]]), torch.cat([other, chosen[columns]])
    if bits is not None:
        alike = look_alike(bits, one, bits, other, settings)
        one, other = one[alike], other[alike]
    return one, other


def look_alike(bits: Tensor, one: Tensor, other_bits: Tensor, other: Tensor, settings: NearSettings) -> Tensor:
    """Return for each pair of places ``(M,)`` in two sets whether their looks agree, bool."""
    return (bits.cpu()[one] != other_bits.cpu()[other]).sum(dim=1) <= settings.max_bits


def _digest(content: bytes) -> str:
    return hashlib.blake2b(content, digest_size=16).hexdigest()
