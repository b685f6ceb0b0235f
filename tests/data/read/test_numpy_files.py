"""NumPy files as people and attackers make them."""

from __future__ import annotations

import io
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from lond.data.read import numpy_files
from lond.data.read.numpy_files import NpzFile, read_npy
from lond.errors import DataError

ARRAYS = {
    "images": np.arange(24, dtype=np.uint8).reshape(2, 3, 4),
    "columns": np.asfortranarray(np.arange(6.0).reshape(2, 3)),
    "names": np.array(["ant", "büffel"]),
    "none": np.zeros((0, 3), np.float16),
    "one": np.array(7),
    "big-endian": np.arange(3, dtype=">i4"),
    "blank": np.array(["", ""], dtype="<U0"),
}


def header(text: str) -> bytes:
    """Return a file with a header of one's own and eight bytes."""
    content = text.encode("latin1")
    return b"\x93NUMPY\x01\x00" + len(content).to_bytes(2, "little") + content + bytes(8)


def written(array: Any, **options: Any) -> bytes:
    file = io.BytesIO()
    np.save(file, array, **options)
    return file.getvalue()


@pytest.mark.parametrize("save", [np.savez, np.savez_compressed])
def test_what_numpy_wrote_is_read_as_numpy_reads_it(save: Any, tmp_path: Path) -> None:
    save(tmp_path / "a.npz", **ARRAYS)
    theirs = np.load(tmp_path / "a.npz")
    with NpzFile(tmp_path / "a.npz") as ours:
        assert ours.files == list(ours) == theirs.files and len(ours) == len(ARRAYS)
        for name in ARRAYS:
            assert ours[name].dtype == theirs[name].dtype and ours[name].shape == theirs[name].shape
            assert (ours[name] == theirs[name]).all()
        assert "nothing" not in ours and ours.get("nothing") is None
    np.save(tmp_path / "a.npy", ARRAYS["columns"])
    assert (read_npy(tmp_path / "a.npy") == ARRAYS["columns"]).all()


HEADERS = {
    "35 TiB": "{'descr': '<f8', 'fortran_order': False, 'shape': (4812345678901,), }",
    "less than there is": "{'descr': '<u1', 'fortran_order': False, 'shape': (3,), }",
    "negative": "{'descr': '<f8', 'fortran_order': False, 'shape': (-1, -1), }",
    "no shape": "{'descr': '<f8', 'fortran_order': False}",
    "no dictionary": "[1, 2]",
    "deep": "(" * 3000,
    "no type": "{'descr': 'x9', 'fortran_order': False, 'shape': (1,), }",
    "shape of words": "{'descr': '<f8', 'fortran_order': False, 'shape': ('a',), }",
    "half a word": "{'descr': '<f8', 'fortran_order': False, 'sha",
    "objects": "{'descr': '|O', 'fortran_order': False, 'shape': (1,), }",
}


@pytest.mark.parametrize("kind", HEADERS)
def test_headers_that_lie_are_refused(kind: str, tmp_path: Path) -> None:
    content = header(HEADERS[kind])
    (tmp_path / "a.npy").write_bytes(content)
    with pytest.raises(DataError, match=r"a\.npy is not a readable \.npy file"):
        read_npy(tmp_path / "a.npy")
    with zipfile.ZipFile(tmp_path / "a.npz", "w") as archive:
        archive.writestr("x.npy", content)
    with NpzFile(tmp_path / "a.npz") as file, pytest.raises(DataError, match="array 'x' that cannot be read"):
        file["x"]


def test_the_claim_is_told(tmp_path: Path) -> None:
    (tmp_path / "a.npy").write_bytes(header(HEADERS["35 TiB"]))
    with pytest.raises(DataError, match=r"it claims 38\.5 TB and holds 8 bytes"):
        read_npy(tmp_path / "a.npy")


@pytest.mark.parametrize("content", [b"", b"text", b"PK\x03\x04", b"\x93NUMPY", b"\x93NUMPY\x09\x00", bytes(100)])
def test_other_files_are_refused(content: bytes, tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(content)
    with pytest.raises(DataError, match="not a readable .npy file"):
        read_npy(tmp_path / "a")
    with pytest.raises(DataError, match=r"not a readable .npz file .*; make one with numpy\.savez"):
        NpzFile(tmp_path / "a")
    with pytest.raises(DataError, match="there is no file"):
        NpzFile(tmp_path)
    with pytest.raises(DataError, match="not a readable .npy file"):
        read_npy(tmp_path)


def test_pickled_objects_are_refused(tmp_path: Path) -> None:
    (tmp_path / "a.npy").write_bytes(written(np.array([{}], dtype=object), allow_pickle=True))
    with pytest.raises(DataError, match="Python objects, which could run anything"):
        read_npy(tmp_path / "a.npy")


def test_every_changed_byte_of_an_archive_is_noticed_or_harmless(tmp_path: Path) -> None:
    path, values = tmp_path / "a.npz", np.arange(16, dtype=np.uint8)
    np.savez(path, x=values)
    content = path.read_bytes()
    for at in range(len(content)):
        changed = bytearray(content)
        changed[at] ^= 1 << at % 8
        path.write_bytes(changed)
        try:
            with NpzFile(path) as file:
                assert "x" not in file or (file["x"] == values).all()
        except DataError:
            continue


def test_an_archive_that_unfolds_to_much_more_than_it_holds_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(numpy_files, "LARGE", 10**6)
    np.savez_compressed(tmp_path / "a.npz", x=np.zeros(4 * 10**6, np.uint8), y=np.zeros(10**5, np.uint8))
    with NpzFile(tmp_path / "a.npz") as file:
        assert len(file["y"]) == 10**5
        with pytest.raises(
            DataError, match=r"'x' that unfolds from .* kB to 4 MB; if you trust it, save it again with"
        ):
            file["x"]
    np.savez(tmp_path / "b.npz", x=np.zeros(4 * 10**6, np.uint8))
    with NpzFile(tmp_path / "b.npz") as file:
        assert len(file["x"]) == 4 * 10**6


@pytest.mark.parametrize("save", [np.savez, np.savez_compressed])
def test_large_arrays_stay_in_their_file(save: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(numpy_files, "MAPPED_FROM", 0)
    save(tmp_path / "a.npz", **{name: array for name, array in ARRAYS.items() if array.size and array.ndim})
    with NpzFile(tmp_path / "a.npz") as ours:
        for name in ours:
            assert np.array_equal(ours[name], ARRAYS[name]) and ours[name].dtype == ARRAYS[name].dtype
            assert isinstance(ours[name], np.memmap) == (save is np.savez)
    np.save(tmp_path / "a.npy", ARRAYS["columns"])
    mapped = read_npy(tmp_path / "a.npy")
    assert isinstance(mapped, np.memmap) and np.array_equal(mapped, ARRAYS["columns"])
    mapped[0, 0] = 99
    assert np.load(tmp_path / "a.npy")[0, 0] == 0
    (tmp_path / "a.npy").write_bytes((tmp_path / "a.npy").read_bytes()[:-8])
    with pytest.raises(DataError, match="claims"):
        read_npy(tmp_path / "a.npy")
