"""The one way from images to what is known of them without training, for audits, training and prediction."""

from __future__ import annotations

import io
import math
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import islice
from pathlib import Path

import numpy as np
import torch
from PIL import Image
from torch import Tensor

from lond.data.feature_views import is_features
from lond.data.read.files import Progress
from lond.frozen.cache import ROWS_A_FILE, ContentCache, Features
from lond.frozen.extractor import Extractor, ExtractorSettings
from lond.frozen.hashes import SIDE, SMALL, PerceptualHashes
from lond.frozen.measures import LOOK, MEASURES, Measured
from lond.frozen.pictures import BATCH, THUMBNAIL, Part, Wanted, read_parts, thumbnail_of
from lond.types import Samples

FEATURES, BITS, SMALL_PICTURES, MEASURED, THUMBNAILS = "features", "bits", "small", "measures", "thumbnails"
"""Names in the cache."""


def quiet(name: str) -> Progress:
    """Return a progress function that shows nothing."""
    return lambda done, total: None


@dataclass(frozen=True)
class FeatureReader:
    """Reads each image once, and computes what the cache does not hold.

    Attributes:
        cache: folder of what was computed, by content; None keeps it only as long as it is needed.
        device: where the network runs.
        progress: function that returns a progress function for a named piece of work.
    """

    cache: Path | None
    device: torch.device
    progress: Callable[[str], Progress] = quiet

    def read(
        self,
        samples: Samples,
        network: ExtractorSettings | None,
        *,
        perceptual: bool = False,
        thumbnails: bool = False,
        whole: bool = False,
        squares_beyond: float = math.inf,
    ) -> ImageFacts:
        """Return what is known of all images.

        Args:
            samples: N images of any size, or features.
            network: computes the features; None computes none.
            perceptual: also return perceptual hashes and measures; features have none.
            thumbnails: also keep thumbnails (with ``perceptual`` only), so that no image is read again for them.
            whole: without a network, hash images that are no files as one that sees them whole does.
            squares_beyond: as one that sees longer ones in three squares.
        """
        perceptual = perceptual and not is_features(samples.pixels)
        if network is not None:
            whole, squares_beyond = network.whole, network.limit
        features = None if network is None else ContentCache(self.cache, network.key())
        seen = ContentCache(self.cache, _picture_key(samples)) if perceptual else None
        wanted = Wanted(
            input_side=0 if network is None else network.size,
            whole=whole,
            squares_beyond=squares_beyond,
            perceptual=perceptual,
            thumbnails=thumbnails,
            known_inputs=frozenset() if features is None else features.known(),
            known_pictures=frozenset() if seen is None else seen.known(),
        )
        writers: list[_FeatureWriter | _PictureWriter] = []
        if network is not None and features is not None:
            writers.append(_FeatureWriter(features, lambda: Extractor(network, self.device, self.cache)))
        if seen is not None:
            writers.append(_PictureWriter(seen))
        hashes: list[str] = []
        reasons: dict[int, str] = {}
        progress = self.progress("reading")
        for part in read_parts(samples.pixels, wanted):
            for writer in writers:
                writer.add(part)
            reasons |= {len(hashes) + row: reason for row, reason in part.reasons.items()}
            hashes += part.hashes
            progress(len(hashes), len(samples))
        for writer in writers:
            writer.finish()
        perceived, measured = _perceptual(seen, hashes), _measures(seen, hashes)
        return ImageFacts(
            samples, hashes, reasons, _features(features, hashes), perceived, seen, measured, whole, squares_beyond
        )


@dataclass(frozen=True)
class ImageFacts:
    """What is known of N images without training.

    ``hashes`` are SHA-256 of each image's content: of the bytes of a file, of the pixels of any other image (those of
    the resized square if it is resized on reading); "" if it is unreadable. Equal hashes mean equal images.
    ``unreadable`` is index -> reason. ``features`` ``(N, V, D)`` are zeros for unreadable images, and have no columns
    if none were asked for. ``measures`` ``(N, 8)`` are those of ``lond.frozen.measures``, zeros for unreadable images.
    ``whole`` says whether images resized on reading were seen whole, ``squares_beyond`` from which long side by short
    side on they were seen in three squares.
    """

    samples: Samples
    hashes: list[str]
    unreadable: dict[int, str]
    features: Features
    perceptual: PerceptualHashes | None
    pictures: ContentCache | None
    measures: Measured | None = None
    whole: bool = False
    squares_beyond: float = math.inf

    def thumbnail(self, place: int) -> Image.Image | None:
        """Return a small picture of one image; None if it is unreadable or there are only features of it."""
        if place in self.unreadable or is_features(self.samples.pixels):
            return None
        stored = b"" if self.pictures is None else self.pictures.blob(self.hashes[place], THUMBNAILS)
        if stored:
            return Image.open(io.BytesIO(stored)).convert("RGB")
        return thumbnail_of(self.samples.pixels, place)


class _FeatureWriter:
    """Runs the network on batches of new images and stores their features; equal images are computed once.

    Of an image with several inputs it stores their mean. Inputs wait under the image's hash and their place in it.
    """

    def __init__(self, cache: ContentCache, load: Callable[[], Callable[[Tensor], Tensor]]) -> None:
        self.cache, self.load = cache, load
        self.waiting: dict[tuple[str, int], Tensor] = {}
        self.inputs: dict[str, int] = {}
        self.batch = torch.empty(0)
        self.done: dict[str, Tensor] = {}

    @cached_property
    def network(self) -> Callable[[Tensor], Tensor]:
        """The network, loaded at the first batch: never if all features are stored."""
        return self.load()

    def add(self, part: Part) -> None:
        at = 0
        for row, count in Counter(part.input_rows).items():
            content = part.hashes[row]
            if not self._knows(content):
                self.inputs[content] = count
                self.waiting |= {(content, place): part.inputs[at + place] for place in range(count)}
            at += count
        while len(self.waiting) >= BATCH:
            self._compute()

    def finish(self) -> None:
        if self.waiting:
            self._compute()
        self._store()

    def _compute(self) -> None:
        batch = dict(islice(self.waiting.items(), BATCH))
        self.waiting = dict(islice(self.waiting.items(), BATCH, None))
        features = self.network(self._stacked(list(batch.values())))
        for (content, place), found in zip(batch, features, strict=True):
            share = found / self.inputs[content]
            self.done[content] = self.done[content] + share if place else share
        # A batch may end between the inputs of one image.
        if len(self.done) >= ROWS_A_FILE and not any(place for _, place in islice(self.waiting, 1)):
            self._store()

    def _knows(self, content: str) -> bool:
        return content in self.cache or content in self.done or (content, 0) in self.waiting

    def _stacked(self, images: list[Tensor]) -> Tensor:
        """Return one tensor, in the memory of the last one if it fits: fresh memory takes longer than the copy."""
        if self.batch.dtype != images[0].dtype or self.batch.shape[1:] != images[0].shape:
            self.batch = images[0].new_empty(BATCH, *images[0].shape)
        return torch.stack(images, out=self.batch[: len(images)])

    def _store(self) -> None:
        if self.done:
            self.cache.store(list(self.done), {FEATURES: torch.stack(list(self.done.values())).half().numpy()})
            self.done, self.inputs = {}, {content: self.inputs[content] for content, _ in self.waiting}


class _PictureWriter:
    """Stores perceptual hashes, measures and thumbnails of new images."""

    def __init__(self, cache: ContentCache) -> None:
        self.cache = cache
        self.done: dict[str, tuple[Tensor, Tensor, Measured, bytes]] = {}

    def add(self, part: Part) -> None:
        for row, *made in zip(part.picture_rows, *part.perceptual, part.measures, part.thumbnails, strict=True):
            if part.hashes[row] not in self.cache:
                bits, small, measures, thumbnail = made
                self.done.setdefault(part.hashes[row], (bits, small, measures, thumbnail))
        if len(self.done) >= ROWS_A_FILE:
            self.finish()

    def finish(self) -> None:
        if self.done:
            bits, small, measures, thumbnails = zip(*self.done.values(), strict=True)
            columns = {BITS: torch.stack(bits).numpy(), SMALL_PICTURES: torch.stack(small).numpy()}
            columns[MEASURED] = np.stack(measures)
            self.cache.store(list(self.done), columns, {THUMBNAILS: thumbnails})
            self.done = {}


def _picture_key(samples: Samples) -> str:
    height, width = samples.pixels.size
    made = f"thumbnail={THUMBNAIL} measured={LOOK} hashed=whole"
    return f"pictures {height}x{width} channels={samples.pixels.channels} {made}"


def _features(cache: ContentCache | None, hashes: Sequence[str]) -> Features:
    found = None if cache is None else cache.load(hashes, FEATURES)
    return np.zeros((len(hashes), 1, 0), dtype=np.float16) if found is None else found


def _perceptual(cache: ContentCache | None, hashes: Sequence[str]) -> PerceptualHashes | None:
    if cache is None:
        return None
    bits, small = (cache.load(hashes, column) for column in (BITS, SMALL_PICTURES))
    if bits is None or small is None:
        bits, small = np.zeros((len(hashes), SIDE**2), bool), np.zeros((len(hashes), 3 * SMALL**2), np.uint8)
    return PerceptualHashes(torch.from_numpy(bits), torch.from_numpy(small))


def _measures(cache: ContentCache | None, hashes: Sequence[str]) -> Measured | None:
    if cache is None:
        return None
    found = cache.load(hashes, MEASURED)
    return np.zeros((len(hashes), len(MEASURES)), dtype=np.float32) if found is None else found
