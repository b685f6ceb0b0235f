"""Rows by content hash: kept in files, in any order, as long as asked."""

from __future__ import annotations

import gc
from pathlib import Path

import numpy as np
import pytest

from lond.frozen.cache import ContentCache

HASHES = [f"{number:064x}" for number in range(5)]
VALUES = np.arange(10, dtype=np.float16).reshape(5, 2)
BLOBS = [b"", b"one", b"two two", b"\0three", b"4"]


def filled(folder: Path | None, key: str = "key") -> ContentCache:
    cache = ContentCache(folder, key)
    for part in (slice(0, 3), slice(3, 5)):
        cache.store(HASHES[part], {"rows": VALUES[part]}, {"blobs": BLOBS[part]})
    return cache


def test_rows_come_back_in_any_order_also_in_a_new_process(tmp_path: Path) -> None:
    filled(tmp_path)
    cache = ContentCache(tmp_path, "key")
    assert cache.known() == set(HASHES)
    assert HASHES[2] in cache and "f" * 64 not in cache
    asked = [HASHES[4], "", HASHES[0], HASHES[4]]
    found = cache.load(asked, "rows")
    assert found is not None and found.dtype == np.float16
    assert found.tolist() == [[8, 9], [0, 0], [0, 1], [8, 9]]
    assert cache.load(["", ""], "rows") is cache.load([], "rows") is None
    assert [cache.blob(content, "blobs") for content in HASHES] == BLOBS
    with pytest.raises(KeyError):
        cache.load(["f" * 64], "rows")


def test_each_key_has_its_own_rows(tmp_path: Path) -> None:
    filled(tmp_path, "one")
    assert not ContentCache(tmp_path, "other").known()
    (about,) = tmp_path.glob("*/about.json")
    assert '"one"' in about.read_text()


def test_a_damaged_file_counts_as_never_written(tmp_path: Path) -> None:
    filled(tmp_path)
    damaged = sorted(tmp_path.rglob("*.safetensors"))[0]
    damaged.write_bytes(damaged.read_bytes()[:20])
    assert len(ContentCache(tmp_path, "key").known()) in (2, 3)


def test_blobs_of_files_that_are_gone_are_empty(tmp_path: Path) -> None:
    cache = filled(tmp_path)
    for path in tmp_path.rglob("*.safetensors"):
        path.unlink()
    assert cache.blob(HASHES[1], "blobs") == cache.blob("f" * 64, "blobs") == b""


def test_without_a_folder_it_lives_as_long_as_the_object() -> None:
    cache = filled(None)
    folder = cache.folder.parent
    assert cache.blob(HASHES[1], "blobs") == b"one" and folder.is_dir()
    del cache
    gc.collect()
    assert not folder.exists()
