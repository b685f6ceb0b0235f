"""CIFAR folders: both sets, both NumPy spellings, old and new pickles, hostile and damaged ones."""

import os
import pickle
from pathlib import Path

import numpy as np
import pytest
import torch

from lond.data.read.cifar import find_layout, load_cifar, read_cifar10, read_cifar100, read_pickle
from lond.data.sources import has_split, load
from lond.errors import DataError


def _write(path: Path, content: object, protocol: int = 2) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(pickle.dumps(content, protocol=protocol))


def _pixels(count: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).integers(0, 256, (count, 3072), dtype=np.uint8)


def _cifar100(root: Path, protocol: int = 2) -> np.ndarray:
    folder = root / "cifar-100-python"
    train = _pixels(4)
    _write(folder / "train", {"data": train, "fine_labels": [0, 1, 2, 1], "coarse_labels": [0] * 4}, protocol)
    _write(folder / "test", {"data": _pixels(2, 1), "fine_labels": [2, 0]}, protocol)
    _write(folder / "meta", {"fine_label_names": ["apple", "bear", "cup"]}, protocol)
    return train


@pytest.mark.parametrize("protocol", [2, 4, 5])
@pytest.mark.parametrize("below", ["", "cifar-100-python"])
def test_cifar100_is_read_from_root_or_its_folder(tmp_path: Path, protocol: int, below: str) -> None:
    train = _cifar100(tmp_path, protocol)
    images, labels, names = read_cifar100(tmp_path / below)
    assert images.dtype == torch.uint8
    assert images.shape == (4, 3, 32, 32)
    assert torch.equal(images.reshape(4, -1), torch.from_numpy(train))
    assert labels.tolist() == [0, 1, 2, 1]
    assert names == ("apple", "bear", "cup")


def test_cifar10_batches_are_joined(tmp_path: Path) -> None:
    folder = tmp_path / "cifar-10-batches-py"
    for number in range(1, 6):
        _write(folder / f"data_batch_{number}", {b"data": _pixels(2, number), b"labels": [0, 1]})
    _write(folder / "test_batch", {"data": _pixels(1), "labels": [1]})
    _write(folder / "batches.meta", {"label_names": ["cat", "dog"]})
    assert read_cifar10(tmp_path).images.shape == (10, 3, 32, 32)
    assert read_cifar10(folder, "test").labels.tolist() == [1]
    layout = find_layout(tmp_path)
    assert layout is not None and layout.folder == "cifar-10-batches-py"


def test_samples_and_dispatch(tmp_path: Path) -> None:
    _cifar100(tmp_path)
    samples = load_cifar(tmp_path, "test")
    assert samples.ids == ("test/00000", "test/00001")
    assert has_split(tmp_path, "test")
    assert load(tmp_path, "test", class_names=("cup", "bear")).labels.tolist() == [0, -1]


@pytest.mark.parametrize("module", [b"numpy.core.multiarray", b"numpy._core.multiarray"])
def test_both_numpy_spellings_load(tmp_path: Path, module: bytes) -> None:
    blob = pickle.dumps({"data": _pixels(1)}, protocol=2)
    blob = blob.replace(b"numpy._core.multiarray", b"numpy.core.multiarray").replace(b"numpy.core.multiarray", module)
    assert module in blob
    (tmp_path / "f").write_bytes(blob)
    assert np.array_equal(read_pickle(tmp_path / "f")["data"], _pixels(1))


def test_python_2_byte_strings_load(tmp_path: Path) -> None:
    (tmp_path / "f").write_bytes(b"\x80\x02}U\x04dataU\x02\xff\x00s.")
    assert read_pickle(tmp_path / "f") == {"data": "\xff\x00"}


class _Evil:
    def __reduce__(self) -> tuple[object, ...]:
        return os.system, ("touch pwned",)


class _Codec:
    def __reduce__(self) -> tuple[object, ...]:
        import _codecs

        return _codecs.encode, ("x", "rot13")


@pytest.mark.parametrize(("evil", "named"), [(_Evil(), "system"), (_Codec(), "rot13"), (Path("x"), "pathlib")])
def test_forbidden_globals_are_named_and_not_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, evil: object, named: str
) -> None:
    monkeypatch.chdir(tmp_path)
    _cifar100(tmp_path)
    _write(tmp_path / "cifar-100-python" / "train", {"data": evil})
    with pytest.raises(DataError, match=named):
        read_cifar100(tmp_path)
    assert not (tmp_path / "pwned").exists()


def test_builtin_eval_is_refused(tmp_path: Path) -> None:
    (tmp_path / "f").write_bytes(b"cbuiltins\neval\n(S'1+1'\ntR.")
    with pytest.raises(DataError, match=r"builtins\.eval"):
        read_pickle(tmp_path / "f")


@pytest.mark.parametrize("blob", [b"", b"garbage", b"\x80\x02]q\x00.", pickle.dumps({"data": _pixels(1)})[:-50]])
def test_damaged_files_are_data_errors(tmp_path: Path, blob: bytes) -> None:
    (tmp_path / "f").write_bytes(blob)
    with pytest.raises(DataError, match="f"):
        read_pickle(tmp_path / "f")


@pytest.mark.parametrize(
    "content",
    [
        {"data": _pixels(2), "fine_labels": [0]},
        {"data": _pixels(1), "fine_labels": [7]},
        {"data": _pixels(1).astype(np.float32), "fine_labels": [0]},
        {"data": _pixels(1)[:, :100], "fine_labels": [0]},
        {"fine_labels": [0]},
        {"data": _pixels(1)},
    ],
)
def test_wrong_content_is_a_data_error(tmp_path: Path, content: dict[str, object]) -> None:
    _cifar100(tmp_path)
    _write(tmp_path / "cifar-100-python" / "train", content)
    with pytest.raises(DataError, match="train"):
        read_cifar100(tmp_path)


def test_missing_files_tell_where_to_get_them(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"cifar-100-python\.tar\.gz from https://www\.cs\.toronto\.edu") as caught:
        read_cifar100(tmp_path)
    assert str(tmp_path) in str(caught.value)
    with pytest.raises(DataError, match=r"cifar-10-python\.tar\.gz"):
        read_cifar10(tmp_path)


def test_unknown_split(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="unknown CIFAR split"):
        read_cifar100(tmp_path, "extra")
