"""What can be known of images before anything is learned: content, looks, features, copies in a test set."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import torch

from lond.audit.copies.duplicates import find_leaks
from lond.data.feature_views import FeaturePixels
from lond.data.options import ReadOptions
from lond.data.sources import has_split, load
from lond.data.squares import unreadable
from lond.frozen.cache import Computed, FeatureCache, Progress, compute_features
from lond.frozen.extractor import ExtractorSettings
from lond.frozen.hashes import Looks, content_hashes, looks_of
from lond.train.runtime import RuntimeSettings
from lond.types import Samples


@dataclass(frozen=True)
class Known:
    """Images and what is known of them before anything is learned; embeddings have no ``looks``."""

    samples: Samples
    hashes: list[str]
    computed: Computed
    looks: Looks | None

    def blanked(self) -> Known:
        """Return the same without the hashes of unreadable images: damaged files are nobody's copies."""
        bad = self.computed.unreadable
        return replace(self, hashes=["" if place in bad else text for place, text in enumerate(self.hashes)])


@dataclass(frozen=True)
class Looker:
    """The costly parts, with their progress."""

    extractor: ExtractorSettings
    runtime: RuntimeSettings
    cache: Path
    progress: Callable[[str], Progress]

    def look(self, samples: Samples, own: FeaturePixels | None = None) -> Known:
        """Return hashes, features and looks of all images; ``own`` are features that need not be computed."""
        hashes = content_hashes(samples, self.progress("reading"))
        if isinstance(samples.pixels, FeaturePixels):
            return Known(samples, hashes, Computed(samples.pixels.values, {}), None)
        looks = looks_of(samples, self.progress("looks"))
        if own is not None:
            return Known(samples, hashes, Computed(own.values, unreadable(samples.pixels)), looks).blanked()
        device = "cuda" if self.runtime.accelerator in ("auto", "gpu") and torch.cuda.is_available() else "cpu"
        if self.runtime.threads:
            torch.set_num_threads(self.runtime.threads)
        cached = FeatureCache(self.cache, self.extractor)
        computed = compute_features(samples, hashes, cached, device, self.progress("features"))
        return Known(samples, hashes, computed, looks).blanked()

    def leaks(self, source: object, test: object, known: Known, options: ReadOptions) -> list[dict[str, Any]]:
        """Return which images are in the test set as well."""
        if test is None and not has_split(source, "test", options):
            return []
        samples = known.samples
        others = load(source if test is None else test, "test", class_names=samples.class_names, options=options)
        other = self.look(others)
        leaks = find_leaks(known.hashes, other.hashes, known.looks, other.looks)
        return [
            {"id": samples.ids[leak.train], "test_id": others.ids[leak.test], "exact": leak.exact} for leak in leaks
        ]
