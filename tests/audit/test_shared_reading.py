"""Several workers that read for one audit: what they share, and what each of them reads."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from lond.audit.shared_reading import read_own_shard, sharded_reading
from lond.data.read.files import Progress
from lond.data.sources import load
from lond.errors import ConfigError
from lond.frozen.extractor import ExtractorSettings
from lond.frozen.shards import ShardedReading
from lond.train.runtime import RuntimeSettings

RUNTIME = RuntimeSettings("cpu", threads=1)


def images() -> tuple[np.ndarray, list[str]]:
    return np.random.default_rng(0).integers(0, 256, (6, 8, 8, 3), dtype=np.uint8), ["a", "b"] * 3


def test_workers_need_a_folder_that_all_see() -> None:
    with pytest.raises(ConfigError, match="give a cache"):
        sharded_reading(load(images()), None, None, RUNTIME)


@pytest.mark.parametrize("features", [True, False])
def test_a_helper_reads_with_the_network_of_the_audit(features: bool, tmp_path: Path) -> None:
    asked: list[ShardedReading] = []

    def spread(reading: ShardedReading, progress: Progress) -> None:
        asked.append(reading)

    network = ExtractorSettings(size=32)
    read_own_shard(images(), spread, tmp_path / "cache", network, RUNTIME, features=features)
    (reading,) = asked
    assert (len(reading.samples), reading.cache.is_dir()) == (6, True)
    assert network in vars(reading).values() if features else network not in vars(reading).values()
