"""Images that occur more than once: exact copies, near duplicates, conflicting labels, leaks between splits."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import torch
from torch import Tensor

from lond.audit.copies.near import (
    NearSettings,
    close_pairs,
    first_of_equal,
    first_places,
    look_alike,
    near_pairs,
)
from lond.errors import DataError
from lond.frozen.hashes import PerceptualHashes
from lond.identify import connected_components
from lond.types import UNLABELLED

__all__ = ["DuplicateGroups", "Leak", "NearSettings", "find_duplicates", "find_leaks"]

NEAR = NearSettings()


@dataclass(frozen=True)
class DuplicateGroups:
    """Which of N images repeat each other; all tensors are ``(N,)``.

    ``groups`` is the number of the image's group, counted from 0, or -1 if nothing repeats it. ``first`` is the image
    it repeats: for an exact copy that with the same content, for a near duplicate the representative of its group,
    otherwise itself. A representative is the first image with a label, or the first one if none has.
    ``exact`` marks exact copies, their representative not among them. ``conflict`` marks the labelled images of a group
    in which labels differ. ``weights`` counts each content once in votes: 0 for exact copies, 1 for all others.
    """

    groups: Tensor
    first: Tensor
    exact: Tensor
    conflict: Tensor
    weights: Tensor

    def kinds(self) -> tuple[str, ...]:
        """Return for each image how it repeats ``first``: "exact", "near", or "" if it repeats nothing."""
        repeats = (self.first != torch.arange(len(self.first))).tolist()
        pairs = zip(self.exact.tolist(), repeats, strict=True)
        return tuple("exact" if exact else "near" if repeat else "" for exact, repeat in pairs)


class Leak(NamedTuple):
    """An image of the training set that also is in the test set, as the same content (``exact``) or nearly so."""

    train: int
    test: int
    exact: bool


def find_duplicates(
    hashes: Sequence[str],
    labels: Tensor,
    perceptual: PerceptualHashes | None = None,
    settings: NearSettings = NEAR,
    features: Tensor | None = None,
    apart: Collection[int] = (),
) -> DuplicateGroups:
    """Return the groups of images that repeat each other, directly or through others.

    Args:
        hashes: N content hashes; an image with "" is unreadable and repeats nothing.
        labels: ``(N,)`` given labels; ``UNLABELLED`` agrees with any other.
        perceptual: hashes of how the images look; without them only exact copies are found.
        settings: when two images are near copies.
        features: ``(N, D)`` of a frozen network, which those of near copies must share; asked only if given.
        apart: places of images of which a person said that they repeat no other; only their exact copies do.

    Raises:
        DataError: the parts differ in length.
    """
    _check(hashes, labels, perceptual)
    twins = first_of_equal(hashes)
    one, other = torch.arange(len(hashes)), twins
    if perceptual is not None:
        near = near_pairs(twins, hashes, perceptual, settings, features)
        if apart:
            alone = torch.zeros(len(hashes), dtype=torch.bool)
            alone[twins[list(apart)]] = True
            together = ~(alone[twins[near[0]]] | alone[twins[near[1]]])
            near = near[0][together], near[1][together]
        one, other = torch.cat([one, near[0]]), torch.cat([other, near[1]])
    roots = connected_components(len(hashes), one, other)
    labelled = labels.cpu() != UNLABELLED
    own = _representatives(twins, labelled)
    exact = own != torch.arange(len(hashes))
    return DuplicateGroups(
        groups=_numbered(roots),
        first=torch.where(exact, own, _representatives(roots, labelled)),
        exact=exact,
        conflict=in_conflict(roots, labels.cpu(), labelled),
        weights=(~exact).float(),
    )


def find_leaks(
    train_hashes: Sequence[str],
    test_hashes: Sequence[str],
    train_perceptual: PerceptualHashes | None = None,
    test_perceptual: PerceptualHashes | None = None,
    settings: NearSettings = NEAR,
) -> list[Leak]:
    """Return pairs of equal or nearly equal images of two sets, ordered by test image.

    Each image that shares its content with the other set is in at least one exact pair (not every combination is
    listed); near pairs are those of a test image with its nearest training images, and need perceptual hashes of both
    sets.

    Raises:
        DataError: the parts differ in length.
    """
    _check(train_hashes, None, train_perceptual)
    _check(test_hashes, None, test_perceptual)
    leaks = _exact_leaks(train_hashes, test_hashes)
    train_places, test_places = _readable(train_hashes), _readable(test_hashes)
    if train_perceptual is not None and test_perceptual is not None and len(train_places) and len(test_places):
        bank, queries = train_perceptual.vectors()[train_places], test_perceptual.vectors()[test_places]
        rows, columns = close_pairs(bank, queries, settings)
        test, train = test_places[rows], train_places[columns]
        alike = look_alike(train_perceptual, train, test_perceptual, test, settings)
        pairs = zip(train[alike].tolist(), test[alike].tolist(), strict=True)
        leaks |= {Leak(a, b, exact=False) for a, b in pairs if train_hashes[a] != test_hashes[b]}
    return sorted(leaks, key=lambda leak: (leak.test, leak.train))


def _check(hashes: Sequence[str], labels: Tensor | None, perceptual: PerceptualHashes | None) -> None:
    parts = [hashes, *([] if labels is None else [labels]), *(perceptual or ())]
    lengths = {len(part) for part in parts}
    if len(lengths) > 1:
        raise DataError(f"hashes, labels and perceptual hashes differ in length: {sorted(lengths)}")


def _exact_leaks(train_hashes: Sequence[str], test_hashes: Sequence[str]) -> set[Leak]:
    first_train, first_test = first_places(train_hashes), first_places(test_hashes)
    shared = first_train.keys() & first_test.keys()
    leaks = {Leak(at, first_test[text], exact=True) for at, text in enumerate(train_hashes) if text in shared}
    return leaks | {Leak(first_train[text], at, exact=True) for at, text in enumerate(test_hashes) if text in shared}


def _readable(hashes: Sequence[str]) -> Tensor:
    return torch.tensor([at for at, text in enumerate(hashes) if text], dtype=torch.long)


def _representatives(roots: Tensor, labelled: Tensor) -> Tensor:
    """Return for each image the first labelled one of its component, or the first one."""
    count = len(roots)
    places = torch.arange(count)
    ranks = torch.where(labelled, places, places + count)
    return ranks.new_full((count,), 2 * count).scatter_reduce_(0, roots, ranks, "amin")[roots] % max(count, 1)


def _numbered(roots: Tensor) -> Tensor:
    sizes = torch.bincount(roots, minlength=len(roots))
    numbers = (sizes > 1).cumsum(0) - 1
    return torch.where(sizes[roots] > 1, numbers[roots], -1)


def in_conflict(roots: Tensor, labels: Tensor, labelled: Tensor) -> Tensor:
    """Return which of the ``labelled`` images ``(N,)`` are in a group, numbered from 0, in which labels differ."""
    count = len(roots)
    known = labels[labelled]
    empty = torch.zeros(count, dtype=labels.dtype)
    lowest = empty.scatter_reduce(0, roots[labelled], known, "amin", include_self=False)
    highest = empty.scatter_reduce(0, roots[labelled], known, "amax", include_self=False)
    return (lowest != highest)[roots] & labelled
