"""Audited images that are in the test set as well."""

from __future__ import annotations

from typing import Any

from lond.audit.copies.duplicates import find_leaks
from lond.data.options import ReadOptions
from lond.data.sources import has_split, load
from lond.frozen.read import FeatureReader, ImageFacts


def leaks_into_test(
    source: object, test: object, facts: ImageFacts, options: ReadOptions, reader: FeatureReader
) -> list[dict[str, Any]]:
    """Return the ids of images that are in the test set, too, and whether as exact copies.

    Args:
        source: the audited images, whose own test split is searched if ``test`` is None.
        test: the test images.
        facts: what is known of the audited images.
        options: how the test images are read.
        reader: reads them.
    """
    if test is None and not has_split(source, "test", options):
        return []
    samples = facts.samples
    others = load(source if test is None else test, "test", class_names=samples.class_names, options=options)
    other = reader.read(others, None, perceptual=True, whole=facts.whole, squares_beyond=facts.squares_beyond)
    leaks = find_leaks(facts.hashes, other.hashes, facts.perceptual, other.perceptual)
    return [{"id": samples.ids[leak.train], "test_id": others.ids[leak.test], "exact": leak.exact} for leak in leaks]
