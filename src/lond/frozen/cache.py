"""Features of a frozen network, computed once and kept: a changed image is computed again, an unchanged one never.

The cache is a folder of small files. Each holds the features of some images under the hashes of their content, so it
does not matter where an image lies or what it is called. A run that was cut goes on after the last file.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from safetensors import SafetensorError, safe_open
from safetensors.numpy import load_file, save_file

from lond.data.resized import at_side
from lond.data.squares import unreadable
from lond.frozen.extractor import Extractor, ExtractorSettings
from lond.io.atomic import write_atomically
from lond.io.json_files import json_line
from lond.types import Request, Samples

ROWS_A_FILE = 1024
"""Images of one file of the cache: what is lost when a run is killed."""

BATCH = 64
"""Images that the network sees at once."""

ABOUT = "about.json"
"""File that tells a person which network's features a folder holds."""

Progress = Callable[[int, int], None]
"""Called with (images done, images in all)."""

Features = np.ndarray[tuple[int, int, int], np.dtype[np.floating[Any]]]
"""Stored as float16; embeddings of one's own as they are."""


class FeatureCache:
    """The stored features of one network.

    Args:
        folder: where all networks' features are kept.
        settings: the network; each has a folder of its own.
    """

    def __init__(self, folder: Path, settings: ExtractorSettings) -> None:
        """Find what is stored already."""
        self.settings = settings
        digest = hashlib.sha256(settings.key().encode()).hexdigest()[:16]
        self.folder = folder / digest
        self._places: dict[str, tuple[Path, int]] = {}
        for path in sorted(self.folder.glob("*.safetensors")):
            self._index(path)

    def _index(self, path: Path) -> None:
        try:
            with safe_open(path, framework="numpy") as file:
                hashes = file.get_tensor("hashes")
        except (SafetensorError, OSError):
            # A damaged file counts as never written: its images are computed again.
            return
        for row, content in enumerate(hashes):
            self._places[content.tobytes().hex()] = (path, row)

    def __contains__(self, content_hash: str) -> bool:
        """Tell whether an image's features are stored."""
        return content_hash in self._places

    def store(self, hashes: Sequence[str], features: Features) -> None:
        """Keep the features ``(n, V, D)`` of images with these content hashes (64 hexadecimal digits)."""
        self.folder.mkdir(parents=True, exist_ok=True)
        if not (self.folder / ABOUT).is_file():
            write_atomically(self.folder / ABOUT, json_line({"features": self.settings.key()}))
        name = hashlib.sha256("".join(hashes).encode()).hexdigest()[:16]
        path = self.folder / f"{name}.safetensors"
        raw = np.frombuffer(bytes.fromhex("".join(hashes)), dtype=np.uint8).reshape(len(hashes), -1)
        rows = np.ascontiguousarray(features, dtype=np.float16)
        write_atomically(path, lambda place: save_file({"hashes": raw.copy(), "features": rows}, place))
        self._places |= {content: (path, row) for row, content in enumerate(hashes)}

    def load(self, hashes: Sequence[str]) -> Features:
        """Return the features ``(N, V, D)`` of images in this order; all must be stored."""
        by_file: dict[Path, list[tuple[int, int]]] = {}
        for place, content in enumerate(hashes):
            path, row = self._places[content]
            by_file.setdefault(path, []).append((place, row))
        found: Features | None = None
        for path, pairs in by_file.items():
            stored = load_file(path)["features"]
            if found is None:
                found = np.empty((len(hashes), *stored.shape[1:]), dtype=np.float16)
            places, rows = zip(*pairs, strict=True)
            found[list(places)] = stored[list(rows)]
        return np.empty((0, self.settings.views, 1), dtype=np.float16) if found is None else found


@dataclass(frozen=True)
class Computed:
    """Features ``(N, V, D)`` of N images (zeros for unreadable ones), and index -> reason of those."""

    features: Features
    unreadable: dict[int, str]


def compute_features(
    samples: Samples,
    hashes: Sequence[str],
    cache: FeatureCache,
    device: torch.device | str = "cpu",
    progress: Progress | None = None,
) -> Computed:
    """Return the features of all samples, computing those that the cache does not hold.

    Pictures are read from their files at the size that the network sees; images in memory it enlarges itself.

    Args:
        samples: N images, of any size.
        hashes: their content hashes; equal images are computed once, and one with "" is unreadable.
        cache: of the network to use.
        device: where the network runs.
        progress: told how many images are computed.
    """
    pixels = samples.pixels
    if pixels.crops_on_read:
        pixels = at_side(pixels, cache.settings.size)
    first = {content: index for index, content in reversed(list(enumerate(hashes))) if content not in cache}
    empty = [index for index, content in enumerate(hashes) if not content]
    missing = sorted({*first.values(), *empty})
    extractor = Extractor(cache.settings, device) if missing else None
    for start in range(0, len(missing), ROWS_A_FILE):
        indices = missing[start : start + ROWS_A_FILE]
        assert extractor is not None
        rows = []
        for images in pixels.stream([Request(part) for part in torch.tensor(indices).split(BATCH)]):
            rows.append(extractor(images[0]))
            if progress is not None:
                progress(start + sum(map(len, rows)), len(missing))
        bad = unreadable(pixels)
        good = [place for place, index in enumerate(indices) if index not in bad and hashes[index]]
        if good:
            cache.store([hashes[indices[place]] for place in good], torch.cat(rows)[good].half().numpy())
    return _gathered(hashes, cache, unreadable(pixels))


def _gathered(hashes: Sequence[str], cache: FeatureCache, reasons: dict[int, str]) -> Computed:
    places = [index for index, content in enumerate(hashes) if content in cache]
    stored = cache.load([hashes[index] for index in places])
    features = np.zeros((len(hashes), *stored.shape[1:]), dtype=np.float16)
    features[places] = stored
    known = set(places)
    # A copy of an unreadable file was not looked at itself, but is just as unreadable.
    by_content = {hashes[index]: reason for index, reason in reasons.items()}
    lost = {i: reasons.get(i) or by_content.get(content, "cannot be read") for i, content in enumerate(hashes)}
    return Computed(features, {index: reason for index, reason in lost.items() if index not in known})
