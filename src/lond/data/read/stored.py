"""Pictures that lie inside other files (archives, photographs with boxes) as squares, with names of their own."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from itertools import islice
from typing import Protocol

from lond.data.images import UnreadableImage
from lond.data.options import ReadOptions, is_training
from lond.data.pixels import short_hash
from lond.data.read.files import LARGEST_GUESS
from lond.data.read.labels import class_names_of, encode, read_names
from lond.data.squares import OpenedPicture, SquarePixels, default_workers
from lond.errors import DataError, counted
from lond.types import Problem, Samples

_PROBES = 33
"""Pictures whose size tells that of the squares."""


class NamedStore(Protocol):
    """Pictures with names; it travels to worker processes."""

    @property
    def names(self) -> tuple[str, ...]:
        """Return the name of every picture."""

    def __len__(self) -> int:
        """Return the number of pictures."""

    def open(self, index: int) -> OpenedPicture:
        """Read one image, or raise ``UnreadableImage``."""

    def state(self) -> bytes:
        """Return bytes that change when the pictures do."""


class StoredPixels(SquarePixels):
    """Squares of the pictures of a store."""

    opens_in_threads = True

    def __init__(self, store: NamedStore, options: ReadOptions) -> None:
        """Read squares of the size asked, or of the median short side of some pictures, at most 224."""
        self._named = store
        workers = default_workers() if options.num_workers is None else options.num_workers
        super().__init__(store, options.size or _guess_side(store), options.channels, workers)

    def name(self, index: int) -> str:
        """Return the name of one picture."""
        return self._named.names[index]

    def _compute_fingerprint(self) -> str:
        return short_hash(str((len(self), self.size, self.channels)), self._named.state())


def stored_samples(
    store: NamedStore,
    labels: Sequence[object],
    options: ReadOptions,
    *,
    split: str,
    class_names: Sequence[str] | None,
    origin: str,
    problems: Sequence[Problem] = (),
) -> Samples:
    """Return the pictures of a store as samples whose ids are their names; labels are names, or None for none.

    Raises:
        DataError: there are no pictures.
    """
    if not len(store):
        why = f"; the first: {problems[0].id}: {problems[0].reason}" if problems else ""
        raise DataError(f"{origin} holds no picture that can be used{why}")
    names = read_names(labels)
    known = class_names_of(names) if class_names is None else tuple(class_names)
    foreign_allowed = class_names is not None or not is_training(split)
    return Samples(
        StoredPixels(store, options),
        encode(names, known, foreign_allowed=foreign_allowed, positions=False),
        known,
        store.names,
        origin=origin,
        problems=tuple(problems),
    )


def _guess_side(store: NamedStore) -> int:
    count = len(store)
    sides = [side for place in range(0, count, max(1, count // _PROBES)) if (side := _side(store, place))]
    # Where many pictures are damaged, the first good one must do.
    sides = sides or list(islice(filter(None, (_side(store, place) for place in range(count))), 1))
    if not sides:
        raise DataError(f"no image can be read from {counted(count, 'picture')}; check {store.names[0]}")
    return min(LARGEST_GUESS, int(statistics.median_low(sides)))


def _side(store: NamedStore, place: int) -> int:
    """Return the short side of a picture, 0 if it cannot be read."""
    try:
        extent = store.open(place).extent()
    except UnreadableImage:
        return 0
    return min(extent.width, extent.height)
