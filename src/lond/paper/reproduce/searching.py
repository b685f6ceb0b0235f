"""How long neighbours are looked for: that grows with the square of the images, so passes over them do not tell."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from functools import lru_cache

import torch

from lond.config import RunConfig
from lond.identify import nearest_neighbours

SEARCHES: Mapping[str, tuple[float, int, int]] = {
    "lond-drs": (1.2, 128, 200),
    "ngc": (2.0, 128, 200),
    "nce": (2.5, 640, 20),
}
"""Method -> what an epoch after warm-up costs in searches among all images, the width of what is searched, and k."""

QUERIES = 64
"""Images whose neighbours are looked for to measure a search."""

Fastest = Callable[[Callable[[], None], Callable[[], float]], float]


def search_seconds(config: RunConfig, images: int, fastest: Fastest) -> float:
    """Return the seconds of one thread that a run spends on searches on a CPU; a GPU takes next to none.

    Args:
        config: of the run.
        images: how many it learns from.
        fastest: returns the seconds of the fastest of several steps, by a clock.
    """
    if config.method not in SEARCHES:
        return 0.0
    count, width, k = SEARCHES[config.method]
    epochs = max(0, config.train.epochs - getattr(config.settings, "warmup_epochs", 0))
    return epochs * count * one_search(images, width, k, fastest) if epochs else 0.0


@lru_cache
def one_search(images: int, width: int, k: int, fastest: Fastest) -> float:
    """Return the seconds of one search among all images, from that for a few of them."""
    with torch.random.fork_rng(devices=[]):
        bank = torch.rand(images, width)
    queries = bank[:QUERIES]

    def step() -> None:
        nearest_neighbours(bank, k, queries=queries)

    return fastest(step, time.process_time) * images / len(queries)
