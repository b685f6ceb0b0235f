"""Rows by content hash: kept in files, in any order, as long as asked."""

from __future__ import annotations

import gc
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors.numpy import load_file, save_file

from lond.errors import DataError
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
    with pytest.raises(DataError, match="does not hold an image that was read; start the command again"):
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


def change(path: Path, **columns: np.ndarray[Any, Any]) -> None:
    """Write a file as version 0.1.0 did, with other columns."""
    save_file(load_file(path) | columns, path)


def test_files_of_version_0_1_0_are_used(tmp_path: Path) -> None:
    filled(tmp_path)
    for path in tmp_path.rglob("*.safetensors"):
        change(path)
    cache = ContentCache(tmp_path, "key")
    assert cache.known() == set(HASHES)
    assert cache.load(HASHES, "rows").tolist() == VALUES.tolist()  # type: ignore[union-attr]
    assert [cache.blob(content, "blobs") for content in HASHES] == BLOBS


def test_every_flipped_bit_is_computed_again(tmp_path: Path) -> None:
    filled(tmp_path)
    path = next(path for path in tmp_path.rglob("*.safetensors"))
    kept = len(ContentCache(tmp_path, "key").known()) - len(load_file(path)["hashes"])
    content = path.read_bytes()
    for at in range(0, len(content), 3):
        changed = bytearray(content)
        changed[at] ^= 1 << at % 8
        path.write_bytes(changed)
        assert len(ContentCache(tmp_path, "key").known()) == kept


def test_rows_that_are_not_finite_are_computed_again(tmp_path: Path) -> None:
    cache = ContentCache(tmp_path, "key")
    cache.store(HASHES, {"rows": np.where(VALUES == 5, np.nan, VALUES).astype(np.float16)})
    assert ContentCache(tmp_path, "key").known() == set(HASHES) - {HASHES[2]}


def test_a_file_of_another_key_or_width_is_not_used(tmp_path: Path) -> None:
    filled(tmp_path)
    (folder,) = tmp_path.iterdir()
    other = ContentCache(tmp_path / "other", "other key")
    other.store(["e" * 64], {"rows": np.zeros((1, 2), np.float16)}, {"blobs": [b""]})
    (foreign,) = (tmp_path / "other").rglob("*.safetensors")
    shutil.copy(foreign, folder / "0.safetensors")
    assert ContentCache(tmp_path, "key").known() == set(HASHES)
    # Without the key in the file, as in version 0.1.0, the width tells; the file comes last by its name.
    change(foreign, rows=np.zeros((1, 3), np.float16))
    shutil.move(foreign, folder / "z.safetensors")
    assert ContentCache(tmp_path, "key").known() == set(HASHES)


@pytest.mark.parametrize(
    "columns",
    [
        {"rows": VALUES[:1]},
        {"rows": np.float16(1)[None][0]},
        {"hashes": np.zeros(3, np.uint8)},
        {"hashes": np.zeros((3, 32), np.int64)},
        {"blobs.ends": np.array([0, 9, 3, 10])},
        {"blobs.ends": np.array([0, 1])},
        {"blobs.ends": np.array([[0]])},
        {"blobs": np.zeros(99, np.uint8)},
    ],
)
def test_columns_that_do_not_fit_are_never_used(columns: dict[str, Any], tmp_path: Path) -> None:
    cache = ContentCache(tmp_path, "key")
    cache.store(HASHES[:3], {"rows": VALUES[:3]}, {"blobs": BLOBS[:3]})
    (path,) = tmp_path.rglob("*.safetensors")
    change(path, **{name: np.asarray(values) for name, values in columns.items()})
    assert not ContentCache(tmp_path, "key").known()


def test_a_file_that_goes_away_while_it_is_read_is_told(tmp_path: Path) -> None:
    cache = filled(tmp_path)
    for path in tmp_path.rglob("*.safetensors"):
        path.unlink()
    with pytest.raises(DataError, match="was changed or removed while it was read; start the command again"):
        cache.load(HASHES, "rows")


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
