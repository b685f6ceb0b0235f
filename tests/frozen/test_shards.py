"""Every image is read by one worker, and what all of them store is what one process computes."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
import pytest
import torch
from cluster.fake_ray import FakeRay
from PIL import Image

from lond.cluster.tasks import Needs, RayCluster
from lond.data.sources import load
from lond.data.squares import SquarePixels
from lond.device import choose_device
from lond.errors import ConfigError
from lond.frozen.cache import ROWS_A_FILE
from lond.frozen.extractor import ExtractorSettings
from lond.frozen.read import FeatureReader
from lond.frozen.shards import RaySpread, ShardedReading, TorchrunSpread, read_shard, read_there, rows_of_shard

NETWORK = ExtractorSettings(size=32, mirrored=False, route="torch")


@pytest.mark.parametrize("count", [0, 1, 5, 10 * ROWS_A_FILE + 7])
@pytest.mark.parametrize("shards", [1, 2, 3, 8])
def test_every_row_is_in_one_shard(count: int, shards: int) -> None:
    parts = [rows_of_shard(count, shard, shards) for shard in range(shards)]
    assert torch.cat(parts).sort().values.tolist() == list(range(count))
    sizes = [len(part) for part in parts]
    assert max(sizes) - min(sizes) <= max(1, ROWS_A_FILE) and (count < shards or min(sizes) > 0 or count < 10)
    # Neighbours stay together, up to the rows of one file.
    jumps = sum(int((part.diff() != 1).sum()) for part in parts if len(part) > 1)
    assert jumps <= count // ROWS_A_FILE


def test_there_is_no_other_shard() -> None:
    with pytest.raises(ConfigError, match="no shard 2 of 2"):
        rows_of_shard(5, 2, 2)


@pytest.fixture
def photos(tmp_path: Path) -> Path:
    random = np.random.default_rng(0)
    for number in range(11):
        path = tmp_path / "photos" / "ab"[number % 2] / f"{number}.png"
        path.parent.mkdir(parents=True, exist_ok=True)
        Image.fromarray(random.integers(0, 255, (16, 16, 3), dtype=np.uint8)).save(path)
    (tmp_path / "photos" / "a" / "broken.png").write_bytes(b"no picture")
    return tmp_path / "photos"


def reading(photos: Path, cache: Path) -> ShardedReading:
    cache.mkdir(exist_ok=True)
    return ShardedReading(load(str(photos)), NETWORK, cache, partial(choose_device, "cpu", 1))


def refuse(*_: object) -> None:
    pytest.fail("it was computed again")


def test_shards_fill_the_cache_with_what_one_process_computes(
    photos: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    work = reading(photos, tmp_path / "shared")
    assert [read_shard(work, shard, 3) for shard in range(3)] == [4, 4, 4]
    alone = FeatureReader(tmp_path / "alone", torch.device("cpu")).read(work.samples, NETWORK, perceptual=True)
    monkeypatch.setattr("lond.frozen.read.Extractor", refuse)
    shared = FeatureReader(work.cache, torch.device("cpu")).read(work.samples, NETWORK, perceptual=True)
    assert shared.hashes == alone.hashes and shared.unreadable == alone.unreadable and len(shared.unreadable) == 1
    np.testing.assert_allclose(shared.features, alone.features, atol=2e-3)
    assert shared.measures is not None and alone.measures is not None
    np.testing.assert_array_equal(shared.measures, alone.measures)
    assert shared.thumbnail(0) is not None


def test_a_cluster_reads_what_is_lost_again_and_leaves_what_fails(photos: Path, tmp_path: Path) -> None:
    ray, told, moved = FakeRay(nodes=[{"CPU": 3.0}]), list[str](), list[tuple[int, int]]()
    ray.losing["part 2 of 3"] = 1
    work = reading(photos, tmp_path / "shared")
    RaySpread(RayCluster(ray), tell=told.append)(work, lambda done, total: moved.append((done, total)))
    assert len(ray.calls) == 4 and moved[-1] == (12, 12)
    assert told == ["part 2 of 3: its machine or process was lost; it resumes elsewhere"]
    elsewhere = replace(work, cache=tmp_path / "not there")
    RaySpread(RayCluster(ray), Needs(2), workers=1, tell=told.append)(elsewhere, lambda *_: None)
    assert "part 1 of 1 of the images was not read on the cluster, but will be here" in told[-1]
    assert "not there; choose a cache on a disk that all share" in told[-1]


def test_a_worker_starts_no_more_processes_than_it_asked_for(photos: Path, tmp_path: Path) -> None:
    work = replace(reading(photos, tmp_path / "shared"), decoders=0)
    assert isinstance(work.samples.pixels, SquarePixels)
    work.samples.pixels.num_workers = 4
    assert read_there("part 1 of 2", 1, work) == 6 and work.samples.pixels.num_workers == 0


def test_a_process_of_its_own_is_no_part_of_torchrun(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("TORCHELASTIC_RUN_ID", raising=False)
    monkeypatch.setenv("WORLD_SIZE", "2")
    assert TorchrunSpread.here() is None
    monkeypatch.setenv("TORCHELASTIC_RUN_ID", "x")
    monkeypatch.setenv("RANK", "1")
    assert TorchrunSpread.here() == TorchrunSpread(1, 2)
    monkeypatch.setenv("WORLD_SIZE", "1")
    assert TorchrunSpread.here() is None


@pytest.mark.slow
def test_an_audit_under_torchrun_is_the_audit_of_one_process(photos: Path, tmp_path: Path) -> None:
    (photos / "a" / "broken.png").unlink()
    options = ["--size", "32", "--epochs", "2", "--folds", "2", "--map", "none", "--accelerator", "cpu"]
    audit = ["-m", "lond.cli", "audit", str(photos), *options, "--out"]
    several = ["-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2"]
    for command, folder in (([*several, *audit], "two"), (audit, "one")):
        done = subprocess.run(
            [sys.executable, *command, str(tmp_path / folder)],
            env=os.environ | {"OMP_NUM_THREADS": "1"}, capture_output=True, text=True, check=False, timeout=200,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
    tables = [(tmp_path / folder / "audit.csv").read_text("utf-8") for folder in ("two", "one")]
    assert tables[0] == tables[1]
    files = [len(list((tmp_path / folder / "features").glob("*/*.safetensors"))) for folder in ("two", "one")]
    assert files[0] == files[1] + 2  # features and pictures, of each process
